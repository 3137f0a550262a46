#pragma once

#include "tuner/init/comparisons.h"
#include "tuner/init/syntax.h"
#include "tuner/source/kernel_file.h"

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// Returns the store of a kernel whose body has nothing but local variables, conditions without an
/// else, loops that add up, and one element that is stored; nullopt for any other kernel.
std::optional<SingleStore> single_store(const ParsedSource& source, const Syntax& body,
                                        const KernelFunction& kernel);

/// Returns what loops in a part of a function store to an array's elements, or compare them with,
/// as far as it is as simple as above, with `axis_a`, `axis_b`, ... for the counters of these loops;
/// nullopt if it is not.
std::optional<SingleStore> checked_store(const ParsedSource& source, const Syntax& whole,
                                         const std::string& array,
                                         const std::vector<Comparison>& comparisons);

/// Returns the sum that a loop adds up from a value `first` on and that is compared behind it;
/// nullopt if it does more.
std::optional<SingleStore> checked_sum(const ParsedSource& source, const Syntax& loop,
                                       const std::string& first, const Comparison& comparison);

}  // namespace smemtune
