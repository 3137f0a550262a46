#pragma once

#include "tuner/core/sized_times.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// A decision tree that chooses a configuration by the sizes and words of a problem.
struct SizeRules {
  /// A question, or a leaf.
  struct Node {
    std::string name = {};                ///< The size or word that decides; empty for a leaf.
    Value limit = {};                     ///< Yes: a size is at most this, a word equals it.
    std::size_t yes = 0;                  ///< Index in `nodes`.
    std::size_t no = 0;                   ///< Index in `nodes`.
    std::size_t variant = 0;              ///< The leaf's variant.
    std::vector<std::size_t> cases = {};  ///< Those that end at a leaf.
  };
  std::vector<Node> nodes;   ///< The first is the root.
  std::size_t fallback = 0;  ///< The variant for problems that are out of reach.
  /// The least and the largest value of each size within reach, and the words that were measured.
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sizes;
  std::map<std::string, std::set<std::string>> words;

  /// Returns the variant for a problem that has the same names.
  std::size_t variant(const Problem& problem) const;
};

/// Fits a tree to these cases. At each of its leaves is the variant that loses least in the geometric
/// mean of the cases that end there, of those that are nowhere there slower than the default values
/// by more than 1 %; times that are not known are predicted. A question more must save at least as
/// much as 5 % at one of the cases. What is more than twice as large or small as all that was
/// measured is out of reach: it has the default values, or without any the variant that loses least
/// over all cases. REQUIRES: there are cases and variants.
SizeRules fit_rules(const SizedTimes& times, std::span<const std::size_t> cases,
                    std::span<const std::size_t> variants);

/// Chooses by the rules that are fitted to the known cases.
ChooseForCase rules_of(const SizedTimes& times);

}  // namespace smemtune
