#include "tuner/source/kept_variables.h"

#include "tuner/core/text.h"
#include "tuner/source/source_items.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace smemtune {
namespace {

/// Returns true if an item declares variables with __device__ that can be written.
bool declares_variables(const CppTokens& tokens, const SourceItem& item) {
  bool is_device = false;
  for (std::size_t i = item.first; i < item.end; ++i) {
    if (tokens[i].is("=", "{")) break;
    if (is_one_of(tokens[i].text, {"const", "constexpr", "__constant__", "__shared__"}))
      return false;
    is_device = is_device || tokens[i].is("__device__");
  }
  return is_device && item.kind == SourceItem::Kind::declaration && item.list == kNoToken;
}

/// Returns true if the variable named by the word at i is changed there, or handed to something
/// that may change it.
bool changes(const CppTokens& tokens, std::size_t i) {
  static constexpr std::array<std::string_view, 13> kAssign = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"};
  const auto at = [&](std::size_t j) {
    return j < tokens.size() ? tokens[j].text : std::string_view();
  };
  const std::string_view before = at(i - 1);
  if (before == "&" || before == "++" || before == "--") return true;
  if (before == "(" && at(i - 2).starts_with("atomic")) return true;
  std::size_t behind = i + 1;
  while (at(behind) == "[" || at(behind) == ".") {
    behind = at(behind) == "[" ? closing(tokens, behind) + 1 : behind + 2;
  }
  if (std::ranges::find(kAssign, at(behind)) != kAssign.end()) return true;
  // A symbol of two characters may be two tokens.
  const std::string joined = std::string(at(behind)) + std::string(at(behind + 1));
  return joined != "==" && std::ranges::find(kAssign, joined) != kAssign.end();
}

}  // namespace

std::vector<std::string> kept_variables(const KernelSource& source) {
  std::vector<CppTokens> files;
  for (const KernelSource::File& file : source.files) files.push_back(cpp_tokens(file.text));
  // The variable's own declaration, which gives it its first value, does not count.
  const auto is_changed = [&](std::string_view name, const CppTokens& own, const SourceItem& item) {
    return std::ranges::any_of(files, [&](const CppTokens& tokens) {
      for (std::size_t i = 1; i < tokens.size(); ++i) {
        const bool declares = &tokens == &own && i >= item.first && i < item.end;
        if (tokens[i].is_word() && tokens[i].is(name) && !declares && changes(tokens, i))
          return true;
      }
      return false;
    });
  };
  std::vector<std::string> kept;
  for (std::size_t file = 0; file < files.size(); ++file) {
    for (const SourceItem& item : read_items(files[file]).items) {
      if (!declares_variables(files[file], item)) continue;
      const std::size_t line = files[file][item.first].line;
      for (const std::string& name : item.declares) {
        if (!is_changed(name, files[file], item)) continue;
        kept.push_back(name + " (" + source.files[file].name + ":" + std::to_string(line) + ")");
      }
    }
  }
  return kept;
}

std::string kept_variables_hint(const KernelSource& source) {
  const std::vector<std::string> kept = kept_variables(source);
  if (kept.empty()) return "";
  const bool is_one = kept.size() == 1;
  return std::string("\n") + (is_one ? "the __device__ variable " : "the __device__ variables ") +
         joined(kept, ", ") + (is_one ? " keeps its value" : " keep their values") +
         " from one launch to the next, and nothing sets " + (is_one ? "it" : "them") +
         " back between launches: let the kernel do it at its end, or a launch before it";
}

}  // namespace smemtune
