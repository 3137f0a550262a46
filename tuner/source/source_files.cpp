#include "tuner/source/source_files.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/core/text_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <system_error>
#include <utility>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSourceBytes = 4u << 20;
constexpr std::size_t kMaxFiles = 256;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/// Whether `path` is `folder` or lies beneath it. Both are canonical.
bool lies_beneath(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

/// A preprocessor directive: `name` and what follows it.
struct Directive {
  std::string_view name;
  std::string_view rest;
};

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<Directive> directive(const SourceLine& line) {
  std::string_view text = without_blanks(line.text);
  if (text.empty() || text.front() != '#') return std::nullopt;
  text = without_blanks(text.substr(1));
  std::size_t length = 0;
  while (length < text.size() && is_letter(text[length])) ++length;
  return Directive{text.substr(0, length), without_blanks(text.substr(length))};
}

std::string_view first_identifier(std::string_view text) {
  const std::vector<std::string_view> found = identifiers(text);
  return found.empty() ? std::string_view() : found.front();
}

/// A conditional that asks for nothing but whether one macro is defined.
struct Guard {
  std::string_view undefined;  ///< The macro that is not defined in this branch, or empty...
  std::string_view defined;    ///< ... and the one that is.
};

Guard guard(const Directive& found) {
  if (found.name == "ifndef") return {.undefined = first_identifier(found.rest), .defined = {}};
  if (found.name == "ifdef") return {.undefined = {}, .defined = first_identifier(found.rest)};
  const std::vector<std::string_view> names = identifiers(found.rest);
  if (found.name != "if" || names.size() != 2 || names[0] != "defined") return {};
  std::string letters;
  for (const char c : found.rest) {
    if (!is_blank(c) && c != '(' && c != ')') letters += c;
  }
  const std::string defined = "defined" + std::string(names[1]);
  if (letters == "!" + defined) return {.undefined = names[1], .defined = {}};
  if (letters == defined) return {.undefined = {}, .defined = names[1]};
  return {};
}

/// The text between the quotation marks of an #include "...", else nullopt.
std::optional<std::string> quoted_include(const SourceLine& line) {
  const std::optional<Directive> found = directive(line);
  if (!found || found->name != "include" || !found->rest.starts_with('"')) return std::nullopt;
  const std::size_t end = found->rest.find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;  // The compiler says what is wrong.
  return std::string(found->rest.substr(1, end - 1));
}

std::string place_of(const SourceFile& file, const SourceLine& line) {
  return printable(file.name, 300) + ":" + std::to_string(line.number);
}

SourceFile read_source(std::string name, fs::path place) {
  std::string text = read_text(place, kMaxSourceBytes);
  std::vector<SourceLine> lines = source_lines(text);
  return {.name = std::move(name),
          .place = std::move(place),
          .text = std::move(text),
          .lines = std::move(lines)};
}

}  // namespace

std::optional<fs::path> find_source(const fs::path& relative, std::span<const fs::path> folders,
                                    const SourceRoots& roots) {
  const std::string shown = quote(relative.string(), 300);
  if (relative.empty()) throw InputError("an empty path names no file");
  if (relative.is_absolute()) {
    throw InputError(shown + " is absolute; sources are named relative to the space file");
  }
  std::vector<fs::path> allowed;
  for (const fs::path& root : {roots.space, roots.templates}) {
    std::error_code error;
    const fs::path canonical = fs::canonical(root, error);
    if (!error) allowed.push_back(canonical);
  }
  for (const fs::path& folder : folders) {
    std::error_code error;
    const fs::path path = fs::canonical(folder / relative, error);
    const bool exists = !error;
    // Whether something is outside must not be seen from what is said, so the path is judged by
    // its words when there is nothing.
    const fs::path judged = exists ? path : fs::weakly_canonical(folder / relative, error);
    if (std::none_of(allowed.begin(), allowed.end(),
                     [&](const fs::path& root) { return lies_beneath(judged, root); })) {
      throw InputError(shown + " leaves the folder of the space file and the installed templates");
    }
    if (!exists) continue;
    if (!fs::is_regular_file(path, error)) throw InputError(shown + " is not a regular file");
    return path;
  }
  return std::nullopt;
}

std::vector<SourceFile> read_sources(const KernelTemplate& kernel, const SourceRoots& roots) {
  const std::array<fs::path, 2> root_folders = {roots.space, roots.templates};
  const std::optional<fs::path> place = find_source(kernel.source, root_folders, roots);
  if (!place) {
    throw InputError(quote(kernel.source.string(), 300) + " is neither in " + roots.space.string() +
                     " nor in " + roots.templates.string());
  }
  std::vector<SourceFile> files = {read_source(kernel.source.generic_string(), *place)};
  std::map<std::string, fs::path> known;  // What an include's text stands for.

  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::vector<SourceLine> lines = files[i].lines;
    for (const SourceLine& line : lines) {
      const std::optional<std::string> name = quoted_include(line);
      if (!name) continue;
      const std::string where = place_of(files[i], line) + ": ";
      std::vector<fs::path> folders = {files[i].place.parent_path()};
      for (const fs::path& folder : kernel.include) {
        folders.push_back(roots.space / folder);
        folders.push_back(roots.templates / folder);
      }
      folders.push_back(roots.templates);
      std::optional<fs::path> found;
      try {
        found = find_source(*name, folders, roots);
      } catch (const InputError& error) {
        throw InputError(where + error.what());
      }
      if (!found && is_toolkit_header(*name)) continue;
      if (!found) {
        throw InputError(where + quote(*name, 300) +
                         " is found neither beside this file nor in the kernel's include folders "
                         "nor in " +
                         roots.templates.string());
      }
      const auto [entry, is_new] = known.emplace(*name, *found);
      if (entry->second != *found) {
        throw InputError(where + quote(*name, 300) + " means " + found->string() + " here but " +
                         entry->second.string() + " in another file");
      }
      if (!is_new) continue;
      if (files.size() >= kMaxFiles) {
        throw InputError(where + "more than " + std::to_string(kMaxFiles) + " files are included");
      }
      files.push_back(read_source(*name, *found));
    }
  }
  return files;
}

bool is_toolkit_header(std::string_view name) {
  static constexpr std::array<std::string_view, 36> kNames = {"builtin_types.h",
                                                              "channel_descriptor.h",
                                                              "cooperative_groups.h",
                                                              "cuComplex.h",
                                                              "cuda.h",
                                                              "cudaTypedefs.h",
                                                              "cuda_awbarrier.h",
                                                              "cuda_awbarrier_primitives.h",
                                                              "cuda_bf16.h",
                                                              "cuda_fp16.h",
                                                              "cuda_fp4.h",
                                                              "cuda_fp6.h",
                                                              "cuda_fp8.h",
                                                              "cuda_pipeline.h",
                                                              "cuda_pipeline_primitives.h",
                                                              "cuda_runtime.h",
                                                              "cuda_runtime_api.h",
                                                              "curand_kernel.h",
                                                              "device_atomic_functions.h",
                                                              "device_functions.h",
                                                              "device_launch_parameters.h",
                                                              "device_types.h",
                                                              "driver_types.h",
                                                              "float.h",
                                                              "host_defines.h",
                                                              "limits.h",
                                                              "math.h",
                                                              "math_constants.h",
                                                              "mma.h",
                                                              "sm_20_intrinsics.h",
                                                              "stddef.h",
                                                              "stdint.h",
                                                              "surface_types.h",
                                                              "texture_types.h",
                                                              "vector_functions.h",
                                                              "vector_types.h"};
  static constexpr std::array<std::string_view, 6> kFolders = {
      "cooperative_groups/", "crt/", "cub/", "cuda/", "nv/", "thrust/"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return name.starts_with(folder); });
}

bool is_c_header(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kNames = {
      "assert.h", "cassert",  "cfloat",  "climits",  "cmath",    "cstddef",  "cstdint",
      "cstdio",   "cstdlib",  "cstring", "ctime",    "float.h",  "limits.h", "math.h",
      "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::vector<std::string> costly_includes(std::span<const SourceFile> files) {
  // Of CUDA 13.0, measured against a kernel that only includes cuda_fp16.h.
  static constexpr std::array<std::string_view, 6> kCostly = {
      "cooperative_groups", "cub/", "cuda/", "curand_kernel.h", "cute/", "thrust/"};
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    for (const SourceLine& line : file.lines) {
      const std::optional<Directive> include = directive(line);
      if (!include || include->name != "include" || include->rest.size() < 2) continue;
      const std::size_t end = include->rest.find_first_of(">\"", 1);
      const std::string_view name =
          include->rest.substr(1, end == std::string_view::npos ? 0 : end - 1);
      if (std::any_of(kCostly.begin(), kCostly.end(),
                      [&](std::string_view prefix) { return name.starts_with(prefix); })) {
        found.push_back(place_of(file, line) + ": " + printable(include->rest, 80));
      }
    }
  }
  return found;
}

std::vector<SourceLine> source_lines(std::string_view text) {
  std::vector<SourceLine> lines = {{.number = 1, .text = {}}};
  enum class State { code, line_comment, block_comment, string, character };
  State state = State::code;
  std::size_t number = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("\\\n") || rest.starts_with("\\\r\n")) {
      i += rest[1] == '\n' ? 1 : 2;
      ++number;
      continue;
    }
    if (c == '\n') {
      ++number;
      if (state == State::block_comment) {
        lines.back().text += ' ';  // A directive goes on behind a comment of several lines.
        continue;
      }
      state = State::code;  // Neither a line comment nor a string goes on.
      lines.push_back({.number = number, .text = {}});
      continue;
    }
    std::string& line = lines.back().text;
    switch (state) {
      case State::code:
        if (rest.starts_with("//")) {
          state = State::line_comment;
        } else if (rest.starts_with("/*")) {
          state = State::block_comment;
          line += ' ';
          ++i;
        } else {
          if (c == '"') state = State::string;
          // 1'000 has a digit separator; 'a' is a character.
          const bool separates = !line.empty() && (is_digit(line.back()) || is_letter(line.back()));
          if (c == '\'' && !separates) state = State::character;
          line += c;
        }
        break;
      case State::line_comment:
        break;
      case State::block_comment:
        if (rest.starts_with("*/")) {
          state = State::code;
          ++i;
        }
        break;
      case State::string:
      case State::character:
        line += c;
        if (c == '\\' && i + 1 < text.size() && text[i + 1] != '\n') {
          line += text[++i];
        } else if (c == (state == State::string ? '"' : '\'')) {
          state = State::code;
        }
        break;
    }
  }
  return lines;
}

std::vector<std::string> kernel_names(std::span<const SourceFile> files) {
  std::vector<std::string> names;
  for (const SourceFile& file : files) {
    std::string text;
    for (const SourceLine& line : file.lines) {
      if (!directive(line)) text += line.text + "\n";
    }
    static constexpr std::string_view kGlobal = "__global__";
    for (std::size_t at = text.find(kGlobal); at != std::string::npos;
         at = text.find(kGlobal, at + 1)) {
      // Up to the body, every word before an opening parenthesis at the outermost level is either
      // the function's name or an attribute such as __launch_bounds__.
      int depth = 0;
      std::size_t word = std::string::npos;  // Where the last word at the outermost level begins.
      for (std::size_t i = at + kGlobal.size(); i < text.size(); ++i) {
        const char c = text[i];
        if (c == '{' || c == ';') break;
        if (c == '(') {
          if (depth == 0 && word != std::string::npos) {
            names.emplace_back(first_identifier(std::string_view(text).substr(word, i - word)));
          }
          ++depth;
        } else if (c == ')') {
          --depth;
        } else if (depth == 0 && is_letter(c) &&
                   !(is_letter(text[i - 1]) || is_digit(text[i - 1]))) {
          word = i;
        }
      }
    }
  }
  static constexpr std::array<std::string_view, 6> kAttributes = {
      "__launch_bounds__", "__cluster_dims__", "__block_size__",
      "__maxnreg__",       "__attribute__",    "alignas"};
  std::erase_if(names, [](const std::string& name) {
    return std::find(kAttributes.begin(), kAttributes.end(), name) != kAttributes.end();
  });
  return names;
}

std::optional<std::string> redefinition(std::span<const SourceFile> files, std::string_view name) {
  for (const SourceFile& file : files) {
    std::vector<Guard> guards;  // Of the open conditionals, outermost first.
    for (const SourceLine& line : file.lines) {
      const std::optional<Directive> found = directive(line);
      if (!found) continue;
      if (found->name.starts_with("if")) {
        guards.push_back(guard(*found));
      } else if (found->name.starts_with("el")) {
        if (guards.empty()) continue;
        const bool is_else = found->name == "else";
        guards.back() = {.undefined = is_else ? guards.back().defined : std::string_view(),
                         .defined = {}};
      } else if (found->name == "endif") {
        if (!guards.empty()) guards.pop_back();
      } else if (found->name == "undef" && first_identifier(found->rest) == name) {
        return place_of(file, line) + ": #undef " + std::string(name);
      } else if (found->name == "define" && first_identifier(found->rest) == name &&
                 std::none_of(guards.begin(), guards.end(),
                              [&](const Guard& open) { return open.undefined == name; })) {
        return place_of(file, line) + ": " + printable("#define " + std::string(found->rest), 80);
      }
    }
  }
  return std::nullopt;
}

bool uses_macro(std::span<const SourceFile> files, std::string_view name) {
  for (const SourceFile& file : files) {
    for (const SourceLine& line : file.lines) {
      std::string_view text = line.text;
      if (const std::optional<Directive> found = directive(line)) {
        const Guard asked = guard(*found);
        if (!asked.undefined.empty() || !asked.defined.empty() || found->name == "undef") continue;
        text = found->rest;
        if (found->name == "define") {
          const std::string_view defined = first_identifier(text);
          if (!defined.empty()) text.remove_prefix(defined.size());
        }
      }
      const std::vector<std::string_view> names = identifiers(text);
      if (std::find(names.begin(), names.end(), name) != names.end()) return true;
    }
  }
  return false;
}

std::vector<std::string_view> identifiers(std::string_view text) {
  std::vector<std::string_view> result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
    // A number's suffix, as in 1ull, is no name.
    if (end > i && is_letter(text[i])) result.push_back(text.substr(i, end - i));
    i = end > i ? end : i + 1;
  }
  return result;
}

}  // namespace smemtune
