#pragma once

#include "tuner/core/outcome.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// One output on one problem: the reference its elements were compared with, and how many were.
struct ComparedOutput {
  Problem problem;
  std::string output;
  ComparedWith with = ComparedWith::unknown;
  std::uint64_t compared = 0;        ///< Number of elements that were compared.
  std::uint64_t elements_total = 0;  ///< Number of elements of the output.
  bool only_sum = false;             ///< Whether no more than the sum of these was compared.

  bool operator==(const ComparedOutput&) const = default;
};

/// Adds `added` to `list`, or replaces the entry of the same output and problem if that compared
/// fewer elements.
void add_compared(std::vector<ComparedOutput>& list, const ComparedOutput& added);

/// A summary of the comparisons of one result.
struct Coverage {
  /// Strongest reference that any output was compared with.
  ComparedWith with = ComparedWith::unknown;
  /// Weakest reference that any output was compared with.
  ComparedWith least = ComparedWith::unknown;
  /// True for a result stored when `with` followed from what the space file contained.
  bool by_old_rule = false;
  /// Outputs compared with `with` on every problem where any output was.
  std::vector<std::string> outputs = {};
  /// Outputs not compared with `with` on some problem where another output was.
  std::vector<std::string> other_outputs = {};
  /// Problems on which no output was compared with `with`, as `N=16384`, the tuned one first.
  std::vector<std::string> other_problems = {};
  std::uint64_t compared = 0;  ///< Number of elements that were compared with `with`.
  /// Number of elements of the outputs that `compared` counts, on the same problems.
  std::uint64_t elements_total = 0;
  std::vector<std::string> sums = {};  ///< Outputs of which no more than the sum was compared.

  /// Returns whether every output was compared with `with` on every problem, wholly or by a sample.
  bool is_everywhere() const { return other_outputs.empty() && other_problems.empty(); }
  bool is_sampled() const { return compared < elements_total; }
  /// Returns whether some output was, on some problem, compared only with the kernel's own default.
  bool rests_on_itself() const { return least == ComparedWith::only_itself; }
};

/// Summarizes `list`, whose first problem is the tuned one. Where `list` is empty, the result is
/// `stored`.
Coverage coverage_of(ComparedWith stored, std::span<const ComparedOutput> list);

/// Formats a coverage: `definition`, `definition (sampled)`, `definition (not at N=16384)`,
/// `definition (o; not l, m)`, `only itself`, `definition (by the old rule)`.
std::string to_text(const Coverage& coverage);

/// Returns how much of the outputs was compared, to follow `with`: ` at 3,051 of 65,536 elements`,
/// `, only the sum of out`; empty if each element was.
std::string extent_text(const Coverage& coverage);

/// Lists what was not compared with `coverage.with`: `l, m`, `anything at N=16384`, `l, m, and
/// anything at N=16384`; empty if nothing is missing.
std::string gaps_text(const Coverage& coverage);

}  // namespace smemtune
