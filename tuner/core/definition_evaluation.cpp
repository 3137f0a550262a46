#include "tuner/core/definition_evaluation.h"

#include "tuner/core/compensated_sum.h"
#include "tuner/core/definition_arithmetic.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/tokens.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

namespace smemtune {
namespace {

// Turns of a loop that a thread evaluates at once.
constexpr std::uint64_t kTurnsOfThread = std::uint64_t{1} << 18;

std::string shape_text(std::span<const std::int64_t> extents) {
  std::string text = "[";
  for (const std::int64_t extent : extents) {
    text += (text.size() == 1 ? "" : ", ") + std::to_string(extent);
  }
  return text + "]";
}

bool is_nan(double x) { return std::isnan(x); }
bool is_nan(Whole /*x*/) { return false; }

/// Reduces the values of a loop's body to their sum, their maximum or their minimum.
template <typename Number>
class Reduction {
 public:
  explicit Reduction(expressions::Operation operation) : operation_(operation) {}

  void add(Number x) {
    if (operation_ == expressions::Operation::sum) {
      if constexpr (std::is_same_v<Number, double>) {
        sum_.add(x);
      } else {
        result_ = calculated(expressions::Operation::add, result_, x);
      }
    } else if (is_first_ || is_nan(x) ||
               (operation_ == expressions::Operation::largest ? x > result_ : x < result_)) {
      result_ = x;
    }
    is_first_ = false;
  }

  Number result() const {
    if constexpr (std::is_same_v<Number, double>) {
      if (operation_ == expressions::Operation::sum) return sum_.total();
    }
    return result_;
  }

 private:
  expressions::Operation operation_;
  bool is_first_ = true;
  Number result_ = 0;
  CompensatedSum sum_;  ///< The result of a sum in double precision.
};

template <typename Number>
Number number_of(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t place) {
  if constexpr (std::is_same_v<Number, Whole>) return whole_of(bits_at(bytes, type, place), type);
  return static_cast<Number>(element_at(bytes, type, place));
}

template <typename Number>
Number element_of(const HostArray& array, std::size_t place) {
  if constexpr (std::is_same_v<Number, Whole>) {
    if (!array.bits.empty()) return whole_of(array.bits[place], array.type);
  }
  if (!array.has_bytes()) return static_cast<Number>(array.elements[place]);
  if (!array.read) return number_of<Number>(array.bytes, array.type, place);
  std::array<std::uint8_t, sizeof(std::uint64_t)> drawn = {};
  const std::size_t size = size_of(array.type);
  array.read(place * size, std::span(drawn).first(size));
  return number_of<Number>(drawn, array.type, 0);
}

}  // namespace

Definition::Evaluation::Evaluation(const Program& program,
                                   const std::map<std::string, HostArray>& arrays,
                                   const std::map<std::string, double>& scalars, unsigned threads)
    : program_(program), slots_(program.slots), threads_(threads) {
  std::vector<ScalarType> types;
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    arrays_.push_back(&checked(arrays, program.arrays[i], program.dimensions[i]));
    types.push_back(arrays_.back()->type);
  }
  for (const std::string& name : program.scalars) {
    const auto found = scalars.find(name);
    if (found == scalars.end()) fail(1, "the scalar " + in_quotes(name) + " has no value");
    scalars_.push_back(found->second);
  }
  const HostArray& output = checked(arrays, program.output, program.output_dimensions);
  output_shape_ = output.shape;
  output_type_ = output.type;
  const Analysis analysis(program_, std::move(types), output_type_);
  inner_loops_.resize(analysis.inner_loops());
  operations_of_row_ = analysis.operations_of_row();
}

std::uint64_t Definition::Evaluation::elements() const {
  std::uint64_t count = 1;
  for (const std::int64_t extent : output_shape_) count *= static_cast<std::uint64_t>(extent);
  return count;
}

void Definition::Evaluation::in_parallel(std::uint64_t count, const Work& work) {
  const auto threads = static_cast<unsigned>(std::min<std::uint64_t>(threads_, count));
  if (threads > 1) threads_ = 1;
  budget_.give_back();  // Else every copy could spend them again.
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  std::uint64_t failed = count;
  std::exception_ptr error;
  const auto run = [&](Evaluation& own) {
    for (std::uint64_t i = next++; i < count; i = next++) {
      try {
        work(own, i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (i < failed) error = std::current_exception();
        failed = std::min(failed, i);
        next = count;
      }
    }
    own.budget_.give_back();
  };
  {
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < threads) {
        others.emplace_back([&run, own = *this]() mutable { run(own); });
      }
    } catch (const std::system_error&) {  // Fewer threads do the work as well.
    }
    run(*this);
  }
  threads_ = std::max(threads_, threads);
  if (error) std::rethrow_exception(error);
}

/// Estimates the number of operations without spending them: every loop's body is assumed to cost
/// what it costs for the index 0, and operands that may not be needed are not counted.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
double Definition::Evaluation::cost(const Node& node) {
  double once = 0;
  return cost(node, Node::kNoSlot, once) + once;
}

/// Returns what each turn of the loop around a node costs, whose index has the slot; adds to
/// `once` what all turns cost together.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
double Definition::Evaluation::cost(const Node& node, std::size_t slot, double& once) {
  switch (node.operation) {
    case Operation::conditional:
    case Operation::logical_and:
    case Operation::logical_or:
      return cost(node.operands.front(), slot, once);
    case Operation::sum:
    case Operation::largest:
    case Operation::smallest: {
      gather(node);
      const auto bound = static_cast<double>(node.indices.front().evaluate(slots_));
      slots_[node.slot] = 0;
      double fixed = 0;
      const double turn = cost(node.operands.front(), node.slot, fixed);
      const double all = bound <= 0 ? 0 : fixed + bound * (1 + turn);
      const bool varies = node.inner_loop == Node::kNoSlot || depends_on(node, slot);
      if (!varies) once += all;
      return varies ? all : 0;
    }
    default:
      break;
  }
  double sum = node.operands.empty() ? 0 : 1;
  for (const Node& operand : node.operands) sum += cost(operand, slot, once);
  return sum;
}

bool Definition::Evaluation::depends_on(const Node& loop, std::size_t slot) {
  return std::ranges::find(loop.outer_slots, slot) != loop.outer_slots.end();
}

auto Definition::Evaluation::affordable_element(std::int64_t number) -> Element {
  if (estimated_cost(number) > static_cast<double>(budget_.left())) fail_too_many();
  return element_at(number);
}

void Definition::Evaluation::set_indices(std::int64_t number) {
  for (std::size_t d = output_shape_.size(); d-- > 0;) {
    slots_[d] = number % output_shape_[d];
    number /= output_shape_[d];
  }
}

std::size_t Definition::Evaluation::find_row(std::uint64_t begin, std::uint64_t end,
                                             HostArray& output) {
  if (operations_of_row_ == 0) return 0;
  set_indices(static_cast<std::int64_t>(begin));
  const std::size_t last = output_shape_.size() - 1;
  const auto in_row = static_cast<std::uint64_t>(output_shape_[last] - slots_[last]);
  const std::size_t several = std::min<std::uint64_t>({kColumn, in_row, end - begin});
  const std::span<double> row = std::span(output.elements).subspan(begin, several);
  std::array<Whole, kColumn> whole = {};
  const bool is_inside =
      program_.root.is_whole
          ? find_column(program_.root, last, slots_[last], std::span(whole).first(several))
          : find_column(program_.root, last, slots_[last], row);
  if (!is_inside || !budget_.spend(several * operations_of_row_)) return 0;
  for (std::size_t i = 0; program_.root.is_whole && i < several; ++i) {
    const Element element = as_element(whole[i]);
    row[i] = element.value;
    output.bits[begin + i] = element.bits;
  }
  return several;
}

auto Definition::Evaluation::element_at(std::int64_t number) -> Element {
  set_indices(number);
  spend(program_.root.column);
  if (!program_.root.is_whole) return {.value = value<double>(program_.root)};
  return as_element(value<Whole>(program_.root));
}

auto Definition::Evaluation::as_element(Whole value) const -> Element {
  const std::uint64_t bits = bits_of(value, output_type_);
  return {.value = static_cast<double>(whole_of(bits, output_type_)), .bits = bits};
}

const HostArray& Definition::Evaluation::checked(const std::map<std::string, HostArray>& arrays,
                                                 const std::string& name,
                                                 std::size_t dimensions) const {
  const auto found = arrays.find(name);
  if (found == arrays.end()) fail(1, "the array " + in_quotes(name) + " is not given");
  const HostArray& array = found->second;
  if (array.shape.size() != dimensions) {
    fail(1, in_quotes(name) + " has " + std::to_string(dimensions) + " dimensions, its contents " +
                std::to_string(array.shape.size()));
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : array.shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      fail(1, in_quotes(name) + " cannot have the shape " + shape_text(array.shape));
    }
  }
  // The output's own contents are needed only if the definition reads them.
  const bool is_read =
      std::find(program_.arrays.begin(), program_.arrays.end(), name) != program_.arrays.end();
  if (is_read && array.size() != static_cast<std::size_t>(count)) {
    fail(1, in_quotes(name) + " holds " + std::to_string(array.size()) + " elements, its shape " +
                shape_text(array.shape) + " has " + std::to_string(count));
  }
  return array;
}

void Definition::Evaluation::fail(std::size_t column, const std::string& message) const {
  fail_at(program_.text, column, message);
}

void Definition::Evaluation::fail_too_many() const { fail_too_many(program_.root.column); }

void Definition::Evaluation::fail_too_many(std::size_t column) const {
  try {
    fail(column, "more than " + std::to_string(budget_.allowed()) + " operations are needed");
  } catch (const ExpressionError& error) {
    throw TooManyOperations(error.what());
  }
}

void Definition::Evaluation::spend(std::size_t column) {
  if (!budget_.spend(1)) fail_too_many(column);
}

// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
template <typename Number>
Number Definition::Evaluation::value(const Node& node) {
  switch (node.operation) {
    case Operation::constant:
      if constexpr (std::is_same_v<Number, Whole>) return node.whole;
      return static_cast<Number>(node.number);
    case Operation::variable:
      return static_cast<Number>(slots_[node.slot]);
    case Operation::scalar:
      return static_cast<Number>(scalars_[node.slot]);
    case Operation::element:
      return element<Number>(node);
    case Operation::conditional:
      return value<Number>(node.operands[is_true(node.operands[0]) ? 1 : 2]);
    case Operation::logical_and:
      return is_true(node.operands[0]) && is_true(node.operands[1]) ? 1 : 0;
    case Operation::logical_or:
      return is_true(node.operands[0]) || is_true(node.operands[1]) ? 1 : 0;
    case Operation::sum:
    case Operation::largest:
    case Operation::smallest:
      return loop<Number>(node);
    default:
      break;
  }
  spend(node.column);
  if (node.operation == Operation::logical_not) return is_true(node.operands[0]) ? 0 : 1;
  if (is_comparison(node.operation)) return compare(node) ? 1 : 0;
  const Number left = value<Number>(node.operands[0]);
  const Number right = node.operands.size() > 1 ? value<Number>(node.operands[1]) : Number{0};
  if constexpr (std::is_same_v<Number, Whole>) require_divisor(node, right);
  return calculated(node.operation, left, right);
}

/// Evaluates a condition, as a whole number if find_whole() has found it to be one.
bool Definition::Evaluation::is_true(const Node& node) {
  return node.is_whole ? value<Whole>(node) != 0 : value<double>(node) != 0;
}

bool Definition::Evaluation::compare(const Node& node) {
  const Node& left = node.operands[0];
  const Node& right = node.operands[1];
  if (left.is_whole && right.is_whole) {
    const Whole first = value<Whole>(left);
    return holds(node.operation, first, value<Whole>(right));
  }
  const double first = value<double>(left);
  return holds(node.operation, first, value<double>(right));
}

void Definition::Evaluation::require_divisor(const Node& node, Whole divisor) const {
  const bool divides = node.operation == Operation::divide || node.operation == Operation::modulo;
  if (divides && divisor == 0) fail(node.column, "a whole number is divided by 0");
}

/// Stores the elements that the indices or the bound of a node read.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
void Definition::Evaluation::gather(const Node& node) {
  for (std::size_t i = 0; i < node.gathered.size(); ++i) {
    const Node& one = node.gathered[i];
    if (is_floating(arrays_[one.slot]->type)) {
      fail(one.column,
           in_quotes(program_.arrays[one.slot]) + " has fractions, where a whole number is needed");
    }
    slots_[node.gathered_slots[i]] = static_cast<std::int64_t>(element<Whole>(one));
  }
}

/// Stores the elements that the indices of a node read; returns false if one lies outside.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
bool Definition::Evaluation::gather_inside(const Node& node) {
  for (std::size_t i = 0; i < node.gathered.size(); ++i) {
    const Node& one = node.gathered[i];
    const HostArray& array = *arrays_[one.slot];
    if (!gather_inside(one)) return false;
    const std::optional<std::size_t> place = place_of(one, array);
    if (!place) return false;
    slots_[node.gathered_slots[i]] = static_cast<std::int64_t>(element_of<Whole>(array, *place));
  }
  return true;
}

// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
template <typename Number>
Number Definition::Evaluation::element(const Node& node) {
  gather(node);
  const HostArray& array = *arrays_[node.slot];
  const std::optional<std::size_t> place = place_of(node, array);
  if (!place) fail_outside(node, array);
  return element_of<Number>(array, *place);
}

/// Returns where the element lies that the indices select; nullopt if that is outside.
std::optional<std::size_t> Definition::Evaluation::place_of(const Node& node,
                                                            const HostArray& array) const {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < node.indices.size(); ++d) {
    const std::size_t slot = node.index_slots[d];
    const std::int64_t index =
        slot != Node::kNoSlot ? slots_[slot] : node.indices[d].evaluate(slots_);
    if (index < 0 || index >= array.shape[d]) return std::nullopt;
    offset = offset * array.shape[d] + index;
  }
  return static_cast<std::size_t>(offset);
}

void Definition::Evaluation::fail_outside(const Node& node, const HostArray& array) const {
  std::vector<std::int64_t> indices;
  for (const Expression& index : node.indices) indices.push_back(index.evaluate(slots_));
  fail(node.column, program_.arrays[node.slot] + shape_text(indices) +
                        " lies outside, the shape is " + shape_text(array.shape));
}

template <typename Number>
Number Definition::Evaluation::loop(const Node& node) {
  if (node.inner_loop == Node::kNoSlot) return evaluated<Number>(node);
  InnerLoop& known = inner_loops_[node.inner_loop];
  const auto slot = [this](std::size_t number) { return slots_[number]; };
  if (!known.is_known || !std::ranges::equal(known.at, node.outer_slots, {}, {}, slot)) {
    const Number result = evaluated<Number>(node);
    known.number = static_cast<double>(result);
    if constexpr (std::is_same_v<Number, Whole>) known.whole = result;
    known.at.resize(node.outer_slots.size());
    std::ranges::transform(node.outer_slots, known.at.begin(), slot);
    known.is_known = true;
  }
  if constexpr (std::is_same_v<Number, Whole>) return known.whole;
  return static_cast<Number>(known.number);
}

/// Returns the value of a loop.
template <typename Number>
Number Definition::Evaluation::evaluated(const Node& node) {
  gather(node);
  const std::int64_t bound = node.indices.front().evaluate(slots_);
  if (bound <= 0 && node.operation != Operation::sum) {
    fail(node.column, "there is nothing to take the largest or smallest of: the bound is " +
                          std::to_string(bound));
  }
  const auto turns = static_cast<std::uint64_t>(std::max<std::int64_t>(bound, 0));
  const std::uint64_t parts = (turns + kTurnsOfThread - 1) / kTurnsOfThread;
  if (parts <= 1) return reduce<Number>(node, 0, bound);
  std::vector<Number> results(parts);
  const auto take = [&](Evaluation& own, std::uint64_t part) {
    const auto begin = static_cast<std::int64_t>(part * kTurnsOfThread);
    const auto length = static_cast<std::int64_t>(kTurnsOfThread);
    results[part] = own.reduce<Number>(node, begin, std::min(bound, begin + length));
  };
  // The same parts for any number of threads, so that rounding does not depend on it.
  in_parallel(parts, take);
  Reduction<Number> all(node.operation);
  for (const Number result : results) all.add(result);
  return all.result();
}

/// Evaluates the turns `begin` to `end` - 1 of a loop.
template <typename Number>
Number Definition::Evaluation::reduce(const Node& node, std::int64_t begin, std::int64_t end) {
  Reduction<Number> reduction(node.operation);
  std::int64_t i = begin;
  std::array<Number, kColumn> several = {};
  while (node.operations_per_turn > 0 && i < end) {
    const auto turns = std::min<std::size_t>(kColumn, static_cast<std::size_t>(end - i));
    const std::span<Number> column = std::span(several).first(turns);
    // An error is found again, and reported, when the turns are evaluated one after the other.
    if (!find_column(node.operands.front(), node.slot, i, column)) break;
    if (!budget_.spend(turns * node.operations_per_turn)) break;
    for (const Number x : column) reduction.add(x);
    i += static_cast<std::int64_t>(turns);
  }
  for (; i < end; ++i) {
    spend(node.column);
    slots_[node.slot] = i;
    reduction.add(value<Number>(node.operands.front()));
  }
  return reduction.result();
}

/// Finds the values of the body of a loop for its turns from `begin`. `slot`: that of the loop's
/// index. Returns false if an element lies outside.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
template <typename Number>
bool Definition::Evaluation::find_column(const Node& node, std::size_t slot, std::int64_t begin,
                                         std::span<Number> values) {
  switch (node.operation) {
    case Operation::element:
      return find_elements(node, slot, begin, values);
    case Operation::variable:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<Number>(node.slot == slot ? begin + static_cast<std::int64_t>(i)
                                                          : slots_[node.slot]);
      }
      return true;
    case Operation::constant:
    case Operation::scalar:
      std::ranges::fill(values, value<Number>(node));
      return true;
    default:
      break;
  }
  if (!find_column(node.operands[0], slot, begin, values)) return false;
  if constexpr (std::is_same_v<Number, Whole>) {
    const bool divides = node.operation == Operation::divide || node.operation == Operation::modulo;
    if (divides && Analysis::is_positive_number(node.operands[1]) &&
        divided(node.operation == Operation::modulo, values, node.operands[1].whole)) {
      return true;
    }
  }
  std::array<Number, kColumn> others;  // NOLINT(*-member-init): those that are read are set.
  const std::span<Number> right = std::span(others).first(values.size());
  if (node.operands.size() == 1) {
    std::ranges::fill(right, Number{0});
  } else if (!find_column(node.operands[1], slot, begin, right)) {
    return false;
  }
  const auto calculate = [&](auto operation) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = calculated(operation, values[i], right[i]);
    }
  };
  // The frequent operations are constants, so that their loops are vectorized.
  switch (node.operation) {
    case Operation::add:
      calculate(std::integral_constant<Operation, Operation::add>());
      break;
    case Operation::subtract:
      calculate(std::integral_constant<Operation, Operation::subtract>());
      break;
    case Operation::multiply:
      calculate(std::integral_constant<Operation, Operation::multiply>());
      break;
    default:
      calculate(node.operation);
  }
  return true;
}

/// Finds the elements that are read in the turns of a loop from `begin`.
template <typename Number>
bool Definition::Evaluation::find_elements(const Node& node, std::size_t slot, std::int64_t begin,
                                           std::span<Number> values) {
  const HostArray& array = *arrays_[node.slot];
  const auto place_at = [&](std::size_t turn) -> std::optional<std::size_t> {
    slots_[slot] = begin + static_cast<std::int64_t>(turn);
    const bool is_gathered = (node.is_even && turn > 0) || gather_inside(node);
    return is_gathered ? place_of(node, array) : std::nullopt;
  };
  if (!node.is_even) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::optional<std::size_t> place = place_at(i);
      if (!place) return false;
      values[i] = element_of<Number>(array, *place);
    }
    return true;
  }
  // Every index grows by a constant, so all lie inside if the first and the last do.
  const std::optional<std::size_t> first = place_at(0);
  const std::optional<std::size_t> last = place_at(values.size() - 1);
  if (!first || !last) return false;
  const auto turns = static_cast<std::ptrdiff_t>(values.size() - 1);
  const auto way = static_cast<std::ptrdiff_t>(*last) - static_cast<std::ptrdiff_t>(*first);
  const std::ptrdiff_t stride = turns == 0 ? 0 : way / turns;
  if (!array.bytes.empty()) {
    read_elements(array.bytes, array.type, *first, stride, values);
    return true;
  }
  if (array.read && stride == 1) {
    std::array<std::uint8_t, sizeof(std::uint64_t)* kColumn> drawn = {};
    const std::size_t size = size_of(array.type);
    array.read(*first * size, std::span(drawn).first(values.size() * size));
    read_elements(drawn, array.type, 0, 1, values);
    return true;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::ptrdiff_t place =
        static_cast<std::ptrdiff_t>(*first) + static_cast<std::ptrdiff_t>(i) * stride;
    values[i] = element_of<Number>(array, static_cast<std::size_t>(place));
  }
  return true;
}

}  // namespace smemtune
