#include "tuner/core/definition.h"

#include "tuner/core/compensated_sum.h"
#include "tuner/core/definition_program.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/large_vector.h"
#include "tuner/core/sample.h"
#include "tuner/core/tokens.h"
#include "tuner/core/value.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <thread>
#include <type_traits>
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

/// Computes an operation in double precision. Operations with one operand use `left`.
double calculated(DefinitionOperation operation, double left, double right) {
  using Operation = DefinitionOperation;
  switch (operation) {
    case Operation::negate:
      return -left;
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
    case Operation::sine:
      return std::sin(left);
    case Operation::cosine:
      return std::cos(left);
    case Operation::tangent:
      return std::tan(left);
    case Operation::hyperbolic_tangent:
      return std::tanh(left);
    case Operation::error_function:
      return std::erf(left);
    case Operation::power:
      return std::pow(left, right);
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
    case Operation::minimum:
      return std::min(left, right);
    default:
      return std::max(left, right);
  }
}

/// Returns true if both numbers have 64 bits and are not negative: dividing them takes a fraction of
/// the time.
bool are_short(Whole left, Whole right) {
  return (static_cast<UnsignedWhole>(left | right) >> 64) == 0;
}

Whole quotient(Whole left, Whole right) {
  if (!are_short(left, right)) return left / right;
  return static_cast<std::uint64_t>(left) / static_cast<std::uint64_t>(right);
}

Whole remainder(Whole left, Whole right) {
  if (!are_short(left, right)) return left % right;
  return static_cast<std::uint64_t>(left) % static_cast<std::uint64_t>(right);
}

/// Computes an operation modulo 2^128. REQUIRES: `right` is not 0 for a division.
Whole calculated(DefinitionOperation operation, Whole left, Whole right) {
  using Operation = DefinitionOperation;
  const auto a = static_cast<UnsignedWhole>(left);
  const auto b = static_cast<UnsignedWhole>(right);
  switch (operation) {
    case Operation::negate:
      return static_cast<Whole>(-a);
    case Operation::absolute:
      return left < 0 ? static_cast<Whole>(-a) : left;
    case Operation::round_down:
      return left;
    case Operation::add:
      return static_cast<Whole>(a + b);
    case Operation::subtract:
      return static_cast<Whole>(a - b);
    case Operation::multiply:
      return static_cast<Whole>(a * b);
    case Operation::divide:
      return quotient(left, right) -
             (remainder(left, right) != 0 && (left < 0) != (right < 0) ? 1 : 0);
    case Operation::remainder:
      return remainder(left, right);
    case Operation::minimum:
      return std::min(left, right);
    default:
      return std::max(left, right);
  }
}

/// Divides the numbers by one, or takes their remainders, without a division for each if all have 32
/// bits and are not negative; else returns false and leaves them. The reciprocal with 64 binary
/// digits, rounded up, gives exact quotients of such numbers (Lemire, Kaser, Kurz 2019).
bool divided(bool takes_remainders, std::span<Whole> numbers, Whole divisor) {
  UnsignedWhole bits = static_cast<UnsignedWhole>(divisor);
  for (const Whole number : numbers) bits |= static_cast<UnsignedWhole>(number);
  if ((bits >> 32) != 0 || divisor < 2) return false;
  const auto by = static_cast<std::uint64_t>(divisor);
  const std::uint64_t reciprocal = UINT64_MAX / by + 1;
  for (Whole& number : numbers) {
    const auto from = static_cast<std::uint64_t>(number);
    const auto quotient =
        static_cast<std::uint64_t>((static_cast<UnsignedWhole>(reciprocal) * from) >> 64);
    number = static_cast<Whole>(takes_remainders ? from - quotient * by : quotient);
  }
  return true;
}

// Turns of a loop that are evaluated at once.
constexpr std::size_t kColumn = 64;

/// Returns how many of `count` elements a thread evaluates at once: some blocks for each thread, of a
/// single element where there are few.
std::uint64_t block_size(std::uint64_t count) {
  return std::clamp<std::uint64_t>(count / 1024, 1, 256);
}

// Turns of a loop that a thread evaluates at once.
constexpr std::uint64_t kTurnsOfThread = std::uint64_t{1} << 18;
// So few operations take less time than starting threads.
constexpr double kShort = 1'000'000;
constexpr double kLeastInBatch = 16;  // For so many threads even where elements are dear.
constexpr double kMostInBatch = 262'144;

bool holds(DefinitionOperation comparison, const auto& left, const auto& right) {
  using Operation = DefinitionOperation;
  switch (comparison) {
    case Operation::less:
      return left < right;
    case Operation::less_equal:
      return left <= right;
    case Operation::greater:
      return left > right;
    case Operation::greater_equal:
      return left >= right;
    case Operation::equal:
      return left == right;
    default:
      return left != right;
  }
}

}  // namespace

/// Evaluates a program for the indices in its slots. A copy shares the operations that may be
/// spent.
class Definition::Evaluation {
  struct Element {
    double value = 0;
    std::uint64_t bits = 0;  ///< Only of an element that is evaluated in integers.
  };

 public:
  Evaluation(const Program& program, const std::map<std::string, HostArray>& arrays,
             const std::map<std::string, double>& scalars, unsigned threads)
      : program_(program), slots_(program.slots), threads_(threads) {
    for (std::size_t i = 0; i < program.arrays.size(); ++i) {
      arrays_.push_back(&checked(arrays, program.arrays[i], program.dimensions[i]));
    }
    for (const std::string& name : program.scalars) {
      const auto found = scalars.find(name);
      if (found == scalars.end()) fail(1, "the scalar " + in_quotes(name) + " has no value");
      scalars_.push_back(found->second);
    }
    const HostArray& output = checked(arrays, program.output, program.output_dimensions);
    output_shape_ = output.shape;
    output_type_ = output.type;
    choose(program_.root);
    if (!is_floating(output_type_)) find_whole(program_.root);
    find_columns(program_.root);
    find_inner_loops(program_.root, false);
    find_row_operations();
  }

  HostArray output(std::uint64_t operations) {
    HostArray output = {.shape = output_shape_, .elements = {}, .type = output_type_};
    const std::uint64_t count = elements();
    allow(operations);
    if (count > operations) fail_too_many(program_.root.column);
    output.elements = large_vector<double>(count);
    if (program_.root.is_whole) output.bits = large_vector<std::uint64_t>(count);
    const std::uint64_t size = block_size(count);
    in_parallel((count + size - 1) / size, [&](Evaluation& own, std::uint64_t block) {
      const std::uint64_t end = std::min(count, size * (block + 1));
      for (std::uint64_t i = size * block; i < end;) {
        if (const std::size_t several = own.find_row(i, end, output); several > 0) {
          i += several;
          continue;
        }
        const auto [element, bits] = own.element_at(static_cast<std::int64_t>(i));
        output.elements[i] = element;
        if (!output.bits.empty()) output.bits[i] = bits;
        ++i;
      }
    });
    return output;
  }

  DefinedElements some(const DefinitionEffort& effort, std::uint64_t seed) {
    constexpr std::uint64_t kMostSampled = std::uint64_t{1} << 18;
    DefinedElements found = probe(effort, seed);
    found.operations = spent_;
    if (found.at.empty()) return found;
    if (found.at.size() == elements() && std::ranges::is_sorted(found.at)) {
      found.at.clear();
      return found;
    }
    const double mean = static_cast<double>(spent_) / static_cast<double>(found.at.size());
    const double expected = mean * static_cast<double>(elements());
    if (expected <= static_cast<double>(effort.whole)) {
      const unsigned threads = std::exchange(threads_, expected < kShort ? 1 : threads_);
      if (auto all = whole(effort.whole)) return std::move(*all);
      threads_ = threads;
    }
    const auto bought = [mean](std::uint64_t operations) {
      return static_cast<std::uint64_t>(static_cast<double>(operations) / mean);
    };
    const std::uint64_t wanted = std::min(
        kMostSampled,
        std::max(bought(effort.sample), std::min(bought(effort.whole), effort.least_elements)));
    if (wanted > found.at.size()) {
      const double batch = static_cast<double>(effort.sample) / mean / 2;
      sample(spread_sample(output_shape_, wanted, seed), effort,
             static_cast<std::size_t>(std::clamp(batch, kLeastInBatch, kMostInBatch)), found);
    }
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

  /// Sets the number of operations that may be spent from now on.
  void allow(std::uint64_t operations) {
    spent_ += spent();
    allowed_ = operations;
    operations_left_ = 0;
    pool_->store(operations);
  }

  /// Returns the operations spent since the last allow().
  std::uint64_t spent() const { return allowed_ - left(); }
  std::uint64_t left() const { return pool_->load() + operations_left_; }

  /// Calls work(evaluation, i) for each i below `count`, from several threads, each of which has an
  /// evaluation of its own, without further threads. Throws what the lowest i throws of those that
  /// throw.
  void in_parallel(std::uint64_t count, const auto& work) {
    const auto threads = static_cast<unsigned>(std::min<std::uint64_t>(threads_, count));
    if (threads > 1) threads_ = 1;
    *pool_ += std::exchange(operations_left_, 0);  // Else every copy could spend them again.
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
      *pool_ += std::exchange(own.operations_left_, 0);
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

  /// Evaluates a few elements, which show what one costs: the first, and others for which the
  /// sample's operations should suffice. Throws TooManyOperations if the first costs too many.
  DefinedElements probe(const DefinitionEffort& effort, std::uint64_t seed) {
    constexpr std::size_t kProbed = 16;
    DefinedElements found;
    const std::vector<std::int64_t> all = spread_sample(output_shape_, kProbed, seed);
    if (all.empty()) return found;
    allow(effort.one_element);
    add(all.front(), affordable_element(all.front()), found);
    allow(effort.whole);
    if (spent_ >= effort.sample) return found;
    const std::uint64_t further =
        std::min<std::uint64_t>(all.size() - 1, effort.sample / std::max<std::uint64_t>(spent_, 1));
    const bool is_short = static_cast<double>(further * spent_) < kShort;
    const unsigned threads = std::exchange(threads_, is_short ? 1 : threads_);
    add_batch(std::span(all).subspan(1, further), found);
    threads_ = threads;
    allow(effort.whole);
    return found;
  }

  /// Evaluates all elements; nullopt if that needs more operations.
  std::optional<DefinedElements> whole(std::uint64_t operations) {
    try {
      HostArray all = output(operations);
      allow(0);
      return DefinedElements{.at = {},
                             .values = std::move(all.elements),
                             .bits = std::move(all.bits),
                             .operations = spent_};
    } catch (const TooManyOperations&) {
      return std::nullopt;
    }
  }

  /// Replaces `found` by these elements, or as many of them as the effort allows.
  void sample(const std::vector<std::int64_t>& all, const DefinitionEffort& effort,
              std::size_t batch, DefinedElements& found) {
    found = DefinedElements();
    allow(std::max(effort.whole, effort.sample));
    for (std::size_t begin = 0; begin < all.size(); begin += batch) {
      const bool is_enough = found.at.size() >= effort.least_elements && spent() >= effort.sample;
      if (is_enough ||
          !add_batch(std::span(all).subspan(begin).first(std::min(batch, all.size() - begin)),
                     found)) {
        break;
      }
    }
    allow(0);
  }

  /// Returns the places of a batch, those of each part in the order of the elements' last index:
  /// sums along columns then find what the sums before them have read in the caches.
  std::vector<std::size_t> by_last_index(std::span<const std::int64_t> batch) {
    constexpr std::size_t kPart = std::size_t{1} << 14;
    std::vector<std::size_t> order(batch.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (output_shape_.empty()) return order;
    in_parallel((batch.size() + kPart - 1) / kPart, [&](Evaluation&, std::uint64_t part) {
      const auto begin = order.begin() + static_cast<std::ptrdiff_t>(part * kPart);
      const auto end = std::min(order.end() - begin, static_cast<std::ptrdiff_t>(kPart));
      std::ranges::stable_sort(begin, begin + end, {},
                               [&](std::size_t i) { return batch[i] % output_shape_.back(); });
    });
    return order;
  }

  /// Adds elements until one costs more than may be spent. Returns false then.
  bool add_batch(std::span<const std::int64_t> batch, DefinedElements& found) {
    std::vector<std::optional<Element>> values(batch.size());
    const std::vector<std::size_t> order = by_last_index(batch);
    const std::size_t block = block_size(batch.size());
    try {
      in_parallel((batch.size() + block - 1) / block, [&](Evaluation& own, std::uint64_t number) {
        for (std::size_t i = block * number; i < std::min(batch.size(), block * (number + 1));
             ++i) {
          values[order[i]] = own.affordable_element(batch[order[i]]);
        }
      });
    } catch (const TooManyOperations&) {  // Some have no value then.
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!values[i]) {
        if (found.at.empty()) fail_too_many(program_.root.column);
        return false;
      }
      add(batch[i], *values[i], found);
    }
    return true;
  }

  /// Estimates the number of operations without spending them: every loop's body is assumed to cost
  /// what it costs for the index 0, and operands that may not be needed are not counted.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  double cost(const Node& node) {
    double once = 0;
    return cost(node, Node::kNoSlot, once) + once;
  }

  /// Returns what each turn of the loop around a node costs, whose index has the slot; adds to
  /// `once` what all turns cost together.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  double cost(const Node& node, std::size_t slot, double& once) {
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

  static bool depends_on(const Node& loop, std::size_t slot) {
    return std::ranges::find(loop.outer_slots, slot) != loop.outer_slots.end();
  }

  /// Returns the value of an element, unless it is known beforehand to cost more than is left.
  Element affordable_element(std::int64_t number) {
    set_indices(number);
    if (cost(program_.root) > static_cast<double>(left())) fail_too_many(program_.root.column);
    return element_at(number);
  }

  void set_indices(std::int64_t number) {
    for (std::size_t d = output_shape_.size(); d-- > 0;) {
      slots_[d] = number % output_shape_[d];
      number /= output_shape_[d];
    }
  }

  /// Finds several elements from `begin` on that differ in the last index only, all before `end`.
  /// Returns how many; 0 if they have to be evaluated one after the other.
  std::size_t find_row(std::uint64_t begin, std::uint64_t end, HostArray& output) {
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
    if (!is_inside || !spend_if_left(several * operations_of_row_)) return 0;
    for (std::size_t i = 0; program_.root.is_whole && i < several; ++i) {
      const Element element = as_element(whole[i]);
      row[i] = element.value;
      output.bits[begin + i] = element.bits;
    }
    return several;
  }

  Element element_at(std::int64_t number) {
    set_indices(number);
    spend(program_.root.column);
    if (!program_.root.is_whole) return {.value = value<double>(program_.root)};
    return as_element(value<Whole>(program_.root));
  }

  Element as_element(Whole value) const {
    const std::uint64_t bits = bits_of(value, output_type_);
    return {.value = static_cast<double>(whole_of(bits, output_type_)), .bits = bits};
  }

  void add(std::int64_t number, const Element& element, DefinedElements& found) const {
    found.at.push_back(number);
    found.values.push_back(element.value);
    if (program_.root.is_whole) found.bits.push_back(element.bits);
  }

  /// Replaces comparisons of numbers, and conditionals whose condition is a number, by what they
  /// give.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  void choose(Node& node) {
    for (Node& operand : node.operands) choose(operand);
    const auto is_number = [](const Node& one) { return one.operation == Operation::number; };
    if (is_comparison(node.operation) && std::ranges::all_of(node.operands, is_number)) {
      node.whole = compare(node) ? 1 : 0;
      node.number = static_cast<double>(node.whole);
      node.is_whole = true;
      node.operation = Operation::number;
      node.operands.clear();
    } else if (node.operation == Operation::conditional && is_number(node.operands.front())) {
      Node chosen = std::move(node.operands[is_true(node.operands.front()) ? 1 : 2]);
      node = std::move(chosen);
    }
  }

  /// Finds which parts of an integer output's definition are whole numbers.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  void find_whole(Node& node) const {
    for (Node& operand : node.operands) find_whole(operand);
    const auto are_whole = [&node](std::size_t first) {
      return std::all_of(node.operands.begin() + static_cast<std::ptrdiff_t>(first),
                         node.operands.end(), [](const Node& one) { return one.is_whole; });
    };
    switch (node.operation) {
      case Operation::number:
        return;
      case Operation::index:
      case Operation::logical_not:
      case Operation::logical_and:
      case Operation::logical_or:
        node.is_whole = true;
        return;
      case Operation::scalar:
      case Operation::square_root:
      case Operation::exponential:
      case Operation::logarithm:
      case Operation::sine:
      case Operation::cosine:
      case Operation::tangent:
      case Operation::hyperbolic_tangent:
      case Operation::error_function:
      case Operation::power:
      case Operation::divide:
        return;
      case Operation::element:
        node.is_whole = !is_floating(arrays_[node.slot]->type);
        return;
      case Operation::round_down: {
        Node& rounded = node.operands.front();
        const auto whole = [](const Node& one) { return one.is_whole; };
        if (rounded.operation == Operation::divide) {
          rounded.is_whole = std::all_of(rounded.operands.begin(), rounded.operands.end(), whole);
        }
        break;
      }
      default:
        break;
    }
    const bool is_choice = node.operation == Operation::conditional;
    node.is_whole = is_comparison(node.operation) || are_whole(is_choice ? 1 : 0);
  }

  /// Finds the loops that can be evaluated by columns.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  void find_columns(Node& node) const {
    for (Node& operand : node.operands) find_columns(operand);
    if (node.operation < Operation::sum) return;
    const std::optional<std::uint64_t> body = operations_of_column(node.operands.front());
    node.operations_per_turn = body ? 1 + *body : 0;
    if (body) find_even(node.operands.front(), node.slot);
  }

  /// Numbers the loops that lie inside others, and finds what their values depend on.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  void find_inner_loops(Node& node, bool is_inside) {
    const bool is_loop = node.operation >= Operation::sum;
    if (is_loop && is_inside) {
      const std::set<std::size_t> read = slots_read(node);
      node.outer_slots.assign(read.begin(), read.end());
      node.inner_loop = inner_loops_.size();
      inner_loops_.emplace_back();
    }
    for (Node& operand : node.operands) find_inner_loops(operand, is_inside || is_loop);
  }

  /// Returns the slots, set outside of the node, that its value depends on.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  static std::set<std::size_t> slots_read(const Node& node) {
    std::set<std::size_t> read;
    if (node.operation == Operation::index) read.insert(node.slot);
    for (const Expression& index : node.indices) {
      for (const std::size_t slot : index.variables()) read.insert(slot);
    }
    for (const std::size_t slot : node.index_slots) {
      if (slot != Node::kNoSlot) read.insert(slot);
    }
    for (const Node& operand : node.operands) read.merge(slots_read(operand));
    for (const std::size_t slot : node.gathered_slots) read.erase(slot);
    for (const Node& gathered : node.gathered) read.merge(slots_read(gathered));
    if (node.operation >= Operation::sum) read.erase(node.slot);
    return read;
  }

  /// Finds out whether elements that differ in the last index only can be evaluated together.
  void find_row_operations() {
    if (output_shape_.empty()) return;
    const std::optional<std::uint64_t> body = operations_of_column(program_.root);
    if (!body) return;
    operations_of_row_ = 1 + *body;
    find_even(program_.root, output_shape_.size() - 1);
  }

  /// Finds the elements whose indices grow by constants with the index in the slot.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  static void find_even(Node& node, std::size_t slot) {
    for (Node& operand : node.operands) find_even(operand, slot);
    node.is_even = true;
    for (std::size_t d = 0; d < node.indices.size(); ++d) {
      const bool is_slot = node.index_slots[d] != Node::kNoSlot;
      node.is_even = node.is_even && (is_slot || node.indices[d].is_affine_in(slot));
    }
    node.is_even = node.is_even && std::ranges::none_of(node.gathered, [slot](const Node& one) {
                     return slots_read(one).contains(slot);
                   });
  }

  static bool is_positive_number(const Node& node) {
    return node.operation == Operation::number && node.is_whole && node.whole > 0;
  }

  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  bool gathers_integers(const Node& node) const {
    return std::ranges::all_of(node.gathered, [this](const Node& one) {
      return !is_floating(arrays_[one.slot]->type) && gathers_integers(one);
    });
  }

  /// Returns the operations that value() spends on a node without loops and choices; nullopt for
  /// others, and for what may fail for a reason other than an index.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  std::optional<std::uint64_t> operations_of_column(const Node& node) const {
    const Operation operation = node.operation;
    const bool is_leaf = operation <= Operation::element;
    const bool divides = operation == Operation::divide || operation == Operation::remainder;
    const bool may_divide_by_0 = node.is_whole && divides && !is_positive_number(node.operands[1]);
    if (!gathers_integers(node) || operation == Operation::logical_not ||
        is_comparison(operation) || operation >= Operation::logical_and || may_divide_by_0) {
      return std::nullopt;
    }
    std::uint64_t sum = is_leaf ? 0 : 1;
    for (const Node& operand : node.operands) {
      const std::optional<std::uint64_t> its = operations_of_column(operand);
      if (!its) return std::nullopt;
      sum += *its;
    }
    return sum;
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
    // The output's own contents are needed only if the definition reads them.
    const bool is_read =
        std::find(program_.arrays.begin(), program_.arrays.end(), name) != program_.arrays.end();
    if (is_read && array.size() != static_cast<std::size_t>(count)) {
      fail(1, in_quotes(name) + " holds " + std::to_string(array.size()) + " elements, its shape " +
                  shape_text(array.shape) + " has " + std::to_string(count));
    }
    return array;
  }

  [[noreturn]] void fail(std::size_t column, const std::string& message) const {
    fail_at(program_.text, column, message);
  }

  [[noreturn]] void fail_too_many(std::size_t column) const {
    try {
      fail(column, "more than " + std::to_string(allowed_) + " operations are needed");
    } catch (const ExpressionError& error) {
      throw TooManyOperations(error.what());
    }
  }

  void spend(std::size_t column) {
    if (!spend_if_left(1)) fail_too_many(column);
  }

  /// Spends all of the operations or none of them; returns whether there were so many.
  bool spend_if_left(std::uint64_t operations) {
    while (operations_left_ < operations) {
      if (!take_operations()) return false;
    }
    operations_left_ -= operations;
    return true;
  }

  /// Takes operations from those that all threads share; returns whether there were any.
  bool take_operations() {
    constexpr std::uint64_t kTaken = 4096;
    std::uint64_t left = pool_->load();
    while (!pool_->compare_exchange_weak(left, left - std::min(left, kTaken))) {
    }
    operations_left_ += std::min(left, kTaken);
    return left > 0;
  }

  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  template <typename Number>
  Number value(const Node& node) {
    switch (node.operation) {
      case Operation::number:
        if constexpr (std::is_same_v<Number, Whole>) return node.whole;
        return static_cast<Number>(node.number);
      case Operation::index:
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
  bool is_true(const Node& node) {
    return node.is_whole ? value<Whole>(node) != 0 : value<double>(node) != 0;
  }

  bool compare(const Node& node) {
    const Node& left = node.operands[0];
    const Node& right = node.operands[1];
    if (left.is_whole && right.is_whole) {
      const Whole first = value<Whole>(left);
      return holds(node.operation, first, value<Whole>(right));
    }
    const double first = value<double>(left);
    return holds(node.operation, first, value<double>(right));
  }

  void require_divisor(const Node& node, Whole divisor) const {
    const bool divides =
        node.operation == Operation::divide || node.operation == Operation::remainder;
    if (divides && divisor == 0) fail(node.column, "a whole number is divided by 0");
  }

  /// Stores the elements that the indices or the bound of a node read.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  void gather(const Node& node) {
    for (std::size_t i = 0; i < node.gathered.size(); ++i) {
      const Node& one = node.gathered[i];
      if (is_floating(arrays_[one.slot]->type)) {
        fail(one.column, in_quotes(program_.arrays[one.slot]) +
                             " has fractions, where a whole number is needed");
      }
      slots_[node.gathered_slots[i]] = static_cast<std::int64_t>(element<Whole>(one));
    }
  }

  /// Stores the elements that the indices of a node read; returns false if one lies outside.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
  bool gather_inside(const Node& node) {
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
  Number element(const Node& node) {
    gather(node);
    const HostArray& array = *arrays_[node.slot];
    const std::optional<std::size_t> place = place_of(node, array);
    if (!place) fail_outside(node, array);
    return element_of<Number>(array, *place);
  }

  /// Returns where the element lies that the indices select; nullopt if that is outside.
  std::optional<std::size_t> place_of(const Node& node, const HostArray& array) const {
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

  template <typename Number>
  static Number element_of(const HostArray& array, std::size_t place) {
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

  template <typename Number>
  static Number number_of(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t place) {
    if constexpr (std::is_same_v<Number, Whole>) return whole_of(bits_at(bytes, type, place), type);
    return static_cast<Number>(smemtune::element_at(bytes, type, place));
  }

  [[noreturn]] void fail_outside(const Node& node, const HostArray& array) const {
    std::vector<std::int64_t> indices;
    for (const Expression& index : node.indices) indices.push_back(index.evaluate(slots_));
    fail(node.column, program_.arrays[node.slot] + shape_text(indices) +
                          " lies outside, the shape is " + shape_text(array.shape));
  }

  template <typename Number>
  Number loop(const Node& node) {
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
  Number evaluated(const Node& node) {
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

  /// Reduces the values of a loop's body to their sum, their maximum or their minimum.
  template <typename Number>
  class Reduction {
   public:
    explicit Reduction(Operation operation) : operation_(operation) {}

    void add(Number x) {
      if (operation_ == Operation::sum) {
        if constexpr (std::is_same_v<Number, double>) {
          sum_.add(x);
        } else {
          result_ = calculated(Operation::add, result_, x);
        }
      } else if (is_first_ || is_nan(x) ||
                 (operation_ == Operation::largest ? x > result_ : x < result_)) {
        result_ = x;
      }
      is_first_ = false;
    }

    Number result() const {
      if constexpr (std::is_same_v<Number, double>) {
        if (operation_ == Operation::sum) return sum_.total();
      }
      return result_;
    }

   private:
    Operation operation_;
    bool is_first_ = true;
    Number result_ = 0;
    CompensatedSum sum_;  ///< The result of a sum in double precision.
  };

  /// Evaluates the turns `begin` to `end` - 1 of a loop.
  template <typename Number>
  Number reduce(const Node& node, std::int64_t begin, std::int64_t end) {
    Reduction<Number> reduction(node.operation);
    std::int64_t i = begin;
    std::array<Number, kColumn> several = {};
    while (node.operations_per_turn > 0 && i < end) {
      const auto turns = std::min<std::size_t>(kColumn, static_cast<std::size_t>(end - i));
      const std::span<Number> column = std::span(several).first(turns);
      // An error is found again, and reported, when the turns are evaluated one after the other.
      if (!find_column(node.operands.front(), node.slot, i, column)) break;
      if (!spend_if_left(turns * node.operations_per_turn)) break;
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
  bool find_column(const Node& node, std::size_t slot, std::int64_t begin,
                   std::span<Number> values) {
    switch (node.operation) {
      case Operation::element:
        return find_elements(node, slot, begin, values);
      case Operation::index:
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<Number>(node.slot == slot ? begin + static_cast<std::int64_t>(i)
                                                            : slots_[node.slot]);
        }
        return true;
      case Operation::number:
      case Operation::scalar:
        std::ranges::fill(values, value<Number>(node));
        return true;
      default:
        break;
    }
    if (!find_column(node.operands[0], slot, begin, values)) return false;
    if constexpr (std::is_same_v<Number, Whole>) {
      const bool divides =
          node.operation == Operation::divide || node.operation == Operation::remainder;
      if (divides && is_positive_number(node.operands[1]) &&
          divided(node.operation == Operation::remainder, values, node.operands[1].whole)) {
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
  bool find_elements(const Node& node, std::size_t slot, std::int64_t begin,
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
    if constexpr (std::is_same_v<Number, double>) {
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
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::ptrdiff_t place =
          static_cast<std::ptrdiff_t>(*first) + static_cast<std::ptrdiff_t>(i) * stride;
      values[i] = element_of<Number>(array, static_cast<std::size_t>(place));
    }
    return true;
  }

  static bool is_nan(double x) { return std::isnan(x); }
  static bool is_nan(Whole /*x*/) { return false; }

  /// The last value of a loop inside another one.
  struct InnerLoop {
    bool is_known = false;
    std::vector<std::int64_t> at = {};  ///< The outer slots' values.
    double number = 0;
    Whole whole = 0;  ///< Its value if it is evaluated in integers.
  };

  Program program_;  ///< The program with the results of find_whole().
  std::vector<InnerLoop> inner_loops_;
  std::vector<std::int64_t> slots_;
  std::vector<const HostArray*> arrays_;
  std::vector<double> scalars_;
  std::vector<std::int64_t> output_shape_;
  ScalarType output_type_ = ScalarType::float64;
  std::uint64_t operations_of_row_ = 0;  ///< Of each element that find_row() finds; 0: none.
  unsigned threads_;                     ///< Threads that this evaluation may use.
  std::shared_ptr<std::atomic<std::uint64_t>> pool_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);  ///< Shared by the threads' evaluations.
  std::uint64_t operations_left_ = 0;                   ///< Taken from the pool.
  std::uint64_t allowed_ = 0;
  std::uint64_t spent_ = 0;  ///< Operations spent before the last allow().
};

const std::string& Definition::output() const { return program_->output; }

const std::vector<std::string>& Definition::arrays() const { return program_->arrays; }

std::size_t HostArray::size() const {
  if (!read) return bytes.empty() ? elements.size() : bytes.size() / size_of(type);
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

HostArray HostArray::in_numbers() const {
  if (!has_bytes()) return *this;
  std::vector<std::uint8_t> drawn;
  if (read) {
    drawn.resize(size() * size_of(type));
    read(0, drawn);
  }
  const std::vector<std::uint8_t>& all = read ? drawn : bytes;
  HostArray numbers = {.shape = shape, .elements = to_doubles(all, type), .type = type};
  if (is_wide_integer(type)) numbers.bits = to_bits(all, type);
  return numbers;
}

HostArray Definition::evaluate(const std::map<std::string, HostArray>& arrays,
                               const std::map<std::string, double>& scalars,
                               std::uint64_t max_operations, unsigned threads) const {
  return Evaluation(*program_, arrays, scalars, threads).output(max_operations);
}

DefinedElements Definition::evaluate_some(const std::map<std::string, HostArray>& arrays,
                                          const std::map<std::string, double>& scalars,
                                          const DefinitionEffort& effort,
                                          std::uint64_t seed) const {
  return Evaluation(*program_, arrays, scalars, effort.threads).some(effort, seed);
}

}  // namespace smemtune
