#pragma once

#include "tuner/core/kernel_template.h"
#include "tuner/core/result.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// `THREADS != 64`.
struct ParameterCondition {
  enum class Relation { equal, unequal, at_most, at_least };
  std::string parameter;
  Relation relation = Relation::equal;
  Value value;

  bool holds(const Configuration& configuration) const;
  bool operator==(const ParameterCondition&) const = default;
};

std::string to_text(const ParameterCondition& condition);

/// Values with which every configuration of a kernel failed alike, too many of them for chance.
struct FailurePattern {
  std::string kernel;
  Status status = Status::correctness;
  std::vector<ParameterCondition> conditions;    ///< All of them hold; one or two.
  std::uint64_t failures = 0;                    ///< So many configurations have them...
  std::uint64_t all_failures = 0;                ///< ... of so many that failed alike.
  std::map<std::string, std::uint64_t> reasons;  ///< Of `failures`: how many had which.
  std::string hint;                              ///< What may be the cause; empty where not known.

  bool operator==(const FailurePattern&) const = default;
};

/// What explains the failures of each kernel and status, few conditions first, what explains most
/// of them first; nothing for failures that follow no value, or where nothing came through. What a
/// limit or a constraint rejects explains itself and is left out. `results`: of one problem, of
/// `kernels`. The hint says where blocks depend on a parameter of the pattern and their grids do
/// not; wrong results that have its values in common need not be many.
std::vector<FailurePattern> failure_patterns(std::span<const Result> results,
                                             std::span<const KernelTemplate> kernels);

/// `all 40 of tiled with THREADS != 64 are wrong (31 mismatch, 9 unwritten): the grid ...`.
std::string to_text(const FailurePattern& pattern);

}  // namespace smemtune
