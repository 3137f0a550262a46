#pragma once

#include "tuner/init/syntax.h"

#include <string>
#include <vector>

namespace smemtune {

/// A statement of the host that compares an element of an array with what it should be, or a single
/// variable.
struct Comparison {
  TokenRange statement;
  bool is_replaced = false;  ///< False where a store goes before the statement.
  std::string array;         ///< Or the variable.
  const Syntax* element = nullptr;
  const Syntax* expected = nullptr;
  bool is_part = false;  ///< True if not all elements may come to it.

  /// Returns true if it expects the elements to be a number.
  bool expects_number() const;
};

/// The comparisons in the body of a function. Refers to the body.
struct Comparisons {
  std::vector<Comparison> elements = {};
  std::vector<Comparison> singles = {};  ///< Those of two variables outside of loops.
};

Comparisons comparisons_in(const ParsedSource& source, const Syntax& body);

/// Returns true for a number, which may have a sign.
bool is_number(const Syntax& syntax);

}  // namespace smemtune
