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

/// With its place in the file.
struct PlacedExpression {
  Expression expression;
  std::string where;
};

/// What is printed between < and > of an entry: a number, the word of a parameter (its number), or
/// a word that is known.
using TemplateArgument = std::variant<PlacedExpression, std::size_t, std::string>;

/// A LaunchTemplate.
struct CompiledLaunch {
  std::vector<TemplateArgument> template_arguments;
  std::vector<PlacedExpression> block;
  std::vector<PlacedExpression> grid;
  std::vector<PlacedExpression> cluster;
  std::vector<PlacedExpression> warpgroup_registers;
  std::optional<PlacedExpression> static_shared_bytes;
  std::optional<PlacedExpression> dynamic_shared_bytes;
  std::vector<std::string> arguments;
};

struct CompiledRepeat {
  const Repeat* source = nullptr;
  PlacedExpression times;
  std::size_t slot = 0;  ///< Of the counter.
};

struct CompiledArgument {
  const ArgumentTemplate* source = nullptr;
  std::optional<ScalarType> type;
  std::size_t type_parameter = 0;  ///< Number of the parameter that names the type, without one.
  std::vector<PlacedExpression> shape;
  std::vector<PlacedExpression> box;
  std::vector<PlacedExpression> element_strides;
  std::optional<PlacedExpression> swizzle;
  std::optional<PlacedExpression> value;
  std::vector<CompiledArgument> reads;
};

/// A kernel's expressions for one problem and device, and the names that they may use.
struct KernelBinding::Compiled {
  std::string file;
  const KernelTemplate* kernel = nullptr;
  Bindings problem;
  Scope scope;
  Scope launch_scope;                    ///< With the counters of repetitions.
  std::vector<std::string> bound_names;  ///< Of the device, the problem and parameters.
  std::vector<Expression> constraints;
  std::vector<CompiledLaunch> launches;
  std::vector<CompiledRepeat> repeats;
  std::vector<CompiledArgument> arguments;  ///< Those that a launch names or constant memory holds.
  std::map<std::string, PlacedExpression> metrics;
  std::optional<PlacedExpression> expected_time;

  /// Throws InputError naming the file, the JSON pointer and the text, as do all others.
  Compiled(const Space& space, const KernelTemplate& bound, const Problem& its_problem,
           const Device& device);

  [[noreturn]] void fail(const std::string& where, const std::string& message) const;

  /// The element type that `word` is, for which `name` stands.
  ScalarType require_type(const std::string& where, const std::string& name,
                          const std::string& word) const;

  /// The parameters' values, in their order.
  std::vector<std::int64_t> slots(const Configuration& configuration) const;

 private:
  void add_names(const Space& space, const Device& device);
  void add_words(const Space& space);
  PlacedExpression compile(const ExpressionText& text, const Scope& names) const;
  PlacedExpression compile(const ExpressionText& text) const { return compile(text, scope); }
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
  CompiledLaunch compile_launch(std::size_t number) const;
  std::vector<std::string> launch_arguments(std::size_t number) const;
  CompiledArgument compile_argument(const ArgumentTemplate& argument) const;
  [[noreturn]] void fail_unknown_type(const std::string& where, const std::string& name) const;
};

}  // namespace smemtune
