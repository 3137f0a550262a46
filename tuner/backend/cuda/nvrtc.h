#pragma once

#include <nvrtc.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// The NVRTC library, opened at run time: its path and its functions. The library is never closed,
/// because it keeps state of its own until the process ends.
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

/// Returns the names to try with dlopen, in order: the library by its versions' names, as the
/// loader finds it, then in the toolkits that CUDA_PATH, CUDA_HOME, the build and custom
/// (/usr/local/cuda) name.
std::vector<std::string> nvrtc_candidates();

/// Returns the folders where toolkits may lie, most specific first.
std::vector<std::filesystem::path> toolkit_roots();

/// Opens the first candidate that loads and has every function. Throws UnavailableError that says
/// what was tried and what works without NVRTC.
Nvrtc open_nvrtc(const std::vector<std::string>& candidates = nvrtc_candidates());

/// Opens the NVRTC that `path` means: a library, or the folder of a toolkit or of libraries. Throws
/// InputError that names the path and what was tried.
Nvrtc open_nvrtc_at(const std::filesystem::path& path);

/// Opens the candidate that has this version (version_number()). Throws UnavailableError.
Nvrtc open_nvrtc_version(std::int64_t version);

/// Returns the version as CUDA_VERSION encodes it: 12040 for 12.4.
inline std::int64_t version_number(const Nvrtc& nvrtc) {
  return std::int64_t{1000} * nvrtc.major + std::int64_t{10} * nvrtc.minor;
}

/// Returns the folders with CUDA's device headers (cuda_fp16.h, ...) that belong to this NVRTC; may
/// be empty.
std::vector<std::filesystem::path> header_folders(const Nvrtc& nvrtc);

/// Returns an identifier of the library and its builtins: SHA-256 over the build IDs that the
/// linker gave them, or over a whole file that has none. Throws UnavailableError.
std::string library_sha256(const Nvrtc& nvrtc);

}  // namespace smemtune::cuda
