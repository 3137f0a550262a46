#pragma once

#include <nvrtc.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// NVRTC, opened at run time: where it was found and its functions. It is never closed, because it
/// keeps state of its own until the process ends.
struct Nvrtc {
  std::filesystem::path path;
  int major = 0;
  int minor = 0;

  decltype(&nvrtcGetErrorString) error_string = nullptr;
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcGetNumSupportedArchs) num_supported_archs = nullptr;
  decltype(&nvrtcGetSupportedArchs) supported_archs = nullptr;
  decltype(&nvrtcCreateProgram) create_program = nullptr;
  decltype(&nvrtcDestroyProgram) destroy_program = nullptr;
  decltype(&nvrtcAddNameExpression) add_name_expression = nullptr;
  decltype(&nvrtcCompileProgram) compile_program = nullptr;
  decltype(&nvrtcGetLoweredName) lowered_name = nullptr;
  decltype(&nvrtcGetProgramLogSize) program_log_size = nullptr;
  decltype(&nvrtcGetProgramLog) program_log = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
};

/// What dlopen is asked for, in order: the library by its versions' names, as the loader finds it,
/// then in the toolkits that CUDA_PATH, CUDA_HOME, the build and custom (/usr/local/cuda) name.
std::vector<std::string> nvrtc_candidates();

/// The first candidate that opens and has every function. Throws UnavailableError that says what
/// was tried and what works without.
Nvrtc open_nvrtc(const std::vector<std::string>& candidates = nvrtc_candidates());

/// The NVRTC that is meant by a library's path, or by the folder of a toolkit or of libraries.
/// Throws InputError that names the path and what was tried.
Nvrtc open_nvrtc_at(const std::filesystem::path& path);

/// The one of this version, of all candidates. Throws UnavailableError.
Nvrtc open_nvrtc_version(std::int64_t version);

/// As CUDA_VERSION has it: 12040 for 12.4.
inline std::int64_t version_number(const Nvrtc& nvrtc) {
  return std::int64_t{1000} * nvrtc.major + std::int64_t{10} * nvrtc.minor;
}

/// The folders with CUDA's device headers (cuda_fp16.h, ...) that belong to this NVRTC, or none.
std::vector<std::filesystem::path> header_folders(const Nvrtc& nvrtc);

/// Identifies the library and its builtins: SHA-256 over what the linker signed them with (their
/// build IDs), or over a whole file where it has none. Throws UnavailableError.
std::string library_sha256(const Nvrtc& nvrtc);

}  // namespace smemtune::cuda
