#pragma once

#include "tuner/source/source_items.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

/// How a kernel's body uses the memory that a pointer leads to. `added`: only atomicAdd() and its
/// like write there.
enum class Access { unknown, read, written, added, both };

/// Finds out how functions and macros use the memory that their arguments lead to, as far as their
/// text shows. Refers to the tokens and items that it was made from.
class AccessReader {
 public:
  AccessReader(const CppTokens& tokens, const std::vector<SourceItem>& items);

  /// Returns the access through a pointer called `name` in a range of the tokens.
  Access of(TokenRange range, const std::string& name);

 private:
  Access of(const CppTokens& tokens, TokenRange range, const std::string& name);
  Access passed(const CppTokens& tokens, std::size_t i, TokenRange range);
  Access of_argument(std::string_view function, std::size_t number);
  Access of_function(const SourceItem& item, std::size_t number);
  Access of_macro(const SourceItem& item, std::size_t number);

  const CppTokens& tokens_;
  /// Functions and macros, by name.
  std::multimap<std::string_view, const SourceItem*> functions_;
  std::map<std::pair<const SourceItem*, std::size_t>, Access> known_;  ///< Access by argument.
  int depth_ = 0;
};

}  // namespace smemtune
