#include "tuner/source/source_files.h"

#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/core/text.h"
#include "tuner/source/directive.h"
#include "tuner/source/kernel_function.h"
#include "tuner/source/source_items.h"

#include <algorithm>
#include <array>
#include <map>
#include <system_error>
#include <utility>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 256;

/// Returns true if `path` is `folder` or lies beneath it. Both are canonical.
bool lies_beneath(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

std::string_view first_identifier(std::string_view text) {
  const std::vector<std::string_view> found = identifiers(text);
  return found.empty() ? std::string_view() : found.front();
}

/// A conditional that only asks whether one macro is defined.
struct Guard {
  std::string undefined;  ///< The macro that is not defined in this branch, or empty...
  std::string defined;    ///< ... and the one that is.
};

Guard guard(const Directive& found) {
  if (found.name == "ifndef") return {std::string(first_identifier(found.rest)), ""};
  if (found.name == "ifdef") return {"", std::string(first_identifier(found.rest))};
  const std::vector<std::string_view> names = identifiers(found.rest);
  if (found.name != "if" || names.size() != 2 || names[0] != "defined") return {};
  std::string letters;
  for (const CppToken& token : cpp_tokens(found.rest)) {
    if (!token.is("(") && !token.is(")")) letters += token.text;
  }
  const std::string defined = "defined" + std::string(names[1]);
  if (letters == "!" + defined) return {std::string(names[1]), ""};
  if (letters == defined) return {"", std::string(names[1])};
  return {};
}

std::string place_of(const SourceFile& file, std::size_t line) {
  return printable(file.name, 300) + ":" + std::to_string(line);
}

/// Returns a text with line ends as every compiler sees them: lines are joined also if blanks
/// follow the backslash, and all line ends are line feeds.
std::string with_plain_line_ends(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')) {
      result += '\n';
      continue;
    }
    result += text[i];
    if (text[i] != '\\') continue;
    const std::size_t end = text.find_first_not_of(" \t\v\f", i + 1);
    const bool joins = end != std::string::npos && (text[end] == '\n' || text[end] == '\r');
    if (joins) i = end - 1;
  }
  return result;
}

/// Collects the files of a kernel.
class SourceReader {
 public:
  SourceReader(const KernelTemplate& kernel, const SourceRoots& roots, SourceTexts& texts)
      : roots_(roots), kernel_(kernel), texts_(texts) {
    for (const fs::path& folder : kernel.include) {
      include_folders_.push_back(roots.space / folder);
      include_folders_.push_back(roots.templates / folder);
    }
  }

  std::vector<SourceFile> read(const fs::path& place) {
    add_file(kernel_.source.generic_string(), place);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::shared_ptr<const SourceText> text = files_[i].content;
      for (const Include& include : text->includes) {
        const std::string where = place_of(files_[i], include.line) + ": ";
        try {
          add(include, files_[i].place.parent_path());
        } catch (const InputError& error) {
          throw InputError(where + error.what());
        }
      }
    }
    std::vector<std::span<const PlacedDirective>> directives;
    for (const SourceFile& file : files_) directives.emplace_back(file.content->directives);
    const std::vector<Include> hidden = hidden_questions(directives);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (hidden[i].refusal.empty()) continue;
      throw InputError(place_of(files_[i], hidden[i].line) + ": " + refusal_of(hidden[i]));
    }
    return std::move(files_);
  }

 private:
  static std::string refusal_of(const Include& include) {
    return quote(include.name, 300) + ": " + include.refusal;
  }

  void add_file(std::string name, const fs::path& place) {
    std::shared_ptr<const SourceText>& text = texts_[place];
    if (text == nullptr) {
      text = std::make_shared<const SourceText>(
          with_plain_line_ends(read_text(place, kMaxSourceBytes)));
    }
    files_.push_back({.name = std::move(name), .place = place, .content = text});
  }

  void add(const Include& include, const fs::path& beside) {
    const std::string& name = include.name;
    if (!include.refusal.empty()) throw InputError(refusal_of(include));
    const bool is_known_header = is_toolkit_header(name) || is_c_header(name);
    if (!include.is_quoted && is_known_header) return;
    std::vector<fs::path> folders = include_folders_;
    if (include.is_quoted) {
      folders.insert(folders.begin(), beside);
      folders.push_back(roots_.templates);
    }
    const std::optional<fs::path> found = find_source(name, folders, roots_);
    if (!found && (!include.is_quoted || include.only_asked || is_known_header)) return;
    if (!found) {
      throw InputError(quote(name, 300) +
                       " is found neither beside this file nor in the kernel's include folders "
                       "nor in " +
                       roots_.templates.string());
    }
    const auto [entry, is_new] = known_.emplace(name, *found);
    if (entry->second != *found) {
      throw InputError(quote(name, 300) + " means " + found->string() + " here but " +
                       entry->second.string() + " in another file");
    }
    if (!is_new) return;
    if (files_.size() >= kMaxFiles) {
      throw InputError("more than " + std::to_string(kMaxFiles) + " files are included");
    }
    add_file(name, *found);
  }

  const SourceRoots& roots_;
  const KernelTemplate& kernel_;
  SourceTexts& texts_;
  std::vector<fs::path> include_folders_;
  std::vector<SourceFile> files_;
  std::map<std::string, fs::path> known_;  ///< The file of an include, by its text.
};

/// Returns true if the template that begins at token `first` has a parameter of that name.
bool has_parameter(const CppTokens& tokens, std::size_t first, std::string_view name) {
  SourceItem item;
  item.first = first;
  item.end = tokens.size();
  const std::vector<TemplateParameter> parameters = template_parameters(tokens, item);
  return std::ranges::find(parameters, name, &TemplateParameter::name) != parameters.end();
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
    // The error must not show whether a file outside exists, so a path that does not exist is
    // judged by its words.
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

SourceText::SourceText(std::string source)
    : text(std::move(source)),
      tokens(cpp_tokens(text)),
      directives(directives_of(text)),
      includes(includes_of(text, directives)) {}

std::vector<SourceFile> read_sources(const KernelTemplate& kernel, const SourceRoots& roots,
                                     SourceTexts& known) {
  const std::array<fs::path, 2> root_folders = {roots.space, roots.templates};
  const std::optional<fs::path> place = find_source(kernel.source, root_folders, roots);
  if (!place) {
    throw InputError(quote(kernel.source.string(), 300) + " is neither in " + roots.space.string() +
                     " nor in " + roots.templates.string());
  }
  return SourceReader(kernel, roots, known).read(*place);
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

bool is_cpp_header(std::string_view name) {
  static constexpr std::array<std::string_view, 19> kNames = {
      "algorithm", "array",       "atomic",           "bit",      "complex",
      "concepts",  "functional",  "initializer_list", "iterator", "limits",
      "numbers",   "numeric",     "optional",         "ratio",    "span",
      "tuple",     "type_traits", "utility",          "variant"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::vector<std::string> costly_includes(std::span<const SourceFile> files) {
  // Headers of CUDA 13.0 that are slow, measured against a kernel that only includes cuda_fp16.h.
  static constexpr std::array<std::string_view, 6> kCostly = {
      "cooperative_groups", "cub/", "cuda/", "curand_kernel.h", "cute/", "thrust/"};
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    for (const Include& include : file.content->includes) {
      const bool is_costly = std::ranges::any_of(
          kCostly, [&](std::string_view prefix) { return include.name.starts_with(prefix); });
      if (!is_costly || include.only_asked) continue;
      const std::string marked =
          include.is_quoted ? '"' + include.name + '"' : "<" + include.name + ">";
      found.push_back(place_of(file, include.line) + ": " + printable(marked, 80));
    }
  }
  return found;
}

std::vector<std::string> kernel_names(std::span<const SourceFile> files) {
  std::vector<std::string> names;
  for (const SourceFile& file : files) {
    const CppTokens& tokens = file.content->tokens;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!tokens[i].is("__global__")) continue;
      // Before the body, every word before an opening parenthesis is either the function's name or
      // an attribute such as __launch_bounds__.
      for (; i + 1 < tokens.size() && !tokens[i].is("{") && !tokens[i].is(";"); ++i) {
        if (!tokens[i + 1].is("(")) continue;
        if (tokens[i].is_word() && !is_attribute(tokens[i].text))
          names.emplace_back(tokens[i].text);
        i = closing(tokens, i + 1);
      }
    }
  }
  return names;
}

std::optional<std::string> redefinition(std::span<const SourceFile> files, std::string_view name,
                                        const std::set<std::string>& handed_over) {
  const auto hides = [&](const Guard& guard) {
    return guard.undefined == name || handed_over.contains(std::string(guard.undefined));
  };
  for (const SourceFile& file : files) {
    std::vector<Guard> guards;  // Guards of the open conditionals, outermost first.
    for (const CppToken& token : file.content->tokens) {
      if (token.kind != CppToken::Kind::directive) continue;
      const Directive found = directive_of(token);
      const bool is_about = first_identifier(found.rest) == name;
      if (found.name.starts_with("if")) {
        guards.push_back(guard(found));
      } else if (found.name.starts_with("el")) {
        if (guards.empty()) continue;
        guards.back() = {found.name == "else" ? guards.back().defined : "", ""};
      } else if (found.name == "endif") {
        if (!guards.empty()) guards.pop_back();
      } else if (std::ranges::any_of(guards, hides)) {
        continue;
      } else if (found.name == "undef" && is_about) {
        return place_of(file, token.line) + ": #undef " + std::string(name);
      } else if (found.name == "define" && is_about) {
        return place_of(file, token.line) + ": " + printable("#define " + found.rest, 80);
      }
    }
  }
  return std::nullopt;
}

bool uses_macro(std::span<const SourceFile> files, std::string_view name) {
  bool is_word = false;
  bool is_of_template = false;
  for (const SourceFile& file : files) {
    const CppTokens& tokens = file.content->tokens;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const CppToken& token = tokens[i];
      is_word = is_word || (token.kind == CppToken::Kind::word && token.is(name));
      is_of_template = is_of_template || (token.is("template") && has_parameter(tokens, i, name));
      if (token.kind != CppToken::Kind::directive) continue;
      const Directive found = directive_of(token);
      const Guard asked = guard(found);
      if (!asked.undefined.empty() || !asked.defined.empty() || found.name == "undef") continue;
      const std::vector<std::string_view> names = identifiers(found.rest);
      const std::size_t first = found.name == "define" && !names.empty() ? 1 : 0;
      if (std::find(names.begin() + static_cast<long>(first), names.end(), name) != names.end()) {
        return true;
      }
    }
  }
  return is_word && !is_of_template;
}

}  // namespace smemtune
