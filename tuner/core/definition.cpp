#include "tuner/core/definition.h"

#include "tuner/core/definition_program.h"
#include "tuner/core/sample.h"
#include "tuner/core/tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace smemtune {
namespace {

std::string shape_text(std::span<const std::int64_t> extents) {
  std::string text = "[";
  for (const std::int64_t extent : extents) {
    text += (text.size() == 1 ? "" : ", ") + std::to_string(extent);
  }
  return text + "]";
}

/// Of one operand the left one.
double calculated(DefinitionOperation operation, double left, double right) {
  using Operation = DefinitionOperation;
  switch (operation) {
    case Operation::negate:
      return -left;
    case Operation::logical_not:
      return left == 0 ? 1 : 0;
    case Operation::square_root:
      return std::sqrt(left);
    case Operation::exponential:
      return std::exp(left);
    case Operation::logarithm:
      return std::log(left);
    case Operation::absolute:
      return std::abs(left);
    case Operation::round_down:
      return std::floor(left);
    case Operation::add:
      return left + right;
    case Operation::subtract:
      return left - right;
    case Operation::multiply:
      return left * right;
    case Operation::divide:
      return left / right;
    case Operation::remainder:
      return std::fmod(left, right);
    case Operation::less:
      return left < right ? 1 : 0;
    case Operation::less_equal:
      return left <= right ? 1 : 0;
    case Operation::greater:
      return left > right ? 1 : 0;
    case Operation::greater_equal:
      return left >= right ? 1 : 0;
    case Operation::equal:
      return left == right ? 1 : 0;
    case Operation::not_equal:
      return left != right ? 1 : 0;
    case Operation::minimum:
      return std::min(left, right);
    default:
      return std::max(left, right);
  }
}

}  // namespace

/// Evaluates a program for the indices in its slots.
class Definition::Evaluation {
 public:
  Evaluation(const Program& program, const std::map<std::string, HostArray>& arrays,
             const std::map<std::string, double>& scalars, std::uint64_t max_operations)
      : program_(program),
        slots_(program.slots),
        max_operations_(max_operations),
        operations_left_(max_operations) {
    for (std::size_t i = 0; i < program.arrays.size(); ++i) {
      arrays_.push_back(&checked(arrays, program.arrays[i], program.dimensions[i]));
    }
    for (const std::string& name : program.scalars) {
      const auto found = scalars.find(name);
      if (found == scalars.end()) fail(1, "the scalar " + in_quotes(name) + " has no value");
      scalars_.push_back(found->second);
    }
    output_shape_ = checked(arrays, program.output, program.output_dimensions).shape;
  }

  HostArray output() {
    HostArray output;
    output.shape = output_shape_;
    const std::uint64_t count = elements();
    if (count > operations_left_) fail_too_many(program_.root.column);
    output.elements.reserve(count);
    std::fill_n(slots_.begin(), output_shape_.size(), 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      spend(program_.root.column);
      output.elements.push_back(value(program_.root));
      for (std::size_t d = output_shape_.size(); d-- > 0;) {
        if (++slots_[d] < output.shape[d]) break;
        slots_[d] = 0;
      }
    }
    return output;
  }

  DefinedElements some(const DefinitionEffort& effort, std::uint64_t seed) {
    constexpr std::size_t kProbed = 16;
    constexpr std::uint64_t kMostSampled = std::uint64_t{1} << 20;
    allow(effort.one_element);
    DefinedElements found;
    for (const std::int64_t element : spread_sample(output_shape_, kProbed, seed)) {
      const bool is_added = add(element, found);
      allow(effort.whole);
      if (!is_added || spent_ >= effort.sample) break;
    }
    if (found.at.empty()) return found;
    const double mean = static_cast<double>(spent_) / static_cast<double>(found.at.size());
    if (mean * static_cast<double>(elements()) <= static_cast<double>(effort.whole)) {
      if (auto all = whole(effort.whole)) return std::move(*all);
    }
    const auto bought = [mean](std::uint64_t operations) {
      return static_cast<std::uint64_t>(static_cast<double>(operations) / mean);
    };
    const std::uint64_t wanted = std::min(
        kMostSampled,
        std::max(bought(effort.sample), std::min(bought(effort.whole), effort.least_elements)));
    if (wanted > found.at.size()) sample(wanted, effort, seed, found);
    found.operations = spent_;
    return found;
  }

 private:
  using Operation = DefinitionOperation;

  std::uint64_t elements() const {
    std::uint64_t count = 1;
    for (const std::int64_t extent : output_shape_) count *= static_cast<std::uint64_t>(extent);
    return count;
  }

  /// Lets so many operations more be spent.
  void allow(std::uint64_t operations) {
    spent_ += max_operations_ - operations_left_;
    max_operations_ = operations_left_ = operations;
  }

  /// Nullopt where it costs more.
  std::optional<DefinedElements> whole(std::uint64_t operations) {
    allow(operations);
    try {
      std::vector<double> values = output().elements;
      allow(0);
      return DefinedElements{.at = {}, .values = std::move(values), .operations = spent_};
    } catch (const TooManyOperations&) {
      return std::nullopt;
    }
  }

  /// Replaces what was found.
  void sample(std::uint64_t wanted, const DefinitionEffort& effort, std::uint64_t seed,
              DefinedElements& found) {
    found = DefinedElements();
    allow(std::max(effort.whole, effort.sample));
    for (const std::int64_t element : spread_sample(output_shape_, wanted, seed)) {
      const bool is_enough = found.at.size() >= effort.least_elements &&
                             max_operations_ - operations_left_ >= effort.sample;
      if (is_enough || !add(element, found)) break;
    }
    allow(0);
  }

  /// About how many operations it costs, without spending them: every loop's body costs what it
  /// does for the index 0, and of what may not be needed nothing counts.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  double cost(const Node& node) {
    switch (node.operation) {
      case Operation::conditional:
      case Operation::logical_and:
      case Operation::logical_or:
        return cost(node.operands.front());
      case Operation::sum:
      case Operation::largest:
      case Operation::smallest: {
        const auto bound = static_cast<double>(node.indices.front().evaluate(slots_));
        slots_[node.slot] = 0;
        return bound <= 0 ? 0 : bound * (1 + cost(node.operands.front()));
      }
      default:
        break;
    }
    double sum = node.operands.empty() ? 0 : 1;
    for (const Node& operand : node.operands) sum += cost(operand);
    return sum;
  }

  /// Returns false where it is not the first and costs more than may be spent.
  bool add(std::int64_t element, DefinedElements& found) {
    std::int64_t rest = element;
    for (std::size_t d = output_shape_.size(); d-- > 0;) {
      slots_[d] = rest % output_shape_[d];
      rest /= output_shape_[d];
    }
    try {
      if (cost(program_.root) > static_cast<double>(operations_left_)) {
        fail_too_many(program_.root.column);
      }
      spend(program_.root.column);
      found.values.push_back(value(program_.root));
    } catch (const TooManyOperations&) {
      if (found.at.empty()) throw;
      return false;
    }
    found.at.push_back(element);
    return true;
  }

  const HostArray& checked(const std::map<std::string, HostArray>& arrays, const std::string& name,
                           std::size_t dimensions) const {
    const auto found = arrays.find(name);
    if (found == arrays.end()) fail(1, "the array " + in_quotes(name) + " is not given");
    const HostArray& array = found->second;
    if (array.shape.size() != dimensions) {
      fail(1, in_quotes(name) + " has " + std::to_string(dimensions) +
                  " dimensions, its contents " + std::to_string(array.shape.size()));
    }
    std::int64_t count = 1;
    for (const std::int64_t extent : array.shape) {
      if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
        fail(1, in_quotes(name) + " cannot have the shape " + shape_text(array.shape));
      }
    }
    // The output's own contents are needed only where it is read.
    const bool is_read =
        std::find(program_.arrays.begin(), program_.arrays.end(), name) != program_.arrays.end();
    if (is_read && std::ssize(array.elements) != count) {
      fail(1, in_quotes(name) + " holds " + std::to_string(array.elements.size()) +
                  " elements, its shape " + shape_text(array.shape) + " has " +
                  std::to_string(count));
    }
    return array;
  }

  [[noreturn]] void fail(std::size_t column, const std::string& message) const {
    fail_at(program_.text, column, message);
  }

  [[noreturn]] void fail_too_many(std::size_t column) const {
    try {
      fail(column, "more than " + std::to_string(max_operations_) + " operations are needed");
    } catch (const ExpressionError& error) {
      throw TooManyOperations(error.what());
    }
  }

  void spend(std::size_t column) {
    if (operations_left_ == 0) fail_too_many(column);
    --operations_left_;
  }

  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  double value(const Node& node) {
    switch (node.operation) {
      case Operation::number:
        return node.number;
      case Operation::index:
        return static_cast<double>(slots_[node.slot]);
      case Operation::scalar:
        return scalars_[node.slot];
      case Operation::element:
        return element(node);
      case Operation::conditional:
        return value(node.operands[0]) != 0 ? value(node.operands[1]) : value(node.operands[2]);
      case Operation::logical_and:
        return value(node.operands[0]) != 0 && value(node.operands[1]) != 0 ? 1 : 0;
      case Operation::logical_or:
        return value(node.operands[0]) != 0 || value(node.operands[1]) != 0 ? 1 : 0;
      case Operation::sum:
      case Operation::largest:
      case Operation::smallest:
        return loop(node);
      default:
        break;
    }
    spend(node.column);
    const double left = value(node.operands[0]);
    const double right = node.operands.size() > 1 ? value(node.operands[1]) : 0;
    return calculated(node.operation, left, right);
  }

  double element(const Node& node) {
    const HostArray& array = *arrays_[node.slot];
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < node.indices.size(); ++d) {
      const std::size_t slot = node.index_slots[d];
      const std::int64_t index =
          slot != Node::kNoSlot ? slots_[slot] : node.indices[d].evaluate(slots_);
      if (index < 0 || index >= array.shape[d]) fail_outside(node, array);
      offset = offset * array.shape[d] + index;
    }
    return array.elements[static_cast<std::size_t>(offset)];
  }

  [[noreturn]] void fail_outside(const Node& node, const HostArray& array) const {
    std::vector<std::int64_t> indices;
    for (const Expression& index : node.indices) indices.push_back(index.evaluate(slots_));
    fail(node.column, program_.arrays[node.slot] + shape_text(indices) +
                          " lies outside, the shape is " + shape_text(array.shape));
  }

  double loop(const Node& node) {
    const std::int64_t bound = node.indices.front().evaluate(slots_);
    if (bound <= 0 && node.operation != Operation::sum) {
      fail(node.column, "there is nothing to take the largest or smallest of: the bound is " +
                            std::to_string(bound));
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double result = node.operation == Operation::sum       ? 0
                    : node.operation == Operation::largest ? -kInfinity
                                                           : kInfinity;
    for (std::int64_t i = 0; i < bound; ++i) {
      spend(node.column);
      slots_[node.slot] = i;
      const double x = value(node.operands.front());
      if (node.operation == Operation::sum) {
        result += x;
      } else if (std::isnan(x) ||
                 (node.operation == Operation::largest ? x > result : x < result)) {
        result = x;
      }
    }
    return result;
  }

  const Program& program_;
  std::vector<std::int64_t> slots_;
  std::vector<const HostArray*> arrays_;
  std::vector<double> scalars_;
  std::vector<std::int64_t> output_shape_;
  std::uint64_t max_operations_;
  std::uint64_t operations_left_;
  std::uint64_t spent_ = 0;  ///< Before the last allow().
};

const std::string& Definition::output() const { return program_->output; }

const std::vector<std::string>& Definition::arrays() const { return program_->arrays; }

HostArray Definition::evaluate(const std::map<std::string, HostArray>& arrays,
                               const std::map<std::string, double>& scalars,
                               std::uint64_t max_operations) const {
  return Evaluation(*program_, arrays, scalars, max_operations).output();
}

DefinedElements Definition::evaluate_some(const std::map<std::string, HostArray>& arrays,
                                          const std::map<std::string, double>& scalars,
                                          const DefinitionEffort& effort,
                                          std::uint64_t seed) const {
  return Evaluation(*program_, arrays, scalars, 0).some(effort, seed);
}

}  // namespace smemtune
