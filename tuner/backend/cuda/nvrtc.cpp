#include "tuner/backend/cuda/nvrtc.h"

#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/input_file.h"
#include "tuner/core/library_function.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

namespace smemtune::cuda {
namespace {

namespace fs = std::filesystem;

// Newest first. All versions from 11.2 to 11.8 are named 11.2.
constexpr std::array<const char*, 4> kLibraryNames = {"libnvrtc.so.13", "libnvrtc.so.12",
                                                      "libnvrtc.so.11.2", "libnvrtc.so"};

// Returns the name of a function that was not found; empty if all were found.
std::string find_functions(void* library, Nvrtc& nvrtc) {
  std::string missing;
  const auto find = [&](const char* name, auto& function) {
    if (!find_function(library, name, function) && missing.empty()) missing = name;
  };
  find("nvrtcGetErrorString", nvrtc.error_string);
  find("nvrtcVersion", nvrtc.version);
  find("nvrtcGetNumSupportedArchs", nvrtc.num_supported_archs);
  find("nvrtcGetSupportedArchs", nvrtc.supported_archs);
  find("nvrtcCreateProgram", nvrtc.create_program);
  find("nvrtcDestroyProgram", nvrtc.destroy_program);
  find("nvrtcAddNameExpression", nvrtc.add_name_expression);
  find("nvrtcCompileProgram", nvrtc.compile_program);
  find("nvrtcGetLoweredName", nvrtc.lowered_name);
  find("nvrtcGetProgramLogSize", nvrtc.program_log_size);
  find("nvrtcGetProgramLog", nvrtc.program_log);
  find("nvrtcGetCUBINSize", nvrtc.cubin_size);
  find("nvrtcGetCUBIN", nvrtc.cubin);
  find("nvrtcGetPTXSize", nvrtc.ptx_size);
  find("nvrtcGetPTX", nvrtc.ptx);
  return missing;
}

fs::path path_of(const Nvrtc& nvrtc, const std::string& candidate) {
  Dl_info info = {};
  // A function's address gives the file that it was loaded from.
  if (dladdr(reinterpret_cast<const void*>(nvrtc.version), &info) == 0) return candidate;
  std::error_code error;
  const fs::path real = fs::canonical(info.dli_fname, error);
  return error ? fs::path(info.dli_fname) : real;
}

fs::path builtins_path(const Nvrtc& nvrtc) {
  return nvrtc.path.parent_path() / ("libnvrtc-builtins.so." + std::to_string(nvrtc.major) + "." +
                                     std::to_string(nvrtc.minor));
}

/// Returns the note that `ld --build-id` writes, or nothing.
std::string build_id(std::ifstream& file) {
  const auto read_at = [&file](std::uint64_t offset, void* into, std::size_t size) {
    file.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(
        file.read(static_cast<char*>(into), static_cast<std::streamsize>(size)));
  };
  Elf64_Ehdr header = {};
  if (!read_at(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  constexpr std::uint64_t kMaxNoteBytes = 4096;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    if (!read_at(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!read_at(segment.p_offset, notes.data(), notes.size())) return {};
    for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
      Elf64_Nhdr note = {};
      std::memcpy(&note, notes.data() + at, sizeof note);
      const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
      const std::uint64_t name = at + sizeof note;
      const std::uint64_t content = name + padded(note.n_namesz);
      if (content > notes.size() || notes.size() - content < note.n_descsz) break;
      const bool is_gnu = note.n_namesz == sizeof ELF_NOTE_GNU &&
                          notes.compare(name, note.n_namesz - 1, ELF_NOTE_GNU) == 0;
      if (is_gnu && note.n_type == NT_GNU_BUILD_ID) return notes.substr(content, note.n_descsz);
      at = content + padded(note.n_descsz);
    }
  }
  return {};
}

std::string identity_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (std::string id = build_id(file); !id.empty()) return sha256(id);
  file.clear();
  file.seekg(0, std::ios::end);
  std::string bytes(file ? static_cast<std::size_t>(file.tellg()) : 0, '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    throw UnavailableError("cannot read " + path.string());
  }
  return sha256(bytes);
}

/// Opens the first candidate that loads and has every function; if there is none, `tried` says what
/// was tried.
std::optional<Nvrtc> open_first(const std::vector<std::string>& candidates, std::string& tried) {
  for (const std::string& candidate : candidates) {
    // Opening a FIFO, the loader would wait for its writer.
    if (candidate.find('/') != std::string::npos) {
      try {
        const InputFile file(candidate);
      } catch (const InputError& error) {
        tried += std::string("\n  ") + error.what();
        continue;
      }
    }
    void* const library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const why = dlerror();
      tried += "\n  " + std::string(why != nullptr ? why : candidate.c_str());
      continue;
    }
    Nvrtc nvrtc;
    if (const std::string missing = find_functions(library, nvrtc); !missing.empty()) {
      tried += "\n  " + candidate + ": has no " + missing + " (older than CUDA 11.2?)";
      continue;
    }
    if (const nvrtcResult code = nvrtc.version(&nvrtc.major, &nvrtc.minor); code != NVRTC_SUCCESS) {
      tried += "\n  " + candidate + ": nvrtcVersion: " + nvrtc.error_string(code);
      continue;
    }
    nvrtc.path = path_of(nvrtc, candidate);
    // NVRTC opens its builtins by their name alone, which the loader looks for in the system's
    // folders; once the library is loaded it is found by that name. If it is not beside NVRTC,
    // nothing changes.
    static_cast<void>(dlopen(builtins_path(nvrtc).c_str(), RTLD_NOW | RTLD_LOCAL));
    return nvrtc;
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> toolkit_roots() {
  std::vector<fs::path> roots;
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') roots.emplace_back(value);
  }
  roots.emplace_back(SMEMTUNE_CUDA_TOOLKIT_ROOT);
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

std::vector<std::string> nvrtc_candidates() {
  std::vector<std::string> candidates(kLibraryNames.begin(), kLibraryNames.end());
  for (const fs::path& root : toolkit_roots()) {
    for (const char* folder : {"lib64", "lib"}) {
      for (const char* name : kLibraryNames) {
        std::string candidate = (root / folder / name).string();
        // A toolkit that does not exist would only lengthen the message.
        if (fs::exists(candidate) && std::ranges::find(candidates, candidate) == candidates.end()) {
          candidates.push_back(std::move(candidate));
        }
      }
    }
  }
  return candidates;
}

Nvrtc open_nvrtc(const std::vector<std::string>& candidates) {
  std::string tried;
  if (std::optional<Nvrtc> nvrtc = open_first(candidates, tried)) return *nvrtc;
  throw UnavailableError(
      "NVRTC, CUDA's run-time compiler, was not found: install it (package cuda-nvrtc of the CUDA "
      "toolkit, or libnvrtc of the distribution) or set CUDA_PATH to a toolkit. Stored results and "
      "the CPU device work without it. Tried:" +
      tried);
}

Nvrtc open_nvrtc_at(const fs::path& path) {
  std::vector<std::string> candidates;
  if (!fs::is_directory(path)) {
    candidates.push_back(fs::absolute(path).string());
  } else {
    for (const char* folder : {"lib64", "lib", "lib/x86_64-linux-gnu", "."}) {
      for (const char* name : kLibraryNames) {
        const fs::path candidate = (fs::absolute(path) / folder / name).lexically_normal();
        if (fs::exists(candidate)) candidates.push_back(candidate.string());
      }
    }
  }
  std::string tried;
  if (std::optional<Nvrtc> nvrtc = open_first(candidates, tried)) return *nvrtc;
  throw InputError(
      path.string() + ": there is no NVRTC" +
      (tried.empty() ? " (libnvrtc.so) in this folder, its lib64 or lib" : "; tried:" + tried));
}

Nvrtc open_nvrtc_version(std::int64_t version) {
  std::string tried;
  for (const std::string& candidate : nvrtc_candidates()) {
    std::optional<Nvrtc> nvrtc = open_first({candidate}, tried);
    if (nvrtc && version_number(*nvrtc) == version) return *nvrtc;
    if (nvrtc) {
      tried +=
          "\n  " + nvrtc->path.string() + " is " + compiler_version_text(version_number(*nvrtc));
    }
  }
  throw UnavailableError("NVRTC " + compiler_version_text(version) +
                         ", which compiled this configuration when it was measured, was not found; "
                         "CUDA_PATH names the toolkit to look in. Tried:" +
                         tried);
}

std::vector<fs::path> header_folders(const Nvrtc& nvrtc) {
  std::vector<fs::path> folders;
  const fs::path library_folder = nvrtc.path.parent_path();
  // Folders beside the library come first, so that headers and compiler have the same version:
  // lib64 -> include; targets/x86_64-linux/lib -> targets/x86_64-linux/include;
  // /usr/lib/x86_64-linux-gnu -> /usr; cuda_nvrtc/lib of NVIDIA's Python packages -> cuda_runtime.
  std::vector<fs::path> candidates = {
      library_folder.parent_path() / "include",
      library_folder.parent_path().parent_path() / "include",
      library_folder.parent_path().parent_path() / "cuda_runtime" / "include"};
  for (const fs::path& root : toolkit_roots()) candidates.push_back(root / "include");
  for (const fs::path& candidate : candidates) {
    if (!fs::exists(candidate / "cuda_fp16.h")) continue;
    folders.push_back(candidate);
    // From 13.0 on the C++ core libraries lie one folder deeper.
    if (fs::exists(candidate / "cccl")) folders.push_back(candidate / "cccl");
    // mma.h and cooperative_groups.h include files that lie beside their parts, but nothing is
    // looked for beside an including file (--no-source-include).
    for (const char* const part : {"crt", "cooperative_groups", "cooperative_groups/details"}) {
      if (fs::exists(candidate / part)) folders.push_back(candidate / part);
    }
    break;
  }
  return folders;
}

std::string library_sha256(const Nvrtc& nvrtc) {
  std::string digests = identity_of_file(nvrtc.path);
  const fs::path builtins = builtins_path(nvrtc);
  if (fs::exists(builtins)) digests += identity_of_file(builtins);
  return sha256(digests);
}

}  // namespace smemtune::cuda
