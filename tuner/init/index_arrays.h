#pragma once

#include "tuner/source/kernel_function.h"

#include <set>
#include <string>

namespace smemtune {

/// What the elements of a kernel's pointers decide besides the values of others: names of pointers.
struct ElementUses {
  /// They take part in an index of another array, by themselves or by local variables: what they
  /// begin with decides what is read and written. Not where a mask (`key & 255`) or the remainder of
  /// an unsigned number bounds the index.
  std::set<std::string> indices;
  /// They decide how often a loop runs or how far something is shifted, or they go where that cannot
  /// be seen: to a function with loops or arrays, or as a pointer that is not just indexed.
  std::set<std::string> counts;
};

/// `source` holds the kernel.
ElementUses uses_of_elements(const std::string& source, const KernelFunction& kernel);

}  // namespace smemtune
