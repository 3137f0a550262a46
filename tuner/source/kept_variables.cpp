#include "tuner/source/kept_variables.h"

#include "tuner/core/text.h"
#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace smemtune {
namespace {

/// Returns the token of the name of the variable that is declared with __device__ at token i;
/// kNoToken for a function or a variable that cannot be written.
std::size_t declared_variable(const CppTokens& tokens, std::size_t i) {
  std::size_t name = kNoToken;
  for (std::size_t at = i; at < tokens.size(); ++at) {
    const CppToken& token = tokens[at];
    if (token.is("const") || token.is("constexpr") || token.is("__constant__") ||
        token.is("__shared__")) {
      return kNoToken;
    }
    const bool is_alignment = token.is("alignas") || token.is("__align__");
    if (is_alignment && at + 1 < tokens.size() && tokens[at + 1].is("(")) {
      at = closing(tokens, at + 1);
    } else if (token.is(";") || token.is("=") || token.is("{") || token.is("[")) {
      return name == i ? kNoToken : name;
    } else if (token.is("(")) {
      return kNoToken;
    } else if (token.is_word()) {
      name = at;
    }
  }
  return kNoToken;
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
  const auto is_changed = [&](std::string_view name, const CppToken* declared) {
    return std::ranges::any_of(files, [&](const CppTokens& tokens) {
      for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (&tokens[i] == declared || !tokens[i].is_word() || tokens[i].text != name) continue;
        if (changes(tokens, i)) return true;
      }
      return false;
    });
  };
  std::vector<std::string> kept;
  for (std::size_t file = 0; file < files.size(); ++file) {
    const CppTokens& tokens = files[file];
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!tokens[i].is("__device__")) continue;
      const std::size_t name = declared_variable(tokens, i);
      if (name == kNoToken || !is_changed(tokens[name].text, &tokens[name])) continue;
      kept.push_back(std::string(tokens[name].text) + " (" + source.files[file].name + ":" +
                     std::to_string(tokens[name].line) + ")");
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
