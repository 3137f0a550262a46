#pragma once

#include "tuner/init/syntax.h"

#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// A statement of the host that compares an element of an array with what it should be.
struct Comparison {
  TokenRange statement;
  bool is_replaced = false;  ///< False where a store goes before the statement.
  std::string array;
  const Syntax* element = nullptr;
  const Syntax* expected = nullptr;
  bool is_part = false;  ///< True if not all elements may come to it.

  /// Returns true if it expects the elements to be a number.
  bool expects_number() const;
};

/// Returns the comparisons in the body of a function. They refer to the body.
std::vector<Comparison> comparisons_in(const ParsedSource& source, const Syntax& body);

/// Returns what a part of an expression compares: `a != b`, `abs(a - b)`, `a - b > 1e-5`,
/// `diff = a - b`.
std::vector<std::pair<const Syntax*, const Syntax*>> compared_by(const Syntax& syntax);

/// Returns true for a number, which may have a sign.
bool is_number(const Syntax& syntax);

}  // namespace smemtune
