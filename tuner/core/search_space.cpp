#include "tuner/core/search_space.h"

#include "tuner/core/error.h"
#include "tuner/core/hash.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace smemtune {
namespace {

constexpr std::size_t kMaxValues = 65536;                // Rows hold 16-bit numbers.
constexpr std::size_t kMaxCells = std::size_t{1} << 27;  // 256 MB of cells, in all groups together.
constexpr std::uint64_t kStepsPerLook = 1 << 16;         // Steps between calls of must_end.
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 63;

/// Thrown when there are too many combinations to list.
struct TooMany {};

// Returns the values of a parameter as they lie in a slot.
std::vector<std::int64_t> slots_of(const Parameter& parameter) {
  std::vector<std::int64_t> slots;
  for (const Value& value : parameter.values) slots.push_back(to_slot(value));
  return slots;
}

void check_values(const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    if (parameter.values.size() <= kMaxValues) continue;
    throw InputError("parameter " + parameter.name + " has " +
                     std::to_string(parameter.values.size()) + " values, at most " +
                     std::to_string(kMaxValues) + " are allowed");
  }
}

// Returns the groups of parameters that share constraints, each ascending, in the order of their
// first parameters.
std::vector<std::vector<std::size_t>> connected(std::size_t parameter_count,
                                                const std::vector<Expression>& constraints) {
  std::vector<std::size_t> group_of(parameter_count);
  std::iota(group_of.begin(), group_of.end(), std::size_t{0});
  for (const Expression& constraint : constraints) {
    for (const std::size_t slot : constraint.variables()) {
      const std::size_t from = group_of[slot];
      const std::size_t to = group_of[constraint.variables().front()];
      std::replace(group_of.begin(), group_of.end(), std::max(from, to), std::min(from, to));
    }
  }
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t first = 0; first < parameter_count; ++first) {
    if (group_of[first] != first) continue;
    groups.emplace_back();
    for (std::size_t i = first; i < parameter_count; ++i) {
      if (group_of[i] == first) groups.back().push_back(i);
    }
  }
  return groups;
}

// Returns the order in which to set the parameters of a group: those of the constraint that is
// cheapest to complete first, so that constraints are tried early and on few combinations.
std::vector<std::size_t> pruning_order(const std::vector<Parameter>& parameters,
                                       const std::vector<std::size_t>& members,
                                       const std::vector<Expression>& constraints) {
  std::vector<std::size_t> order;
  const auto is_set = [&](std::size_t p) {
    return std::find(order.begin(), order.end(), p) != order.end();
  };
  const auto cost = [&](const Expression& constraint) {
    double combinations = 1;
    for (const std::size_t p : constraint.variables()) {
      if (!is_set(p)) combinations *= static_cast<double>(parameters[p].values.size());
    }
    return combinations;
  };
  std::vector<const Expression*> left;
  for (const Expression& constraint : constraints) left.push_back(&constraint);
  while (!left.empty()) {
    const auto cheapest = std::min_element(
        left.begin(), left.end(),
        [&](const Expression* a, const Expression* b) { return cost(*a) < cost(*b); });
    for (const std::size_t p : (*cheapest)->variables()) {
      if (!is_set(p)) order.push_back(p);
    }
    left.erase(cheapest);
  }
  for (const std::size_t p : members) {
    if (!is_set(p)) order.push_back(p);
  }
  return order;
}

// Turns rows whose columns are in the order `order`, sorted by that, into rows whose columns are in
// the order `members`, sorted by that: a radix sort with the parameters as digits.
std::vector<std::uint16_t> reordered(const std::vector<std::uint16_t>& rows,
                                     const std::vector<std::size_t>& order,
                                     const std::vector<std::size_t>& members) {
  const std::size_t width = members.size();
  const std::size_t count = rows.size() / width;
  std::vector<std::size_t> column_of;  // Column of members[i] in the given rows.
  for (const std::size_t p : members) {
    const auto at = std::find(order.begin(), order.end(), p);
    column_of.push_back(static_cast<std::size_t>(at - order.begin()));
  }
  // Rows that agree in the first `digits` members are already in order.
  std::size_t digits = width;
  while (digits > 0 && (digits == width || column_of[digits - 1] < column_of[digits])) --digits;
  std::vector<std::uint32_t> sorted(count);
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::vector<std::uint32_t> from;
  for (std::size_t digit = digits; digit-- > 0;) {
    from = sorted;
    std::vector<std::size_t> begin_of(kMaxValues + 1);
    for (std::size_t i = 0; i < count; ++i) ++begin_of[rows[i * width + column_of[digit]] + 1u];
    std::partial_sum(begin_of.begin(), begin_of.end(), begin_of.begin());
    for (const std::uint32_t i : from) sorted[begin_of[rows[i * width + column_of[digit]]]++] = i;
  }
  std::vector<std::uint16_t> result;
  result.reserve(rows.size());
  for (const std::uint32_t i : sorted) {
    for (const std::size_t column : column_of) result.push_back(rows[i * width + column]);
  }
  return result;
}

// Work that finding the valid combinations of all groups may still take.
struct Allowance {
  const std::function<bool()>& must_end;
  std::uint64_t steps = 0;
  std::size_t cells = kMaxCells;

  void look() const {
    if (must_end && must_end()) throw Cancelled("listing the valid configurations was abandoned");
  }
};

// Finds the valid combinations of one group by backtracking.
class Enumeration {
 public:
  Enumeration(const std::vector<Parameter>& parameters, const std::vector<Expression>& constraints,
              std::vector<std::size_t> order, Allowance& left)
      : order_(std::move(order)),
        checks_(order_.size()),
        slots_(parameters.size()),
        row_(order_.size()),
        left_(left) {
    for (const std::size_t p : order_) values_.push_back(slots_of(parameters[p]));
    for (const Expression& constraint : constraints) {
      std::size_t deepest = 0;
      for (const std::size_t slot : constraint.variables()) {
        const auto at = std::find(order_.begin(), order_.end(), slot);
        deepest = std::max(deepest, static_cast<std::size_t>(at - order_.begin()));
      }
      checks_[deepest].push_back(&constraint);
    }
  }

  /// Returns rows of value indices with columns in the given order, ascending.
  std::vector<std::uint16_t> rows() {
    descend(0);
    left_.cells -= rows_.size();
    return std::move(rows_);
  }

 private:
  void descend(std::size_t depth) {
    if (depth == order_.size()) {
      if (error_) std::rethrow_exception(error_);
      if (rows_.size() + row_.size() > left_.cells) {
        throw TooMany();
      }
      rows_.insert(rows_.end(), row_.begin(), row_.end());
      return;
    }
    const std::vector<std::int64_t>& values = values_[depth];
    std::int64_t& slot = slots_[order_[depth]];
    for (std::size_t i = 0; i < values.size(); ++i) {
      slot = values[i];
      row_[depth] = static_cast<std::uint16_t>(i);
      const std::exception_ptr error_before = error_;
      if (holds(depth)) descend(depth + 1);
      error_ = error_before;
    }
  }

  bool holds(std::size_t depth) {
    for (const Expression* constraint : checks_[depth]) {
      if (left_.steps == 0) throw TooMany();
      if (--left_.steps % kStepsPerLook == 0) left_.look();
      try {
        if (constraint->evaluate(slots_) == 0) return false;
      } catch (const ExpressionError&) {
        if (!error_) error_ = std::current_exception();
      }
    }
    return true;
  }

  std::vector<std::size_t> order_;
  std::vector<std::vector<std::int64_t>> values_;  // Values by depth.
  // Constraints by depth of their deepest parameter.
  std::vector<std::vector<const Expression*>> checks_;
  std::vector<std::int64_t> slots_;  // Values by parameter.
  std::vector<std::uint16_t> row_;
  std::vector<std::uint16_t> rows_;
  // Error of a constraint that has no value for the parameters set so far.
  std::exception_ptr error_;
  Allowance& left_;
};

}  // namespace

bool satisfies(std::span<const Expression> constraints, std::span<const std::int64_t> slots) {
  std::exception_ptr error;
  for (const Expression& constraint : constraints) {
    try {
      if (constraint.evaluate(slots) == 0) return false;
    } catch (const ExpressionError&) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
  return true;
}

/// Finds single valid combinations of a group.
class SearchSpace::Construction {
 public:
  Construction(const std::vector<Parameter>& parameters, const std::vector<std::size_t>& members,
               const std::vector<std::size_t>& order, std::vector<Expression> constraints)
      : members_(members), slot_count_(parameters.size()), constraints_(std::move(constraints)) {
    for (const std::size_t p : members) values_.push_back(slots_of(parameters[p]));
    for (const std::size_t p : order) order_.push_back(position(members, p));
    checks_.resize(order.size());
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      std::size_t deepest = 0;
      for (const std::size_t slot : constraints_[i].variables()) {
        deepest = std::max(deepest, position(order, slot));
      }
      checks_[deepest].push_back(i);
    }
  }

  /// Returns the number of points of the product. Throws InputError if they cannot be numbered.
  std::uint64_t size() const {
    std::uint64_t size = 1;
    for (const std::vector<std::int64_t>& values : values_) {
      if (size > kMaxSize / values.size()) {
        throw InputError("more than 2^63 points of connected parameters: the space is too large");
      }
      size *= values.size();
    }
    return size;
  }

  std::vector<std::uint16_t> row(std::uint64_t number) const {
    std::vector<std::uint16_t> row(members_.size());
    for (std::size_t i = row.size(); i-- > 0;) {
      row[i] = static_cast<std::uint16_t>(number % values_[i].size());
      number /= values_[i].size();
    }
    return row;
  }

  /// Returns the number of a row; nullopt if it is not valid.
  std::optional<std::uint64_t> find(std::span<const std::uint16_t> row) const {
    std::vector<std::int64_t> slots(slot_count_);
    for (std::size_t i = 0; i < row.size(); ++i) slots[members_[i]] = values_[i][row[i]];
    if (!satisfies(constraints_, slots)) return std::nullopt;
    return number_of(row);
  }

  std::optional<std::uint64_t> draw(RandomEngine& random) const {
    constexpr int kAttempts = 20;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Attempt state = {.slots = std::vector<std::int64_t>(slot_count_),
                       .row = std::vector<std::uint16_t>(members_.size())};
      if (descend(0, state, random) && satisfies(constraints_, state.slots)) {
        return number_of(state.row);
      }
    }
    return std::nullopt;
  }

 private:
  struct Attempt {
    std::vector<std::int64_t> slots;
    std::vector<std::uint16_t> row;
    int steps_left = 5000;
  };

  static std::size_t position(const std::vector<std::size_t>& of, std::size_t parameter) {
    return static_cast<std::size_t>(std::ranges::find(of, parameter) - of.begin());
  }

  std::uint64_t number_of(std::span<const std::uint16_t> row) const {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < row.size(); ++i) number = number * values_[i].size() + row[i];
    return number;
  }

  /// Sets the parameters from `depth` on to random values that satisfy the constraints, and returns
  /// whether it found any.
  bool descend(std::size_t depth, Attempt& state, RandomEngine& random) const {
    if (depth == order_.size()) return true;
    const std::size_t at = order_[depth];
    std::vector<std::uint16_t> numbers(values_[at].size());
    std::iota(numbers.begin(), numbers.end(), std::uint16_t{0});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (--state.steps_left < 0) return false;
      std::swap(numbers[i],
                numbers[i + static_cast<std::size_t>(below(random, numbers.size() - i))]);
      const std::uint16_t number = numbers[i];
      state.row[at] = number;
      state.slots[members_[at]] = values_[at][number];
      if (holds(depth, state.slots) && descend(depth + 1, state, random)) return true;
    }
    return false;
  }

  /// Returns whether no constraint of this depth is false. One without a value does not count:
  /// another one may exclude the point, and draw() checks again.
  bool holds(std::size_t depth, std::span<const std::int64_t> slots) const {
    return std::ranges::all_of(checks_[depth], [&](std::size_t i) {
      try {
        return constraints_[i].evaluate(slots) != 0;
      } catch (const ExpressionError&) {
        return true;
      }
    });
  }

  std::vector<std::size_t> members_;
  std::size_t slot_count_;
  std::vector<Expression> constraints_;
  std::vector<std::vector<std::int64_t>> values_;  ///< Values by member.
  std::vector<std::size_t> order_;                 ///< Indices into the members.
  std::vector<std::vector<std::size_t>> checks_;   ///< Constraints by depth in that order.
};

SearchSpace SearchSpace::of_points(std::vector<Parameter> parameters,
                                   std::vector<std::vector<std::uint16_t>> points) {
  check_values(parameters);
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  Group group;
  group.parameters.resize(parameters.size());
  std::iota(group.parameters.begin(), group.parameters.end(), std::size_t{0});
  for (const std::vector<std::uint16_t>& point : points) {
    group.rows.insert(group.rows.end(), point.begin(), point.end());
  }
  SearchSpace space;
  space.parameters_ = std::move(parameters);
  space.size_ = group.size = points.size();
  space.groups_.push_back(std::move(group));
  return space;
}

SearchSpace::SearchSpace(std::vector<Parameter> parameters,
                         const std::vector<Expression>& constraints,
                         const std::function<bool()>& must_end, std::uint64_t max_steps)
    : parameters_(std::move(parameters)) {
  check_values(parameters_);
  size_ = 1;
  for (const Expression& constraint : constraints) {
    if (constraint.variables().empty() && constraint.evaluate() == 0) size_ = 0;
  }
  if (size_ == 0) return;
  Allowance left = {.must_end = must_end};
  for (std::vector<std::size_t>& members : connected(parameters_.size(), constraints)) {
    std::vector<Expression> own;
    for (const Expression& constraint : constraints) {
      const std::vector<std::size_t>& read = constraint.variables();
      if (!read.empty() && std::binary_search(members.begin(), members.end(), read.front())) {
        own.push_back(constraint);
      }
    }
    Group group;
    const std::vector<std::size_t> order = pruning_order(parameters_, members, own);
    try {
      left.steps = max_steps;
      group.rows = Enumeration(parameters_, own, order, left).rows();
      if (order != members) {
        left.look();
        group.rows = reordered(group.rows, order, members);
      }
      group.size = group.rows.size() / members.size();
    } catch (const TooMany&) {
      group.construction = std::make_shared<Construction>(parameters_, members, order, own);
      group.size = group.construction->size();
    }
    group.parameters = std::move(members);
    groups_.push_back(std::move(group));
  }
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    group->stride = size_;
    if (group->size != 0 && size_ > kMaxSize / group->size) {
      throw InputError("more than 2^63 valid configurations: the space is too large");
    }
    size_ *= group->size;
  }
}

bool SearchSpace::is_listed() const {
  return std::ranges::none_of(groups_,
                              [](const Group& group) { return group.construction != nullptr; });
}

std::optional<ConfigurationIndex> SearchSpace::draw(RandomEngine& random) const {
  if (size_ == 0) return std::nullopt;
  ConfigurationIndex index = 0;
  for (const Group& group : groups_) {
    const std::optional<std::uint64_t> number =
        group.construction ? group.construction->draw(random) : below(random, group.size);
    if (!number) return std::nullopt;
    index += *number * group.stride;
  }
  return index;
}

double SearchSpace::cartesian_size() const {
  double size = 1;
  for (const Parameter& parameter : parameters_) {
    size *= static_cast<double>(parameter.values.size());
  }
  return std::min(size, std::numeric_limits<double>::max());
}

std::vector<std::size_t> SearchSpace::value_indices(ConfigurationIndex index) const {
  std::vector<std::size_t> indices(parameters_.size());
  for (const Group& group : groups_) {
    const std::uint64_t number = index / group.stride % group.size;
    if (group.construction) {
      const std::vector<std::uint16_t> row = group.construction->row(number);
      for (std::size_t i = 0; i < row.size(); ++i) indices[group.parameters[i]] = row[i];
    } else {
      const std::span<const std::uint16_t> row = group.listed_row(number);
      for (std::size_t i = 0; i < row.size(); ++i) indices[group.parameters[i]] = row[i];
    }
  }
  return indices;
}

Configuration SearchSpace::configuration(ConfigurationIndex index) const {
  const std::vector<std::size_t> indices = value_indices(index);
  Configuration configuration;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    configuration.emplace(parameters_[i].name, parameters_[i].values[indices[i]]);
  }
  return configuration;
}

std::optional<ConfigurationIndex> SearchSpace::index_of(const Configuration& configuration) const {
  if (configuration.size() != parameters_.size()) return std::nullopt;
  const auto indices = smemtune::value_indices(parameters_, configuration);
  return indices ? index_of_values(*indices) : std::nullopt;
}

std::optional<ConfigurationIndex> SearchSpace::index_of_values(
    std::span<const std::size_t> value_indices) const {
  if (size_ == 0) return std::nullopt;
  ConfigurationIndex index = 0;
  std::vector<std::uint16_t> row;
  for (const Group& group : groups_) {
    row.clear();
    for (const std::size_t p : group.parameters) {
      row.push_back(static_cast<std::uint16_t>(value_indices[p]));
    }
    const std::optional<std::uint64_t> number = group.find(row);
    if (!number) return std::nullopt;
    index += *number * group.stride;
  }
  return index;
}

std::vector<ConfigurationIndex> SearchSpace::neighbors(ConfigurationIndex index) const {
  std::vector<ConfigurationIndex> neighbors;
  for (const Group& group : groups_) {
    const std::uint64_t own = index / group.stride % group.size;
    const std::vector<std::uint16_t> own_row = group.row(own);
    std::vector<std::uint16_t> row = own_row;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t count = parameters_[group.parameters[i]].values.size();
      for (std::size_t value = 0; value < count; ++value) {
        if (value == own_row[i]) continue;
        row[i] = static_cast<std::uint16_t>(value);
        const std::optional<std::uint64_t> number = group.find(row);
        if (number) neighbors.push_back(index - own * group.stride + *number * group.stride);
      }
      row[i] = own_row[i];
    }
  }
  std::sort(neighbors.begin(), neighbors.end());
  return neighbors;
}

std::vector<std::uint16_t> SearchSpace::Group::row(std::uint64_t i) const {
  if (construction) return construction->row(i);
  const std::span<const std::uint16_t> listed = listed_row(i);
  return {listed.begin(), listed.end()};
}

std::optional<std::uint64_t> SearchSpace::Group::find(std::span<const std::uint16_t> row) const {
  if (construction) return construction->find(row);
  std::uint64_t low = 0;
  std::uint64_t high = size;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const std::span<const std::uint16_t> found = listed_row(middle);
    if (std::lexicographical_compare(found.begin(), found.end(), row.begin(), row.end())) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == size || !std::equal(row.begin(), row.end(), listed_row(low).begin())) {
    return std::nullopt;
  }
  return low;
}

Permutation::Permutation(std::uint64_t size, std::uint64_t seed)
    : size_(size), seed_(seed), half_bits_(1) {
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
  // A Feistel network permutes 0 .. 2^(2 * half_bits_) - 1, which is less than four times the size.
  // A result outside the range is sent through again until it falls inside.
  constexpr std::uint64_t kRounds = 6;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = i >> half_bits_;
    std::uint64_t right = i & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t mixed = random_bits(random_bits(seed_, round), right) & mask;
      left = std::exchange(right, left ^ mixed);
    }
    i = left << half_bits_ | right;
  } while (i >= size_);
  return i;
}

std::optional<std::vector<std::size_t>> value_indices(const std::vector<Parameter>& parameters,
                                                      const Configuration& configuration) {
  std::vector<std::size_t> indices;
  for (const Parameter& parameter : parameters) {
    const auto given = configuration.find(parameter.name);
    if (given == configuration.end()) return std::nullopt;
    const auto value = std::ranges::find(parameter.values, given->second);
    if (value == parameter.values.end()) return std::nullopt;
    indices.push_back(static_cast<std::size_t>(value - parameter.values.begin()));
  }
  return indices;
}

}  // namespace smemtune
