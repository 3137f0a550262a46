#pragma once

#include "tuner/core/expression.h"
#include "tuner/core/kernel_template.h"
#include "tuner/core/random.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace smemtune {

/// Index of a configuration among the valid ones of its kernel. It is meaningful in one process
/// only; what is stored or sent is the configuration's key.
using ConfigurationIndex = std::uint64_t;

/// The configurations of one kernel that satisfy its constraints, for one problem and device.
///
/// Parameters that constraints connect, directly or through others, form a group; a parameter in no
/// constraint is a group by itself. Only the valid combinations within each group are listed; the
/// space is the product of the groups, so that a space of 10^18 points with few valid ones, or with
/// independent groups, needs no list of 10^18. Constraints are tried as soon as the parameters that
/// they read are set.
///
/// The order is the same on every machine: within a group, the order of its parameters in the file,
/// the last one varying fastest; groups in the order of their first parameters, the last group
/// varying fastest. If no group has a parameter between those of another, this is the order of all
/// parameters in the file, the last one varying fastest.
///
/// A group that is too large is not listed: its indices are those of its points in the Cartesian
/// product, valid or not, and draw() finds valid ones.
///
/// A point that some constraint excludes is not valid, even if another constraint has no value
/// there. A point that no constraint excludes and for which one has no value is an error.
class SearchSpace {
 public:
  /// Builds the space. Parameter i is slot i of the constraints. `must_end` is called now and then
  /// and returns whether the construction must end. Throws ExpressionError from a constraint that
  /// cannot be evaluated, Cancelled when it must end, and InputError when there are more than 2^63
  /// configurations. A group is not listed when finding its valid combinations takes more than
  /// `max_steps` constraint evaluations, or when the groups' lists would take more than 256 MB
  /// together.
  SearchSpace(std::vector<Parameter> parameters, const std::vector<Expression>& constraints,
              const std::function<bool()>& must_end = {}, std::uint64_t max_steps = 300'000'000);

  /// Returns the space of the given points: value indices by parameter, in any order; duplicates
  /// count once. REQUIRES: every point has an index for each parameter. Throws InputError for more
  /// than 65536 values of a parameter.
  static SearchSpace of_points(std::vector<Parameter> parameters,
                               std::vector<std::vector<std::uint16_t>> points);

  const std::vector<Parameter>& parameters() const { return parameters_; }

  /// Returns the number of points of the Cartesian product, as a double so that it cannot overflow.
  double cartesian_size() const;

  /// Returns whether every index below size() is a valid configuration.
  bool is_listed() const;

  /// Returns the number of valid configurations; if they are not listed, the number of points among
  /// which they are.
  std::uint64_t size() const { return size_; }

  /// Draws a valid configuration at random: uniformly if they are listed, otherwise built value by
  /// value. Nullopt if there is none, or none was found within some thousand steps.
  std::optional<ConfigurationIndex> draw(RandomEngine& random) const;

  /// Returns the configuration with this index. REQUIRES: index < size().
  Configuration configuration(ConfigurationIndex index) const;

  /// Returns the indices of the values within their parameters. REQUIRES: index < size().
  std::vector<std::size_t> value_indices(ConfigurationIndex index) const;

  /// Returns the index of a configuration; nullopt if it is not valid here: other names, other
  /// values, or a constraint that does not hold.
  std::optional<ConfigurationIndex> index_of(const Configuration& configuration) const;

  /// Returns the same for value indices. REQUIRES: there is one for each parameter.
  std::optional<ConfigurationIndex> index_of_values(
      std::span<const std::size_t> value_indices) const;

  /// Returns the valid configurations that differ in exactly one parameter, ascending.
  std::vector<ConfigurationIndex> neighbors(ConfigurationIndex index) const;

 private:
  class Construction;

  SearchSpace() = default;

  // Parameters that are connected by constraints, and their valid combinations of value indices, as
  // rows of one array, in order.
  struct Group {
    std::vector<std::size_t> parameters;
    std::vector<std::uint16_t> rows;  ///< Value indices, size * parameters.size() of them.
    std::uint64_t size = 0;
    std::uint64_t stride = 1;  ///< Number of configurations of all later groups together.

    /// Finds valid combinations if they are not listed; otherwise null.
    std::shared_ptr<const Construction> construction = nullptr;

    std::span<const std::uint16_t> listed_row(std::uint64_t i) const {
      return std::span(rows).subspan(i * parameters.size(), parameters.size());
    }
    std::vector<std::uint16_t> row(std::uint64_t i) const;
    std::optional<std::uint64_t> find(std::span<const std::uint16_t> row) const;
  };
  std::vector<Parameter> parameters_;
  std::vector<Group> groups_;
  std::uint64_t size_ = 0;
};

/// Returns whether every constraint holds. Returns false if one is false; otherwise throws
/// ExpressionError if one has no value.
bool satisfies(std::span<const Expression> constraints, std::span<const std::int64_t> slots);

/// A permutation of 0 .. size-1 that needs no memory: the order, given by the seed, in which a
/// space is visited.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed);

  /// Returns element i of the permutation. REQUIRES: i < size.
  std::uint64_t operator()(std::uint64_t i) const;

 private:
  std::uint64_t size_;
  std::uint64_t seed_;
  int half_bits_;
};

/// Returns the indices of a configuration's values within their parameters; nullopt if it lacks one
/// of the parameters or has other values.
std::optional<std::vector<std::size_t>> value_indices(const std::vector<Parameter>& parameters,
                                                      const Configuration& configuration);

}  // namespace smemtune
