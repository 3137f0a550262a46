#pragma once

#include "tuner/core/kernel_binding.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace smemtune {

/// An expression with its place in the file.
struct PlacedExpression {
  Expression expression;
  std::string where;
  bool is_real = false;  ///< True if the value is a double: Expression::evaluate_real().
};

/// CUDA C++ text in which values take the place of names: pieces of text and numbers of parameters
/// whose values are printed.
using CppText = std::vector<std::variant<std::string, std::size_t>>;

/// A template argument of an entry, which is printed between < and >: an integer expression, the
/// number of a parameter whose word is printed, a word that is known, or C++: `Tile<M, N>`.
using TemplateArgument = std::variant<PlacedExpression, std::size_t, std::string, CppText>;

/// The compiled form of a LaunchTemplate.
struct CompiledLaunch : LaunchKeys<PlacedExpression> {
  CppText entry;  ///< The entry without the template arguments below.
  std::vector<TemplateArgument> template_arguments;
};

struct CompiledRepeat {
  const Repeat* source = nullptr;
  PlacedExpression times;
  std::size_t slot = 0;  ///< Slot of the counter.
};

struct CompiledArgument : ArgumentKeys<PlacedExpression> {
  const ArgumentTemplate* source = nullptr;
  std::optional<ScalarType> type;
  /// Number of the parameter that names the type, if `type` is not set.
  std::size_t type_parameter = 0;
  std::vector<PlacedExpression> init_numbers;
  std::vector<CompiledArgument> reads;
};

/// A kernel's expressions for one problem and device, and the names that they may use.
struct KernelBinding::Compiled {
  std::string file;
  const KernelTemplate* kernel = nullptr;
  Bindings problem;
  /// True for a problem that is only verified, where sizes may be 0: then buffers have no elements,
  /// and a launch with an empty grid is none.
  bool may_be_empty = false;
  Scope scope;
  Scope launch_scope;                    ///< Names of `scope` and the counters of repetitions.
  std::vector<std::string> bound_names;  ///< Names of the device, the problem and the parameters.
  std::vector<Expression> constraints;
  std::vector<Expression> promising;
  std::vector<CompiledLaunch> launches;
  std::vector<CompiledRepeat> repeats;
  /// Arguments that a launch names or that lie in constant memory.
  std::vector<CompiledArgument> arguments;
  std::map<std::string, PlacedExpression> metrics;
  std::optional<PlacedExpression> expected_time;

  /// Compiles the kernel. Throws InputError naming the file, the JSON pointer and the text, as do
  /// the other functions.
  Compiled(const Space& space, const KernelTemplate& bound, const Problem& its_problem,
           const Device& device);

  [[noreturn]] void fail(const std::string& where, const std::string& message) const;

  /// Returns the element type called `word`, which is the value of `name`.
  ScalarType require_type(const std::string& where, const std::string& name,
                          const std::string& word) const;

  /// Returns the parameters' values, in their order.
  std::vector<std::int64_t> slots(const Configuration& configuration) const;

 private:
  void add_names(const Space& space, const Device& device);
  void add_words(const Space& space);
  PlacedExpression compile(const ExpressionText& text, const Scope& names) const;
  PlacedExpression compile(const ExpressionText& text) const { return compile(text, scope); }
  PlacedExpression compile_real(const ExpressionText& text, const Scope& names) const;
  std::vector<PlacedExpression> compile(const std::vector<ExpressionText>& texts,
                                        const Scope& names) const;
  std::optional<PlacedExpression> compile(const std::optional<ExpressionText>& text,
                                          const Scope& names) const;
  CompiledRepeat compile_repeat(const Repeat& repeat) const;
  void check_swapped(const Repeat& repeat, const std::string& name) const;
  void check_option(const std::string& option) const;
  std::optional<std::size_t> word_parameter(std::string_view name) const;
  const std::string* problem_word(std::string_view name) const;
  TemplateArgument compile_template_argument(const ExpressionText& text) const;
  CppText compile_cpp(const std::string& text) const;
  CompiledLaunch compile_launch(std::size_t number) const;
  std::vector<std::string> launch_arguments(std::size_t number) const;
  CompiledArgument compile_argument(const ArgumentTemplate& argument) const;
  void find_type(const ArgumentTemplate& argument, CompiledArgument& compiled) const;
  bool may_be_floating(const CompiledArgument& compiled) const;
  [[noreturn]] void fail_unknown_type(const std::string& where, const std::string& name) const;
};

}  // namespace smemtune
