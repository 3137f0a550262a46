#pragma once

#include "tuner/core/definition_program.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Operations that may be spent. Copies, each used by one thread, share them.
class OperationBudget {
 public:
  /// Sets the number of operations that may be spent from now on. REQUIRES: no copy is in use.
  void allow(std::uint64_t operations) {
    spent_before_ += spent();
    allowed_ = operations;
    taken_ = 0;
    pool_->store(operations);
  }

  std::uint64_t allowed() const { return allowed_; }
  /// Returns the operations that may still be spent.
  std::uint64_t left() const { return pool_->load() + taken_; }
  /// Returns the operations spent since the last allow().
  std::uint64_t spent() const { return allowed_ - left(); }
  /// Returns the operations spent before the last allow().
  std::uint64_t spent_before() const { return spent_before_; }

  /// Spends all of the operations or none of them; returns whether there were so many.
  bool spend(std::uint64_t operations) {
    while (taken_ < operations) {
      if (!take()) return false;
    }
    taken_ -= operations;
    return true;
  }

  /// Gives back what this copy took and did not spend.
  void give_back() { *pool_ += std::exchange(taken_, 0); }

 private:
  /// Takes operations from those that all copies share; returns whether there were any.
  bool take() {
    constexpr std::uint64_t kTaken = 4096;
    std::uint64_t left = pool_->load();
    while (!pool_->compare_exchange_weak(left, left - std::min(left, kTaken))) {
    }
    taken_ += std::min(left, kTaken);
    return left > 0;
  }

  std::shared_ptr<std::atomic<std::uint64_t>> pool_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint64_t taken_ = 0;  ///< Taken from the pool, and not spent.
  std::uint64_t allowed_ = 0;
  std::uint64_t spent_before_ = 0;
};

/// Finds, before a program is evaluated, which of its parts are whole numbers, which can be computed
/// for several indices at once, and which loops lie inside others.
class Definition::Analysis {
 public:
  /// Sets what the program's nodes leave to be set before evaluation. `types`: those of
  /// Program::arrays.
  Analysis(Program& program, std::vector<ScalarType> types, ScalarType output_type);

  /// Returns the number of loops that have an `inner_loop`.
  std::size_t inner_loops() const { return inner_loops_; }
  /// Returns the operations of each element where elements that differ in the last index only can
  /// be evaluated together; otherwise 0.
  std::uint64_t operations_of_row() const { return operations_of_row_; }

  /// Returns true for a number that a whole number may be divided by.
  static bool is_positive_number(const Node& node);

 private:
  using Operation = expressions::Operation;

  static bool compare(Operation comparison, const Node& left, const Node& right);
  static void choose(Node& node);
  void find_whole(Node& node) const;
  void find_columns(Node& node) const;
  void find_inner_loops(Node& node, bool is_inside);
  void find_row_operations(Program& program);
  static std::set<std::size_t> slots_read(const Node& node);
  static void find_even(Node& node, std::size_t slot);
  bool gathers_integers(const Node& node) const;
  std::optional<std::uint64_t> operations_of_column(const Node& node) const;

  std::vector<ScalarType> types_;
  std::size_t inner_loops_ = 0;
  std::uint64_t operations_of_row_ = 0;
};

/// Evaluates single elements, or rows of them, of a definition's output. A copy, for a thread of its
/// own, shares the operations that may be spent.
class Definition::Evaluation {
 public:
  struct Element {
    double value = 0;
    std::uint64_t bits = 0;  ///< Set for an element that is evaluated in integers.
  };
  using Work = std::function<void(Evaluation& own, std::uint64_t i)>;

  /// Throws ExpressionError if an array or a scalar lacks or does not fit.
  Evaluation(const Program& program, const std::map<std::string, HostArray>& arrays,
             const std::map<std::string, double>& scalars, unsigned threads);

  const std::vector<std::int64_t>& output_shape() const { return output_shape_; }
  ScalarType output_type() const { return output_type_; }
  /// Returns the number of the output's elements.
  std::uint64_t elements() const;
  /// Returns true if the output is evaluated in integers.
  bool is_whole() const { return program_.root.is_whole; }

  OperationBudget& budget() { return budget_; }
  /// Sets how many threads may be used from now on.
  void use_threads(unsigned threads) { threads_ = threads; }

  /// Calls work(evaluation, i) for each i below `count`, from several threads, each of which has an
  /// evaluation of its own, without further threads. Throws what the lowest i throws of those that
  /// throw.
  void in_parallel(std::uint64_t count, const Work& work);

  Element element_at(std::int64_t number);

  /// Estimates the operations that an element costs, without spending them.
  double estimated_cost(std::int64_t number) {
    set_indices(number);
    return cost(program_.root);
  }

  /// Returns the value of an element, unless it is known beforehand to cost more than is left.
  Element affordable_element(std::int64_t number);

  /// Finds several elements from `begin` on that differ in the last index only, all before `end`.
  /// Returns how many; 0 if they have to be evaluated one after the other.
  std::size_t find_row(std::uint64_t begin, std::uint64_t end, HostArray& output);

  [[noreturn]] void fail_too_many() const;

 private:
  using Operation = expressions::Operation;

  /// The number of turns of a loop, or of elements of a row, that are evaluated at once.
  static constexpr std::size_t kColumn = 64;

  /// The last value of a loop inside another one.
  struct InnerLoop {
    bool is_known = false;
    std::vector<std::int64_t> at = {};  ///< The outer slots' values.
    double number = 0;
    Whole whole = 0;  ///< Its value if it is evaluated in integers.
  };

  const HostArray& checked(const std::map<std::string, HostArray>& arrays, const std::string& name,
                           std::size_t dimensions) const;
  [[noreturn]] void fail(std::size_t column, const std::string& message) const;
  [[noreturn]] void fail_too_many(std::size_t column) const;
  [[noreturn]] void fail_outside(const Node& node, const HostArray& array) const;
  void require_divisor(const Node& node, Whole divisor) const;

  double cost(const Node& node);
  double cost(const Node& node, std::size_t slot, double& once);
  static bool depends_on(const Node& loop, std::size_t slot);
  void spend(std::size_t column);

  void set_indices(std::int64_t number);
  void gather(const Node& node);
  bool gather_inside(const Node& node);
  std::optional<std::size_t> place_of(const Node& node, const HostArray& array) const;
  Element as_element(Whole value) const;
  bool is_true(const Node& node);
  bool compare(const Node& node);

  template <typename Number>
  Number value(const Node& node);
  template <typename Number>
  Number element(const Node& node);
  template <typename Number>
  Number loop(const Node& node);
  template <typename Number>
  Number evaluated(const Node& node);
  template <typename Number>
  Number reduce(const Node& node, std::int64_t begin, std::int64_t end);
  template <typename Number>
  bool find_column(const Node& node, std::size_t slot, std::int64_t begin,
                   std::span<Number> values);
  template <typename Number>
  bool find_elements(const Node& node, std::size_t slot, std::int64_t begin,
                     std::span<Number> values);

  Program program_;  ///< The program with the results of its Analysis.
  std::vector<InnerLoop> inner_loops_;
  std::vector<std::int64_t> slots_;  ///< Values of the indices.
  std::vector<const HostArray*> arrays_;
  std::vector<double> scalars_;
  std::vector<std::int64_t> output_shape_;
  ScalarType output_type_ = ScalarType::float64;
  std::uint64_t operations_of_row_ = 0;  ///< Analysis::operations_of_row().
  unsigned threads_;                     ///< Threads that this evaluation may use.
  OperationBudget budget_;
};

}  // namespace smemtune
