#pragma once

#include "tuner/source/kernel_function.h"

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// The value that a kernel's only store gives an element. In the texts local names are replaced by
/// their values, a thread's number among all in a dimension is called `axis_x`, `axis_y` or
/// `axis_z`, and a loop that adds up is `sum(k < bound_of[n], ...)`.
struct SingleStore {
  std::string array;
  std::string index;
  std::string value;
  std::vector<std::string> conditions;  ///< All must hold for the element to be written.
  std::vector<std::string> counters;    ///< Counters of the loops.
};

/// Returns the store of a kernel whose body has nothing but local variables, conditions without an
/// else, loops that add up, and one element that is stored; nullopt for any other kernel.
std::optional<SingleStore> single_store(const std::string& source, const KernelFunction& kernel);

}  // namespace smemtune
