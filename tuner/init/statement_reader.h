#pragma once

#include "tuner/init/host_terms.h"
#include "tuner/init/syntax.h"
#include "tuner/source/kernel_function.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// Thrown for a statement that is not understood: the kernel is not simple.
struct NotSimple {};

/// Reads statements that a kernel and a function of the host have in common.
class Statements {
 public:
  using Kind = Syntax::Kind;

  explicit Statements(const ParsedSource& source) : tokens_(source.tokens()) {}
  virtual ~Statements() = default;

  /// Reads those of a kernel, which stores to what its pointers point to.
  Statements(const ParsedSource& source, const KernelFunction& kernel);
  SingleStore read(const Syntax& body);

 protected:
  static constexpr std::size_t kLongestText = 4000;
  static constexpr std::size_t kMostLoops = 8;

  /// Returns the store that has been read. Throws if there is none.
  SingleStore stored() const;
  virtual void statement(const Syntax& syntax);

  /// Throws if there is something in the block that clang has left out.
  void expect_no_gaps(const Syntax& block) const;
  static void expect_no_value(const CppToken& token);

  /// Reads `if (a) return;` or `if (a) { ... }`, which must contain the store.
  void condition(const Syntax& syntax);

  /// Reads `if (a) sum += b;` in a loop.
  void add_on_condition(TokenRange condition, const Syntax& body);

  /// `for (int counter = first; counter < end; ...)`.
  struct Range {
    std::string counter;
    std::string first;
    std::string end;
    bool by_one = false;     ///< True if each turn adds 1.
    std::string array = {};  ///< If given, `counter` is the name of its elements, one by one.
    /// If given, `counter` goes on from `first` by it, as long as `condition` holds.
    std::string step = {};
    TokenRange condition = {};
  };

  Range range_of(const Syntax& loop);

  /// Reads a loop that adds up, one whose step is the whole grid, or one through elements that a
  /// thread stores.
  void loop(const Syntax& syntax);
  void add_up(const Range& range, const Syntax& body);

  /// A loop of a kernel that goes from the thread's number on by the number of all threads.
  struct GridLoop {
    std::string counter;
    std::string start = {};
    std::string step = {};
    Syntax body = {};  ///< Without the step.
  };

  /// Reads `for (i = thread; i < n; i += threads)` or `while (i < n) { ...; i += threads; }`.
  std::optional<GridLoop> grid_loop_in(const Syntax& syntax);
  virtual bool is_by_all_threads(const GridLoop& loop) const;
  virtual void grid_loop(const GridLoop& loop, const Syntax& condition);

  /// Calls `use` for each element that a statement stores to.
  virtual void for_each_store(const Syntax& syntax,
                              const std::function<void(const Syntax&)>& use) const;

  /// Returns true if the counter of a loop decides which elements it stores to.
  bool chooses(const Syntax& loop) const;

  /// Throws if a loop has other elements of the array that it stores to: those of other turns.
  void expect_one_element(const Syntax& loop) const;

  /// Reads a loop over an index of the array that is stored to.
  void through(const Syntax& loop);
  virtual void walk(const Syntax& syntax) { statement(syntax); }
  void declare(const Syntax& syntax);

  /// Returns the axis for `blockIdx.x * blockDim.x + threadIdx.x`, in any order, also where a
  /// constant stands for the block's size unless that `may_differ_`; another text unchanged.
  std::string thread_or(const std::string& text) const;

  /// Reads `name = a`, `out[i] += a`.
  void assign(const Syntax& syntax);

  /// Returns the variable or the element that an assignment gives a value.
  virtual std::string target_of(const Syntax& left);
  void begin_store(const std::string& target);
  std::string value_of(const std::string& target) const;
  void set(const std::string& target, const std::string& value);

  /// Adds a value to the sum of the loop, or outside of loops to the value of the target.
  void add_to(const std::string& target, const std::string& value);
  void forget(const std::set<std::string>& names);
  Terms terms() const;
  std::string resolved(TokenRange range);

  const CppTokens& tokens_;
  std::optional<std::set<std::string>> pointers_;  ///< Names that may be stored to; null for all.
  std::vector<std::string> types_;                 ///< Template parameters that are types.
  std::set<std::string, std::less<>> unknown_;     ///< Names of values that are not understood.
  /// Values of local names, and of the stored element.
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> added_;  ///< Sums of the loop that is being read.
  std::set<std::string> read_;                ///< Words of that loop's values.
  std::string stored_;                        ///< `out[index]`; empty before the store.
  std::size_t counters_ = 0;                  ///< Loops that have been read.
  int depth_ = 0;                             ///< Depth of loops.
  std::size_t axes_ = 0;                      ///< Loops over the stored array's indices.
  bool may_differ_ = false;  ///< True if constants are not taken for the block's size.
  bool is_done_ = false;     ///< True once the code behind a condition has stored.
  SingleStore store_;
};

}  // namespace smemtune
