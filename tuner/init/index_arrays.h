#pragma once

#include "tuner/source/kernel_function.h"

#include <set>
#include <string>

namespace smemtune {

/// Names of a kernel's pointers whose elements decide more than the values of other elements.
struct ElementUses {
  /// Pointers whose elements take part in an index of another array, by themselves or by local
  /// variables: their initial values decide what is read and written. Not those where
  /// a mask (`key & 255`) or the remainder of an unsigned number bounds the index.
  std::set<std::string> indices;
  /// Pointers whose elements decide how often a loop runs or how far a value is shifted, or are
  /// passed on to where that cannot be seen: to a function with loops or arrays, or as a pointer
  /// that is not just indexed.
  std::set<std::string> counts;
};

/// Returns the uses in a kernel, which `source` holds.
ElementUses uses_of_elements(const std::string& source, const KernelFunction& kernel);

}  // namespace smemtune
