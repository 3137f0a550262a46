#include "tuner/init/index_arrays.h"

#include <algorithm>
#include <map>

namespace smemtune {
namespace {

constexpr std::size_t kLongest = 100;  // Of an index or a value, in tokens.

/// What of a kernel's body follows from elements of which pointers.
class ElementUses {
 public:
  ElementUses(const CppTokens& tokens, TokenRange body, const KernelFunction& kernel)
      : tokens_(tokens), body_(body) {
    for (const KernelParameter& parameter : kernel.parameters) {
      if (parameter.pointers > 0) pointers_.insert(parameter.name);
    }
    for (int pass = 0; pass < 2; ++pass) read_variables();  // What a loop changes is used before.
  }

  std::set<std::string> in_indices() const {
    std::set<std::string> found;
    for (std::size_t i = body_.first; i + 1 < body_.end; ++i) {
      if (!tokens_[i].is_word() || !tokens_[i + 1].is("[")) continue;
      const std::size_t close = closing(tokens_, i + 1);
      if (close >= body_.end) break;  // It is no whole text.
      if (close - i > kLongest) continue;
      for (const std::string& name : elements_in({i + 2, close})) {
        if (!tokens_[i].is(name)) found.insert(name);
      }
    }
    return found;
  }

 private:
  /// `name = ... in[i] ...;`
  void read_variables() {
    for (std::size_t i = body_.first + 1; i + 1 < body_.end; ++i) {
      if (!tokens_[i].is("=") || !tokens_[i - 1].is_word()) continue;
      std::size_t end = i + 1;
      int brackets = 0;
      for (; end < body_.end && end - i < kLongest && !tokens_[end].is(";"); ++end) {
        if (tokens_[end].is("(") || tokens_[end].is("[")) ++brackets;
        if (tokens_[end].is(")") || tokens_[end].is("]")) --brackets;
        if (brackets < 0 || (brackets == 0 && tokens_[end].is(","))) break;
      }
      const std::set<std::string> elements = elements_in({i + 1, end});
      made_of_[std::string(tokens_[i - 1].text)].insert(elements.begin(), elements.end());
    }
  }

  std::set<std::string> elements_in(TokenRange range) const {
    std::set<std::string> found;
    for (std::size_t i = range.first; i < range.end; ++i) {
      const std::string name(tokens_[i].text);
      const bool is_element = i + 1 < body_.end && tokens_[i + 1].is("[");
      if (is_element && pointers_.contains(name)) found.insert(name);
      const auto variable = made_of_.find(name);
      if (!is_element && variable != made_of_.end()) {
        found.insert(variable->second.begin(), variable->second.end());
      }
    }
    return found;
  }

  const CppTokens& tokens_;
  TokenRange body_;
  std::set<std::string> pointers_;
  std::map<std::string, std::set<std::string>> made_of_;  ///< Local variables.
};

}  // namespace

std::set<std::string> arrays_of_indices(const std::string& source, const KernelFunction& kernel) {
  const CppTokens tokens = cpp_tokens(source);
  for (const SourceItem& item : read_items(tokens).items) {
    const bool is_this =
        item.is_kernel && item.body != kNoToken && tokens[item.name].line == kernel.line;
    if (is_this) return ElementUses(tokens, {item.body + 1, item.end - 1}, kernel).in_indices();
  }
  return {};
}

}  // namespace smemtune
