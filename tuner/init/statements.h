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

/// Returns how many elements a loop counts in each element of an array, `counts[in[i]]++`, or, if
/// `takes_off`, takes off it; nullopt for any other loop.
std::optional<SingleStore> counted(const ParsedSource& source, const Syntax& loop,
                                   const std::string& array, bool takes_off);

/// A sum, which these functions write as `sum(counter < bound_of[bound], term)`.
struct HostSum {
  std::string counter;
  std::string bound;
  std::string term;
};

/// Reads a sum that is written so; nullopt if a text is anything else.
std::optional<HostSum> sum_in(const std::string& text);

/// Returns the value of a variable behind a loop, or a call of std::for_each, that does nothing with
/// it but add to it, from the value `before` on; nullopt for any other statement. An element that
/// the loop stores a variable to stands for that variable. What the loop does besides is left out.
std::optional<std::string> added_up(const ParsedSource& source, const Syntax& statement,
                                    const std::string& variable, const std::string& before);

/// Returns the array whose first element `a` or `v.begin()` leads to; empty for others.
std::string array_at(const std::string& text);

/// Returns what a call of std::transform, std::partial_sum, std::inclusive_scan or
/// std::exclusive_scan stores, with `axis_a` for an element's number; nullopt for any other call.
std::optional<SingleStore> filled_by(const ParsedSource& source, const Syntax& call);

/// Returns the sum that a call of std::accumulate, std::reduce or std::inner_product gives; nullopt
/// for any other call, or if it begins with another value than 0.
std::optional<std::string> accumulated(const ParsedSource& source, const Syntax& call);

}  // namespace smemtune
