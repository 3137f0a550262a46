#pragma once

#include "tuner/core/random.h"
#include "tuner/core/search_space.h"

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

namespace smemtune {

/// The configurations of a space that were not asked for yet. Refers to the space, which must
/// outlive it.
class Untried {
 public:
  Untried(const SearchSpace& space, std::uint64_t seed);

  const SearchSpace& space() const { return *space_; }

  /// Number of configurations that were taken.
  std::uint64_t taken() const { return taken_.size(); }

  /// Whether the space is so small that each configuration may be examined before every question.
  bool lists_few() const { return space_->is_listed() && space_->size() <= kFew; }

  /// Whether more than half of a small space was taken. All of it will be, so that ordering the
  /// rest is not worth its cost.
  bool is_mostly_taken() const { return lists_few() && 2 * taken() > space_->size(); }

  bool contains(ConfigurationIndex configuration) const { return !taken_.contains(configuration); }

  /// Returns false if the configuration was taken before.
  bool take(ConfigurationIndex configuration) { return taken_.insert(configuration).second; }

  /// Takes the next in the seed's random order; nullopt when nothing is left, or when none was
  /// found in a space that is not listed.
  std::optional<ConfigurationIndex> take_next();

  /// Returns a random configuration, which stays untried; nullopt if a few attempts found none.
  std::optional<ConfigurationIndex> draw(RandomEngine& random) const;

  /// Returns the untried configurations that differ in one parameter.
  std::vector<ConfigurationIndex> neighbors(ConfigurationIndex configuration) const;

 private:
  static constexpr std::uint64_t kFew = 8192;

  const SearchSpace* space_;
  Permutation order_;
  std::uint64_t position_ = 0;  ///< Position in `order_` of the next.
  RandomEngine random_;         ///< For drawing when there is no order.
  std::unordered_set<ConfigurationIndex> taken_;
};

}  // namespace smemtune
