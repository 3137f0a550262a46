#pragma once

#include "tuner/core/space.h"
#include "tuner/source/cpp_tokens.h"
#include "tuner/source/directive.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

inline constexpr std::size_t kMaxSourceBytes = 4u << 20;

/// The text of a source, and what it says whichever kernel reads it.
struct SourceText {
  explicit SourceText(std::string source);
  SourceText(const SourceText&) = delete;
  SourceText& operator=(const SourceText&) = delete;

  std::string text;
  CppTokens tokens;  ///< Views of `text`.
  std::vector<PlacedDirective> directives;
  std::vector<Include> includes;
};

/// The sources that were read, by canonical path: kernels of a space share most of their files.
using SourceTexts = std::map<std::filesystem::path, std::shared_ptr<const SourceText>>;

/// A kernel's source file that was found.
struct SourceFile {
  std::string name;             ///< The name in KernelSource.
  std::filesystem::path place;  ///< Canonical.
  std::shared_ptr<const SourceText> content;
};

/// The folders that sources may lie in: that of the space file, and the installed templates.
struct SourceRoots {
  std::filesystem::path space;
  std::filesystem::path templates;
};

/// Returns the regular file `relative` beneath the first of `folders` that has it, as a canonical
/// path; nullopt if none has it. Throws InputError if the path is absolute, if it leaves, by itself
/// or by a symbolic link, the root that its folder lies in, or if it is not a regular file.
std::optional<std::filesystem::path> find_source(const std::filesystem::path& relative,
                                                 std::span<const std::filesystem::path> folders,
                                                 const SourceRoots& roots);

/// Reads a kernel's source and every file that it includes by #include "...", which is looked for
/// beside the including file, then in the kernel's include folders, then in the installed
/// templates. A name that is not found there but is one of the CUDA toolkit's or C's headers is
/// left to the compiler, and so is <...> unless the kernel's include folders have such a file. The
/// returned files are therefore all files of the user's that a compiler reads. Those in `known` are
/// not read again, and the others are added to it. Throws InputError naming the file and the line
/// of an include that cannot be followed (includes_of()) or is not found.
std::vector<SourceFile> read_sources(const KernelTemplate& kernel, const SourceRoots& roots,
                                     SourceTexts& known);

/// Returns `FILE:LINE: <cub/block/block_reduce.cuh>` for each include of a header that takes far
/// longer to read than most kernels take to compile.
std::vector<std::string> costly_includes(std::span<const SourceFile> files);

/// Returns the names of the __global__ functions.
std::vector<std::string> kernel_names(std::span<const SourceFile> files);

/// Returns `FILE:LINE: ...` for the first #define of `name` that is not under `#ifndef NAME`, or
/// #undef of it, either of which would take away the value that it is given; nullopt if there is
/// none. Code under `#ifndef` of a macro in `handed_over` does not count.
std::optional<std::string> redefinition(std::span<const SourceFile> files, std::string_view name,
                                        const std::set<std::string>& handed_over = {});

/// Returns true if the preprocessor replaces `name` somewhere, so that its value may matter; false
/// for the name of a template's parameter, which is no macro unless a directive has it.
bool uses_macro(std::span<const SourceFile> files, std::string_view name);

/// Returns true if the CUDA toolkit has a header of that name (`cuda_fp16.h`,
/// `cub/block/block_load.cuh`).
bool is_toolkit_header(std::string_view name);

/// Returns true if it is one of C's headers (`stdint.h`, `cmath`), of which kernels may be given a
/// part.
bool is_c_header(std::string_view name);

/// Returns true for a header of the C++ library that kernels may include: `type_traits`.
bool is_cpp_header(std::string_view name);

}  // namespace smemtune
