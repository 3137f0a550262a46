#include "tuner/core/definition.h"

#include "tuner/core/definition_program.h"
#include "tuner/core/tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

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
    const std::size_t dimensions = output.shape.size();
    std::int64_t count = 1;
    for (const std::int64_t extent : output.shape) count *= extent;
    if (static_cast<std::uint64_t>(count) > operations_left_) fail_too_many(program_.root.column);
    output.elements.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      spend(program_.root.column);
      output.elements.push_back(value(program_.root));
      for (std::size_t d = dimensions; d-- > 0;) {
        if (++slots_[d] < output.shape[d]) break;
        slots_[d] = 0;
      }
    }
    return output;
  }

 private:
  using Operation = DefinitionOperation;

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
      const std::int64_t index = node.indices[d].evaluate(slots_);
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
};

const std::string& Definition::output() const { return program_->output; }

const std::vector<std::string>& Definition::arrays() const { return program_->arrays; }

HostArray Definition::evaluate(const std::map<std::string, HostArray>& arrays,
                               const std::map<std::string, double>& scalars,
                               std::uint64_t max_operations) const {
  return Evaluation(*program_, arrays, scalars, max_operations).output();
}

}  // namespace smemtune
