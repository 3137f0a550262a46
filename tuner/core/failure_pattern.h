#pragma once

#include "tuner/core/kernel_template.h"
#include "tuner/core/result.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// A condition on one parameter's value, such as `THREADS != 64`.
struct ParameterCondition {
  enum class Relation { equal, unequal, at_most, at_least };
  std::string parameter;
  Relation relation = Relation::equal;
  Value value;

  bool holds(const Configuration& configuration) const;
  bool operator==(const ParameterCondition&) const = default;
};

std::string to_text(const ParameterCondition& condition);

/// Conditions under which every configuration of a kernel failed in the same way, too many of them
/// for chance.
struct FailurePattern {
  std::string kernel;
  Status status = Status::correctness;
  std::vector<ParameterCondition> conditions;  ///< Conditions that all hold; one or two.
  /// Number of configurations that meet the conditions; all of them failed.
  std::uint64_t failures = 0;
  std::map<std::string, std::uint64_t> reasons;  ///< Number of these `failures` by reason.
  std::string hint;                              ///< Likely cause; empty when not known.

  bool operator==(const FailurePattern&) const = default;
};

/// Returns the patterns that explain the failures of each kernel and status: those with few
/// conditions first, then those that explain most. There are none for failures that follow no
/// value, or if no configuration succeeded. Rejections by a limit or a constraint explain
/// themselves and are left out. `results`: results of one problem, of `kernels`. The hint says if
/// blocks depend on a parameter of the pattern and their grids do not; a pattern of wrong results
/// in such a parameter's values may be found from a few failures.
std::vector<FailurePattern> failure_patterns(std::span<const Result> results,
                                             std::span<const KernelTemplate> kernels);

/// Formats a pattern: `all 40 of tiled with THREADS != 64 are wrong (31 mismatch, 9 unwritten): the
/// grid ...`.
std::string to_text(const FailurePattern& pattern);

}  // namespace smemtune
