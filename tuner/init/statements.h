#pragma once

#include "tuner/init/syntax.h"
#include "tuner/source/kernel_file.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Returns the store of a kernel whose body has nothing but local variables, conditions without an
/// else, loops that add up, and one element that is stored; nullopt for any other kernel.
std::optional<SingleStore> single_store(const ParsedSource& source, const Syntax& body,
                                        const KernelFunction& kernel);

using ComparedPair = std::pair<const Syntax*, const Syntax*>;

/// Returns what a part of an expression compares: `a != b`, `abs(a - b)`, `diff = a - b`.
std::vector<ComparedPair> compared_by(const Syntax& syntax);

/// The stores and comparisons of a function of the host.
struct HostValues {
  std::vector<HostValue> values = {};
  /// Variables that it gives a value once, and that value.
  std::map<std::string, std::string> constants = {};
};

/// Returns what a function stores to elements of arrays in loops over their indices, as far as it
/// is as simple as above, and what it compares elements or single values with.
HostValues host_values(const ParsedSource& source, const Syntax& body);

}  // namespace smemtune
