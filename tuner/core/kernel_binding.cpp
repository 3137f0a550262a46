#include "tuner/core/kernel_binding.h"

#include "tuner/core/compiler_choice.h"
#include "tuner/core/error.h"
#include "tuner/core/option_template.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <variant>

namespace smemtune {
namespace {

struct PlacedExpression {
  Expression expression;
  std::string where;
};

/// What is printed between < and > of an entry: a number, the word of a parameter (its number), or
/// a word that is known.
using TemplateArgument = std::variant<PlacedExpression, std::size_t, std::string>;

struct CompiledLaunch {
  std::vector<TemplateArgument> template_arguments;
  std::vector<PlacedExpression> block;
  std::vector<PlacedExpression> grid;
  std::vector<PlacedExpression> cluster;
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

struct IntegerRange {
  std::int64_t low;
  std::int64_t high;
};

IntegerRange range_of(ScalarType type) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  switch (type) {
    case ScalarType::int8:
      return {-128, 127};
    case ScalarType::uint8:
      return {0, 255};
    case ScalarType::int16:
      return {-32768, 32767};
    case ScalarType::uint16:
      return {0, 65535};
    case ScalarType::int32:
      return {-2147483648ll, 2147483647ll};
    case ScalarType::uint32:
      return {0, 4294967295ll};
    case ScalarType::uint64:
      return {0, kMax};
    default:
      return {-kMax - 1, kMax};
  }
}

double largest(ScalarType type) {
  switch (type) {
    case ScalarType::float8_e4m3:
      return 448;
    case ScalarType::float16:
      return 65504;
    case ScalarType::bfloat16:
      return 0x1.FEp127;
    case ScalarType::float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace

bool Argument::is_random() const {
  return init.kind == Init::Kind::uniform || init.kind == Init::Kind::normal ||
         init.kind == Init::Kind::permutation || std::ranges::any_of(reads, &Argument::is_random);
}

std::int64_t Argument::elements() const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

std::int64_t Argument::bytes() const {
  return raw_bytes > 0 ? raw_bytes : elements() * static_cast<std::int64_t>(size_of(type));
}

std::vector<Turn> turns_of(const std::vector<LaunchShape>& launches) {
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchShape& shape = launches[i];
    for (const Repetition& repetition : shape.repetitions) {
      turns.push_back({.launch = i, .as = repetition});
    }
    if (!shape.repetitions.empty() || shape.times == 0) continue;
    turns.push_back({.launch = i,
                     .as = {.turn = static_cast<std::int64_t>(i),
                            .grid = shape.grid,
                            .block = shape.block,
                            .dynamic_shared_bytes = shape.dynamic_shared_bytes,
                            .arguments = shape.arguments,
                            .scalars = {}}});
  }
  std::ranges::stable_sort(turns, {}, [](const Turn& turn) { return turn.as.turn; });
  return turns;
}

struct KernelBinding::Compiled {
  std::string file;
  const KernelTemplate* kernel = nullptr;
  Bindings problem;
  Scope scope;
  Scope launch_scope;                    // With the counters of repetitions.
  std::vector<std::string> bound_names;  // Of the device, the problem and parameters.
  std::vector<Expression> constraints;
  std::vector<CompiledLaunch> launches;
  std::vector<CompiledRepeat> repeats;
  std::vector<CompiledArgument> arguments;  // Those that a launch names or constant memory holds.
  std::map<std::string, PlacedExpression> metrics;
  std::optional<PlacedExpression> expected_time;

  Compiled(const Space& space, const KernelTemplate& bound, const Problem& its_problem,
           const Device& device)
      : file(space.file.string()), kernel(&bound), problem(its_problem) {
    add_names(space, device);
    for (const ExpressionText& text : kernel->constraints) {
      constraints.push_back(compile(text).expression);
    }
    for (const Repeat& repeat : kernel->repeats) repeats.push_back(compile_repeat(repeat));
    for (std::size_t i = 0; i < kernel->launches.size(); ++i) launches.push_back(compile_launch(i));
    std::set<std::string> named;
    for (const CompiledLaunch& launch : launches) {
      named.insert(launch.arguments.begin(), launch.arguments.end());
    }
    for (const Repeat& repeat : kernel->repeats) {
      for (const auto& pair : repeat.swaps) named.insert(pair.begin(), pair.end());
    }
    for (const ArgumentTemplate& argument : kernel->arguments) {
      CompiledArgument compiled = compile_argument(argument);
      if (argument.is_passed() && !named.contains(argument.name)) continue;
      arguments.push_back(std::move(compiled));
    }
    for (const std::string& option : kernel->options) check_option(option);
    for (const auto& [name, text] : kernel->metrics) metrics.emplace(name, compile(text));
    if (kernel->expect) expected_time = compile(kernel->expect->time);
  }

  [[noreturn]] void fail(const std::string& where, const std::string& message) const {
    throw InputError(file + ": " + where + ": " + message);
  }

  // --- Compiling.

  void add_names(const Space& space, const Device& device) {
    scope.add_constants(device_names(device));
    for (const auto& [name, value] : problem) {
      if (scope.contains(name)) {
        fail(kernel->where, "the problem's name '" + name + "' is also a name of the device");
      }
      scope.add_constant(name, value);
    }
    for (std::size_t i = 0; i < kernel->parameters.size(); ++i) {
      const Parameter& parameter = kernel->parameters[i];
      const std::string where = kernel->where + "/parameters/" + parameter.name;
      if (scope.contains(parameter.name)) {
        fail(where, "the parameter '" + parameter.name + "' is also a name of " +
                        (problem.contains(parameter.name) ? "the problem" : "the device"));
      }
      const auto is_word = [](const Value& value) {
        return std::holds_alternative<std::string>(value);
      };
      const auto words = std::count_if(parameter.values.begin(), parameter.values.end(), is_word);
      if (words != 0 && words != std::ssize(parameter.values)) {
        fail(where, "the values of '" + parameter.name + "' are partly numbers and partly words");
      }
      scope.add_variable(parameter.name, i, words != 0 ? Scope::Kind::word : Scope::Kind::integer);
    }
    bound_names = scope.names();
    add_words(space);
    launch_scope = scope;
    for (std::size_t i = 0; i < kernel->repeats.size(); ++i) {
      const std::string& counter = kernel->repeats[i].counter;
      if (counter.empty()) continue;
      const std::string where = kernel->repeats[i].times.where;
      if (launch_scope.contains(counter)) fail(where, in_quotes(counter) + " means two things");
      launch_scope.add_variable(counter, kernel->parameters.size() + i);
    }
  }

  // Words that parameters and problems take can be compared with: `LAYOUT == row`.
  void add_words(const Space& space) {
    const auto add = [this](const Value& value) {
      const auto* word = std::get_if<std::string>(&value);
      if (word == nullptr || !is_name(*word) || scope.contains(*word)) return;
      scope.add_constant(*word, *word);
    };
    for (const Parameter& parameter : kernel->parameters) {
      for (const Value& value : parameter.values) add(value);
    }
    for (const auto& [name, value] : problem) add(value);
    for (const auto* problems : {&space.problems, &space.cpu_problems, &space.verify.also}) {
      for (const Problem& other : *problems) {
        for (const auto& [name, value] : other) add(value);
      }
    }
  }

  PlacedExpression compile(const ExpressionText& text, const Scope& names) const {
    try {
      return {Expression::compile(text.text, names), text.where};
    } catch (const ExpressionError& error) {
      fail(text.where, error.what());
    }
  }

  PlacedExpression compile(const ExpressionText& text) const { return compile(text, scope); }

  std::vector<PlacedExpression> compile(const std::vector<ExpressionText>& texts,
                                        const Scope& names) const {
    std::vector<PlacedExpression> compiled;
    for (const ExpressionText& text : texts) compiled.push_back(compile(text, names));
    return compiled;
  }

  std::optional<PlacedExpression> compile(const std::optional<ExpressionText>& text,
                                          const Scope& names) const {
    if (!text) return std::nullopt;
    return compile(*text, names);
  }

  CompiledRepeat compile_repeat(const Repeat& repeat) const {
    for (const auto& pair : repeat.swaps) {
      for (const std::string& name : pair) check_swapped(repeat, name);
    }
    const auto number = static_cast<std::size_t>(&repeat - kernel->repeats.data());
    return {.source = &repeat,
            .times = compile(repeat.times),
            .slot = kernel->parameters.size() + number};
  }

  void check_swapped(const Repeat& repeat, const std::string& name) const {
    for (const ArgumentTemplate& argument : kernel->arguments) {
      if (argument.name == name && argument.is_buffer() && argument.is_passed()) return;
    }
    fail(repeat.times.where, in_quotes(name) + ", which is swapped, is no buffer that is passed");
  }

  void check_option(const std::string& option) const {
    const auto name = name_in_option(option);
    if (!name || problem.contains(*name)) return;
    std::vector<std::string> known;
    for (const Parameter& parameter : kernel->parameters) known.push_back(parameter.name);
    if (std::ranges::find(known, *name) != known.end()) return;
    fail(kernel->where + "/options", in_quotes(option) + ": " + in_quotes(*name) +
                                         " is neither a parameter nor a name of the problem" +
                                         suggestion(*name, known));
  }

  std::optional<std::size_t> word_parameter(std::string_view name) const {
    for (std::size_t i = 0; i < kernel->parameters.size(); ++i) {
      const Parameter& parameter = kernel->parameters[i];
      if (parameter.name != name) continue;
      if (std::holds_alternative<std::string>(parameter.values.front())) return i;
    }
    return std::nullopt;
  }

  const std::string* problem_word(std::string_view name) const {
    const auto found = problem.find(name);
    return found == problem.end() ? nullptr : std::get_if<std::string>(&found->second);
  }

  TemplateArgument compile_template_argument(const ExpressionText& text) const {
    const std::string word = trimmed(text.text);
    if (const auto parameter = word_parameter(word)) return *parameter;
    if (const std::string* bound = problem_word(word)) return *bound;
    if (word == "true" || word == "false" || type_size(word)) return word;
    // Enumerators and types that only the source knows; not what looks like a slip of the pen.
    const bool is_bound = std::find(bound_names.begin(), bound_names.end(), word) !=  //
                          bound_names.end();
    const bool is_known_word = scope.contains(word) && !is_bound;
    if (is_known_word ||
        (!is_bound && is_qualified_name(word) && nearest_name(word, bound_names).empty())) {
      return word;
    }
    return compile(text);
  }

  CompiledLaunch compile_launch(std::size_t number) const {
    const LaunchTemplate& launch = kernel->launches[number];
    CompiledLaunch compiled;
    for (const ExpressionText& text : launch.template_arguments) {
      compiled.template_arguments.push_back(compile_template_argument(text));
    }
    for (const auto* dimensions : {&launch.block, &launch.grid}) {
      if (dimensions->empty() || dimensions->size() > 3) {
        fail(kernel->where, "launch " + std::to_string(number) + " has a block or grid of " +
                                std::to_string(dimensions->size()) + " dimensions, not of 1 to 3");
      }
    }
    compiled.block = compile(launch.block, launch_scope);
    compiled.grid = compile(launch.grid, launch_scope);
    compiled.cluster = compile(launch.cluster, scope);
    compiled.static_shared_bytes = compile(launch.static_shared_bytes, scope);
    compiled.dynamic_shared_bytes = compile(launch.dynamic_shared_bytes, launch_scope);
    compiled.arguments = launch_arguments(number);
    return compiled;
  }

  std::vector<std::string> launch_arguments(std::size_t number) const {
    std::vector<std::string> passed;
    for (const ArgumentTemplate& argument : kernel->arguments) {
      if (argument.is_passed()) passed.push_back(argument.name);
    }
    const LaunchTemplate& launch = kernel->launches[number];
    if (launch.arguments.empty()) return passed;
    for (const std::string& name : launch.arguments) {
      if (std::find(passed.begin(), passed.end(), name) != passed.end()) continue;
      const std::string begin = "launch " + std::to_string(number) + " names '" + name + "', ";
      for (const ArgumentTemplate& argument : kernel->arguments) {
        if (argument.name != name) continue;
        fail(kernel->where, begin + "which lies in constant memory and is not passed");
      }
      fail(kernel->where, begin + "which is not an argument" + suggestion(name, passed));
    }
    return launch.arguments;
  }

  CompiledArgument compile_argument(const ArgumentTemplate& argument) const {
    CompiledArgument compiled;
    compiled.source = &argument;
    compiled.shape = compile(argument.shape, scope);
    compiled.box = compile(argument.box, scope);
    compiled.element_strides = compile(argument.element_strides, scope);
    compiled.swizzle = compile(argument.swizzle, scope);
    compiled.value = compile(argument.value, launch_scope);
    for (const ArgumentTemplate& other : argument.reads) {
      compiled.reads.push_back(compile_argument(other));
    }
    const std::string name = trimmed(argument.type);
    const std::string where = argument.where + "/type";
    if (const auto parameter = word_parameter(name)) {
      for (const Value& value : kernel->parameters[*parameter].values) {
        require_type(where, name, to_text(value));
      }
      compiled.type_parameter = *parameter;
    } else if (const std::string* word = problem_word(name)) {
      compiled.type = require_type(where, name, *word);
    } else {
      compiled.type = scalar_type(name);
      if (!compiled.type) fail_unknown_type(where, name);
    }
    if (!argument.is_buffer() && !argument.value && !argument.number && argument.raw_bytes == 0) {
      fail(argument.where, in_quotes(argument.name) + " has neither a shape nor a value");
    }
    return compiled;
  }

  ScalarType require_type(const std::string& where, const std::string& name,
                          const std::string& word) const {
    if (const auto type = scalar_type(word)) return *type;
    fail(where, in_quotes(name) + " stands for '" + word + "', which is not an element type");
  }

  [[noreturn]] void fail_unknown_type(const std::string& where, const std::string& name) const {
    std::vector<std::string> known = {
        "char",         "unsigned char",      "short", "unsigned short", "int",    "unsigned int",
        "long",         "unsigned long long", "float", "double",         "__half", "__nv_bfloat16",
        "__nv_fp8_e4m3"};
    for (const auto& [bound, value] : problem) known.push_back(bound);
    for (const Parameter& parameter : kernel->parameters) known.push_back(parameter.name);
    fail(where, in_quotes(name) + " is neither an element type nor a name that stands for one" +
                    suggestion(name, known));
  }

  // --- Evaluating.

  std::vector<std::int64_t> slots(const Configuration& configuration) const {
    std::vector<std::int64_t> slots;
    for (const Parameter& parameter : kernel->parameters) {
      const auto given = configuration.find(parameter.name);
      if (given == configuration.end()) {
        fail(kernel->where, "the configuration '" + key(configuration) +
                                "' has no value for the parameter '" + parameter.name + "'");
      }
      if (given->second.index() != parameter.values.front().index()) {
        fail(kernel->where, in_quotes(to_text(given->second)) +
                                " is not a value of the parameter '" + parameter.name +
                                "', which takes values such as '" +
                                to_text(parameter.values.front()) + "'");
      }
      slots.push_back(to_slot(given->second));
    }
    if (configuration.size() == slots.size()) return slots;
    std::vector<std::string> names;
    for (const Parameter& parameter : kernel->parameters) names.push_back(parameter.name);
    for (const auto& [name, value] : configuration) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      fail(kernel->where, "the kernel '" + kernel->name + "' has no parameter '" + name + "'" +
                              compiler_hint(name) + suggestion(name, names));
    }
    return slots;
  }
};

/// One configuration's values, for the expressions of a kernel.
class KernelBinding::Evaluation {
 public:
  Evaluation(const Compiled& compiled, const Configuration& configuration)
      : compiled_(compiled), configuration_(configuration), slots_(compiled.slots(configuration)) {
    slots_.resize(slots_.size() + compiled.repeats.size());  // The counters.
  }

  std::span<const std::int64_t> slots() const { return slots_; }

  std::int64_t value(const PlacedExpression& placed) const {
    try {
      return placed.expression.evaluate(slots_);
    } catch (const ExpressionError& error) {
      fail(placed.where, error.what());
    }
  }

  /// All launches, as often as they are repeated.
  std::vector<LaunchShape> launches() {
    std::vector<LaunchShape> shapes;
    for (std::size_t i = 0; i < compiled_.launches.size(); ++i) shapes.push_back(launch(i));
    if (compiled_.repeats.empty()) return shapes;
    renamed_.clear();
    std::int64_t turn = 0;
    for (std::size_t i = 0; i < shapes.size();) {
      const auto repeat = std::ranges::find_if(
          compiled_.repeats, [&](const CompiledRepeat& r) { return r.source->first == i; });
      if (repeat == compiled_.repeats.end()) {
        shapes[i].repetitions.push_back(repetition(i, turn++));
        ++i;
      } else {
        add_repetitions(*repeat, shapes, turn);
        i = repeat->source->end;
      }
    }
    for (LaunchShape& shape : shapes) {
      shape.times = std::ssize(shape.repetitions);
      if (shape.repetitions.empty()) {
        shape.grid = {1, 1, 1};  // Where nothing is launched, no extent is wrong.
        continue;
      }
      shape.grid = shape.repetitions.front().grid;
      shape.block = shape.repetitions.front().block;
      shape.dynamic_shared_bytes = 0;
      for (const Repetition& one : shape.repetitions) {
        shape.dynamic_shared_bytes = std::max(shape.dynamic_shared_bytes, one.dynamic_shared_bytes);
      }
    }
    return shapes;
  }

  std::string option(const std::string& option) const {
    const auto name = name_in_option(option);
    if (!name) return option;
    const Bindings& values = configuration_.contains(*name) ? configuration_ : compiled_.problem;
    return bind_option(option, values.find(*name)->second);
  }

  Argument argument(const CompiledArgument& compiled) const {
    const ArgumentTemplate& source = *compiled.source;
    Argument argument;
    argument.name = source.name;
    argument.type = compiled.type ? *compiled.type : parameter_type(compiled);
    argument.role = source.role;
    argument.init = source.init;
    argument.memory = source.memory;
    argument.compares_sum = source.compares_sum;
    if (source.init.kind == Init::Kind::definition) argument.problem = compiled_.problem;
    for (const CompiledArgument& other : compiled.reads) {
      argument.reads.push_back(this->argument(other));
    }
    if (source.memory == MemorySpace::constant) {
      argument.symbol = source.symbol.empty() ? source.name : source.symbol;
    }
    if (source.is_buffer()) {
      add_shape(compiled, argument);
      for (const PlacedExpression& extent : compiled.box) argument.box.push_back(value(extent));
      for (const PlacedExpression& stride : compiled.element_strides) {
        argument.element_strides.push_back(value(stride));
      }
      if (compiled.swizzle) argument.swizzle = value(*compiled.swizzle);
    } else if (source.raw_bytes > 0) {
      argument.raw_bytes = source.raw_bytes;
    } else if (compiled.value) {
      set_integer(argument, compiled.value->where, value(*compiled.value));
    } else {
      set_number(argument, source.where + "/value", *source.number);
    }
    return argument;
  }

 private:
  static constexpr std::int64_t kMostTurns = 65536;

  LaunchShape launch(std::size_t number) const {
    const LaunchTemplate& source = compiled_.kernel->launches[number];
    const CompiledLaunch& launch = compiled_.launches[number];
    LaunchShape shape;
    shape.name_expression = name_expression(source, launch);
    for (std::size_t i = 0; i < launch.block.size(); ++i) shape.block[i] = value(launch.block[i]);
    for (std::size_t i = 0; i < launch.grid.size(); ++i) shape.grid[i] = value(launch.grid[i]);
    for (std::size_t i = 0; i < launch.cluster.size(); ++i) {
      shape.cluster[i] = value(launch.cluster[i]);
    }
    if (launch.static_shared_bytes) shape.static_shared_bytes = bytes(*launch.static_shared_bytes);
    if (launch.dynamic_shared_bytes) {
      shape.dynamic_shared_bytes = bytes(*launch.dynamic_shared_bytes);
    }
    shape.arguments = launch.arguments;
    shape.cooperative = source.cooperative;
    return shape;
  }

  /// A launch with the counters as they are, and the buffers that they are swapped with.
  Repetition repetition(std::size_t number, std::int64_t turn) const {
    const CompiledLaunch& launch = compiled_.launches[number];
    Repetition one;
    one.turn = turn;
    for (std::size_t i = 0; i < launch.block.size(); ++i) one.block[i] = value(launch.block[i]);
    for (std::size_t i = 0; i < launch.grid.size(); ++i) one.grid[i] = value(launch.grid[i]);
    if (launch.dynamic_shared_bytes) one.dynamic_shared_bytes = bytes(*launch.dynamic_shared_bytes);
    for (const std::string& name : launch.arguments) {
      const auto renamed = renamed_.find(name);
      one.arguments.push_back(renamed == renamed_.end() ? name : renamed->second);
    }
    for (const CompiledArgument& compiled : compiled_.arguments) {
      const bool is_taken =
          std::ranges::find(launch.arguments, compiled.source->name) != launch.arguments.end();
      const bool changes =
          compiled.value &&
          std::ranges::any_of(compiled.value->expression.variables(), [&](std::size_t slot) {
            return slot >= compiled_.kernel->parameters.size();
          });
      if (is_taken && changes) one.scalars.push_back(argument(compiled));
    }
    return one;
  }

  void add_repetitions(const CompiledRepeat& repeat, std::vector<LaunchShape>& shapes,
                       std::int64_t& turn) {
    const std::int64_t times = value(repeat.times);
    const auto launches = static_cast<std::int64_t>(repeat.source->end - repeat.source->first);
    if (times < 0 || times > (kMostTurns - turn) / launches) {
      fail(repeat.times.where,
           in_quotes(repeat.times.expression.text()) + " is " + std::to_string(times) + ", 0 to " +
               std::to_string((kMostTurns - turn) / launches) + " repetitions are possible");
    }
    std::int64_t& counter = slots_[repeat.slot];
    for (counter = 0; counter < times; ++counter) {
      for (std::size_t i = repeat.source->first; i < repeat.source->end; ++i) {
        // What has become empty is not launched, as where the last step of an elimination has no row.
        Repetition one = repetition(i, turn++);
        const bool is_empty = std::ranges::any_of(one.grid, [](std::int64_t n) { return n == 0; });
        if (!is_empty) shapes[i].repetitions.push_back(std::move(one));
      }
      for (const auto& [a, b] : repeat.source->swaps) {
        const auto now = [&](const std::string& name) {
          const auto renamed = renamed_.find(name);
          return renamed == renamed_.end() ? name : renamed->second;
        };
        const std::string of_a = now(a);
        renamed_[a] = now(b);
        renamed_[b] = of_a;
      }
    }
  }

  [[noreturn]] void fail(const std::string& where, const std::string& message) const {
    const std::string text = key(configuration_);
    compiled_.fail(where, message + (text.empty() ? "" : " (" + text + ")"));
  }

  std::string word(std::size_t parameter) const {
    return to_text(configuration_.find(compiled_.kernel->parameters[parameter].name)->second);
  }

  std::int64_t bytes(const PlacedExpression& placed) const {
    const std::int64_t bytes = value(placed);
    if (bytes >= 0) return bytes;
    fail(placed.where, in_quotes(placed.expression.text()) + " is " + std::to_string(bytes) +
                           " bytes, a size cannot be negative");
  }

  std::string name_expression(const LaunchTemplate& source, const CompiledLaunch& launch) const {
    if (launch.template_arguments.empty()) return trimmed(source.entry);
    std::string text;
    for (const TemplateArgument& argument : launch.template_arguments) {
      text += text.empty() ? "" : ", ";
      if (const auto* placed = std::get_if<PlacedExpression>(&argument)) {
        text += std::to_string(value(*placed));
      } else if (const auto* parameter = std::get_if<std::size_t>(&argument)) {
        text += word(*parameter);
      } else {
        text += std::get<std::string>(argument);
      }
    }
    return source.entry_name + "<" + text + ">";
  }

  ScalarType parameter_type(const CompiledArgument& compiled) const {
    return compiled_.require_type(compiled.source->where + "/type",
                                  compiled_.kernel->parameters[compiled.type_parameter].name,
                                  word(compiled.type_parameter));
  }

  void add_shape(const CompiledArgument& compiled, Argument& argument) const {
    std::int64_t bytes = static_cast<std::int64_t>(size_of(argument.type));
    for (const PlacedExpression& placed : compiled.shape) {
      const std::int64_t extent = value(placed);
      if (extent < 1) {
        fail(placed.where, in_quotes(argument.name) + " would have " + std::to_string(extent) +
                               " elements in this dimension, at least 1 is needed");
      }
      if (__builtin_mul_overflow(bytes, extent, &bytes)) {
        fail(placed.where, in_quotes(argument.name) + " would have more than 2^63 bytes");
      }
      argument.shape.push_back(extent);
    }
    const std::int64_t texel = argument.is_texture() ? argument.texel_elements() : 1;
    if (texel != 1 && texel != 2 && texel != 4) {
      fail(compiled.shape.back().where, in_quotes(argument.name) + " would have " +
                                            std::to_string(texel) +
                                            " elements in a texel, 1, 2 or 4 are possible");
    }
  }

  void set_integer(Argument& argument, const std::string& where, std::int64_t integer) const {
    if (is_floating(argument.type))
      return set_number(argument, where, static_cast<double>(integer));
    const IntegerRange range = range_of(argument.type);
    if (integer < range.low || integer > range.high) {
      fail(where, in_quotes(argument.name) + " is " + std::to_string(integer) + ", " +
                      std::string(cuda_name(argument.type)) + " holds " +
                      std::to_string(range.low) + " to " + std::to_string(range.high));
    }
    argument.integer = integer;
  }

  void set_number(Argument& argument, const std::string& where, double number) const {
    if (!is_floating(argument.type)) {
      constexpr double kTwoTo63 = 9223372036854775808.0;
      if (number != std::floor(number) || number < -kTwoTo63 || number >= kTwoTo63) {
        fail(where, in_quotes(argument.name) + " is " + shortest(number) + ", " +
                        std::string(cuda_name(argument.type)) + " holds integers");
      }
      return set_integer(argument, where, static_cast<std::int64_t>(number));
    }
    if (!(std::abs(number) <= largest(argument.type))) {
      fail(where, in_quotes(argument.name) + " is " + shortest(number) + ", " +
                      std::string(cuda_name(argument.type)) + " holds at most " +
                      shortest(largest(argument.type)));
    }
    argument.number = number;
  }

  const Compiled& compiled_;
  const Configuration& configuration_;
  std::vector<std::int64_t> slots_;             // Of the parameters, then of the counters.
  std::map<std::string, std::string> renamed_;  // Buffers that others stand for, after swaps.
};

KernelBinding::KernelBinding(const Space& space, const KernelTemplate& kernel,
                             const Problem& problem, const Device& device)
    : kernel_(&kernel),
      problem_(problem),
      compiled_(std::make_shared<Compiled>(space, kernel, problem, device)) {}

const SearchSpace& KernelBinding::search_space(const std::function<bool()>& must_end) const {
  if (search_space_) return *search_space_;
  try {
    search_space_ =
        std::make_shared<SearchSpace>(kernel_->parameters, compiled_->constraints, must_end);
  } catch (const InputError& error) {
    compiled_->fail(kernel_->where + "/constraints", error.what());
  }
  return *search_space_;
}

bool KernelBinding::satisfies_constraints(const Configuration& configuration) const {
  const Evaluation evaluation(*compiled_, configuration);
  try {
    return satisfies(compiled_->constraints, evaluation.slots());
  } catch (const ExpressionError& error) {
    compiled_->fail(kernel_->where + "/constraints", error.what());
  }
}

std::optional<std::string> KernelBinding::violated_constraint(
    const Configuration& configuration) const {
  if (satisfies_constraints(configuration)) return std::nullopt;
  const Evaluation evaluation(*compiled_, configuration);
  for (std::size_t i = 0; i < kernel_->constraints.size(); ++i) {
    const std::span one(&compiled_->constraints[i], 1);
    try {
      if (!satisfies(one, evaluation.slots())) return kernel_->constraints[i].text;
    } catch (const ExpressionError&) {
      continue;  // Another one is false, so this one need not have a value.
    }
  }
  return std::nullopt;
}

KernelInstance KernelBinding::instantiate(const Configuration& configuration) const {
  Evaluation evaluation(*compiled_, configuration);
  KernelInstance instance;
  instance.kernel = kernel_->name;
  instance.configuration = configuration;
  instance.architecture_specific = kernel_->architecture_specific;
  instance.required_features = kernel_->required_features;
  instance.tolerance = kernel_->tolerance;
  for (const std::string& option : kernel_->options) {
    instance.options.push_back(evaluation.option(option));
  }
  if (kernel_->pass == KernelTemplate::Pass::as_define) {
    Bindings macros = problem_;
    macros.insert(configuration.begin(), configuration.end());
    for (const auto& [name, value] : macros) {
      const bool is_unused = kernel_->unused_names.contains(name);
      if (is_unused || kernel_->names_template_argument(name)) continue;
      instance.options.push_back("-D" + name + "=" + to_text(value));
    }
  }
  for (const CompiledArgument& argument : compiled_->arguments) {
    instance.arguments.push_back(evaluation.argument(argument));
  }
  instance.launches = evaluation.launches();
  return instance;
}

std::map<std::string, double> KernelBinding::metrics(const Configuration& configuration) const {
  const Evaluation evaluation(*compiled_, configuration);
  std::map<std::string, double> metrics;
  for (const auto& [name, expression] : compiled_->metrics) {
    metrics.emplace(name, static_cast<double>(evaluation.value(expression)));
  }
  return metrics;
}

std::optional<std::int64_t> KernelBinding::expected_time(const Configuration& configuration) const {
  if (!compiled_->expected_time) return std::nullopt;
  const Evaluation evaluation(*compiled_, configuration);
  const std::int64_t time = evaluation.value(*compiled_->expected_time);
  if (time > 0) return time;
  compiled_->fail(compiled_->expected_time->where,
                  "a time of " + std::to_string(time) + " for '" + key(configuration) + "'");
}

}  // namespace smemtune
