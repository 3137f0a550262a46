#pragma once

#include "tuner/core/outcome.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// How many elements of an output were compared with what, on one problem.
struct ComparedOutput {
  Problem problem;
  std::string output;
  ComparedWith with = ComparedWith::unknown;
  std::uint64_t compared = 0;  ///< Elements...
  std::uint64_t of = 0;        ///< ... of so many.

  bool operator==(const ComparedOutput&) const = default;
};

/// Puts `added` into `list`, or in the place of fewer compared elements of the same output.
void add_compared(std::vector<ComparedOutput>& list, const ComparedOutput& added);

/// What the comparisons of a result amount to.
struct Coverage {
  ComparedWith with = ComparedWith::unknown;   ///< The strongest that any output was compared with.
  ComparedWith least = ComparedWith::unknown;  ///< The weakest.
  bool by_old_rule = false;  ///< Stored when this followed from what the space file contained.
  std::vector<std::string> outputs = {};        ///< Compared with it...
  std::vector<std::string> other_outputs = {};  ///< ... and those that somewhere were not.
  /// Those where no output was: `N=16384`, the tuned one first.
  std::vector<std::string> other_problems = {};
  std::uint64_t compared = 0;  ///< Elements that were compared with it...
  std::uint64_t of = 0;        ///< ... of the outputs and problems where any were.

  /// Whether every output was compared with it on every problem, wholly or by a sample.
  bool is_everywhere() const { return other_outputs.empty() && other_problems.empty(); }
  bool is_sampled() const { return compared < of; }
  /// Whether some output was on some problem compared with nothing but the kernel's own default.
  bool rests_on_itself() const { return least == ComparedWith::only_itself; }
};

/// `stored`: the word that counts where `list` is empty. The tuned problem is the list's first.
Coverage coverage_of(ComparedWith stored, std::span<const ComparedOutput> list);

/// `definition`, `definition (sampled)`, `definition (not at N=16384)`, `definition (o; not l, m)`,
/// `only itself`, `definition (by the old rule)`.
std::string to_text(const Coverage& coverage);

/// What was not compared with it: `l, m`, `anything at N=16384`, `l, m, and anything at N=16384`;
/// empty where there is nothing.
std::string gaps_text(const Coverage& coverage);

}  // namespace smemtune
