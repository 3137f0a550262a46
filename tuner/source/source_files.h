#pragma once

#include "tuner/core/space.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

inline constexpr std::size_t kMaxSourceBytes = 4u << 20;

/// A kernel's source file, found.
struct SourceFile {
  std::string name;             ///< As KernelSource has it.
  std::filesystem::path place;  ///< Canonical.
  std::string text;
};

/// The folders that sources may lie in: that of the space file, and the installed templates.
struct SourceRoots {
  std::filesystem::path space;
  std::filesystem::path templates;
};

/// The regular file `relative` beneath the first of `folders` that has it, as a canonical path.
/// Nullopt when none has it. Throws InputError when the path is absolute, or when it leaves, itself
/// or by a symbolic link, the root that its folder lies in, or is not a regular file.
std::optional<std::filesystem::path> find_source(const std::filesystem::path& relative,
                                                 std::span<const std::filesystem::path> folders,
                                                 const SourceRoots& roots);

/// Reads a kernel's source and every file that it includes by #include "...": looked for beside the
/// including file, then in the kernel's include folders, then in the installed templates. A name
/// that is not found there but is one of the CUDA toolkit's or C's headers is left to the compiler,
/// as is <...> where the kernel's include folders have no such file: the compiler's own. So the
/// files that come back are all that a compiler reads of the user's. Throws InputError naming the
/// file and the line of what cannot be followed (includes_of()) or is not found.
std::vector<SourceFile> read_sources(const KernelTemplate& kernel, const SourceRoots& roots);

/// `FILE:LINE: <cub/block/block_reduce.cuh>` for each include of a header that takes far longer to
/// read than most kernels to compile.
std::vector<std::string> costly_includes(std::span<const SourceFile> files);

/// Names of the __global__ functions.
std::vector<std::string> kernel_names(std::span<const SourceFile> files);

/// `FILE:LINE: ...` for the first #define of `name` that is not under `#ifndef NAME`, or #undef of
/// it, either of which would take its value away; nullopt where there is none. What lies under
/// `#ifndef` of a macro that is `handed_over` does not count.
std::optional<std::string> redefinition(std::span<const SourceFile> files, std::string_view name,
                                        const std::set<std::string>& handed_over = {});

/// Whether the preprocessor replaces `name` somewhere, so that its value may matter.
bool uses_macro(std::span<const SourceFile> files, std::string_view name);

/// Whether the CUDA toolkit has a header of that name (`cuda_fp16.h`, `cub/block/block_load.cuh`).
bool is_toolkit_header(std::string_view name);

/// Whether it is one of C's headers (`stdint.h`, `cmath`), of which kernels may be given a part.
bool is_c_header(std::string_view name);

}  // namespace smemtune
