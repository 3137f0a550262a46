#include "tuner/core/kernel_expressions.h"

#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <concepts>
#include <set>
#include <utility>

namespace smemtune {

KernelBinding::Compiled::Compiled(const Space& space, const KernelTemplate& bound,
                                  const Problem& its_problem, const Device& device)
    : file(space.file.string()), kernel(&bound), problem(its_problem) {
  const auto has = [&](const std::vector<Problem>& problems) {
    return std::ranges::find(problems, its_problem) != problems.end();
  };
  may_be_empty = has(space.verify.also) && !has(space.problems) && !has(space.cpu_problems);
  add_names(space, device);
  for (const ExpressionText& text : kernel->promising) {
    promising.push_back(compile(text).expression);
  }
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
  for (std::size_t i = kernel->arguments.size(); i-- > 0;) {  // Members stand before their struct.
    const ArgumentTemplate& argument = kernel->arguments[i];
    if (named.contains(argument.name)) {
      named.insert(argument.members.begin(), argument.members.end());
    }
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

void KernelBinding::Compiled::fail(const std::string& where, const std::string& message) const {
  throw InputError(file + ": " + where + ": " + message);
}

void KernelBinding::Compiled::add_names(const Space& space, const Device& device) {
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
    if (launch_scope.contains(counter)) fail(where, in_quotes(counter) + " has two meanings");
    launch_scope.add_variable(counter, kernel->parameters.size() + i);
  }
}

// Adds the words that parameters and problems take, so that expressions may compare with them:
// `LAYOUT == row`.
void KernelBinding::Compiled::add_words(const Space& space) {
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

PlacedExpression KernelBinding::Compiled::compile(const ExpressionText& text,
                                                  const Scope& names) const {
  try {
    return {Expression::compile(text.text, names), text.where};
  } catch (const ExpressionError& error) {
    fail(text.where, error.what());
  }
}

PlacedExpression KernelBinding::Compiled::compile_real(const ExpressionText& text,
                                                       const Scope& names) const {
  try {
    return {Expression::compile_real(text.text, names), text.where, true};
  } catch (const ExpressionError& error) {
    fail(text.where, error.what());
  }
}

std::vector<PlacedExpression> KernelBinding::Compiled::compile(
    const std::vector<ExpressionText>& texts, const Scope& names) const {
  std::vector<PlacedExpression> compiled;
  for (const ExpressionText& text : texts) compiled.push_back(compile(text, names));
  return compiled;
}

std::optional<PlacedExpression> KernelBinding::Compiled::compile(
    const std::optional<ExpressionText>& text, const Scope& names) const {
  if (!text) return std::nullopt;
  return compile(*text, names);
}

CompiledRepeat KernelBinding::Compiled::compile_repeat(const Repeat& repeat) const {
  for (const auto& pair : repeat.swaps) {
    for (const std::string& name : pair) check_swapped(repeat, name);
  }
  const auto number = static_cast<std::size_t>(&repeat - kernel->repeats.data());
  return {.source = &repeat,
          .times = compile(repeat.times),
          .slot = kernel->parameters.size() + number};
}

void KernelBinding::Compiled::check_swapped(const Repeat& repeat, const std::string& name) const {
  for (const ArgumentTemplate& argument : kernel->arguments) {
    if (std::ranges::find(argument.members, name) != argument.members.end()) {
      fail(repeat.times.where, in_quotes(name) + " cannot be swapped, because its address is in " +
                                   in_quotes(argument.name));
    }
  }
  for (const ArgumentTemplate& argument : kernel->arguments) {
    if (argument.name == name && argument.is_buffer() && argument.is_passed()) return;
  }
  fail(repeat.times.where, in_quotes(name) + ", which is swapped, is not a buffer that is passed");
}

void KernelBinding::Compiled::check_option(const std::string& option) const {
  const auto name = name_in_option(option);
  if (!name || problem.contains(*name)) return;
  const std::vector<std::string> known = texts_of(kernel->parameters, &Parameter::name);
  if (std::ranges::find(known, *name) != known.end()) return;
  fail(kernel->where + "/options", in_quotes(option) + ": " + in_quotes(*name) +
                                       " is neither a parameter nor a name of the problem" +
                                       suggestion(*name, known));
}

std::optional<std::size_t> KernelBinding::Compiled::word_parameter(std::string_view name) const {
  for (std::size_t i = 0; i < kernel->parameters.size(); ++i) {
    const Parameter& parameter = kernel->parameters[i];
    if (parameter.name != name) continue;
    if (std::holds_alternative<std::string>(parameter.values.front())) return i;
  }
  return std::nullopt;
}

const std::string* KernelBinding::Compiled::problem_word(std::string_view name) const {
  const auto found = problem.find(name);
  return found == problem.end() ? nullptr : std::get_if<std::string>(&found->second);
}

TemplateArgument KernelBinding::Compiled::compile_template_argument(
    const ExpressionText& text) const {
  const std::string word = trimmed(text.text);
  if (const auto parameter = word_parameter(word)) return *parameter;
  if (const std::string* bound = problem_word(word)) return *bound;
  if (word == "true" || word == "false" || type_size(word)) return word;
  // Accepts enumerators and types that only the source knows, but no names that look misspelled.
  const bool is_bound = std::find(bound_names.begin(), bound_names.end(), word) !=  //
                        bound_names.end();
  const bool is_known_word = scope.contains(word) && !is_bound;
  if (is_known_word ||
      (!is_bound && is_qualified_name(word) && nearest_name(word, bound_names).empty())) {
    return word;
  }
  if (is_cpp(word)) return compile_cpp(word);
  return compile(text);
}

CppText KernelBinding::Compiled::compile_cpp(const std::string& text) const {
  CppText pieces;
  std::string literal;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
    const std::string name = text.substr(at, end - at);
    const bool is_member = literal.ends_with("::") || literal.ends_with(".");
    const auto parameter = std::ranges::find(kernel->parameters, name, &Parameter::name);
    const auto bound = problem.find(name);
    if (name.empty()) {
      literal += text[end++];
    } else if (!is_member && parameter != kernel->parameters.end()) {
      pieces.emplace_back(std::exchange(literal, {}));
      pieces.emplace_back(static_cast<std::size_t>(parameter - kernel->parameters.begin()));
    } else {
      literal += !is_member && bound != problem.end() ? to_text(bound->second) : name;
    }
    at = end;
  }
  pieces.emplace_back(literal);
  return pieces;
}

CompiledLaunch KernelBinding::Compiled::compile_launch(std::size_t number) const {
  const LaunchTemplate& launch = kernel->launches[number];
  CompiledLaunch compiled;
  compiled.entry =
      compile_cpp(launch.template_arguments.empty() ? trimmed(launch.entry) : launch.entry_name);
  for (const ExpressionText& text : launch.template_arguments) {
    compiled.template_arguments.push_back(compile_template_argument(text));
  }
  for (const auto* dimensions : {&launch.block, &launch.grid}) {
    if (dimensions->empty() || dimensions->size() > 3) {
      fail(kernel->where, "launch " + std::to_string(number) + " has a block or grid of " +
                              std::to_string(dimensions->size()) + " dimensions, not of 1 to 3");
    }
  }
  visit_launch_keys(
      [&](const SpaceKey& key, const auto& given, auto& result) {
        if constexpr (std::same_as<decltype(result), bool&>) {
          result = given;
        } else if constexpr (std::same_as<decltype(result), std::vector<std::string>&>) {
          result = launch_arguments(number);
        } else {
          result = compile(given, key.may_count ? launch_scope : scope);
        }
      },
      launch, compiled);
  return compiled;
}

std::vector<std::string> KernelBinding::Compiled::launch_arguments(std::size_t number) const {
  std::vector<std::string> passed;
  std::set<std::string> in_structs;
  for (const ArgumentTemplate& argument : kernel->arguments) {
    if (argument.is_passed()) passed.push_back(argument.name);
    in_structs.insert(argument.members.begin(), argument.members.end());
  }
  const LaunchTemplate& launch = kernel->launches[number];
  if (launch.arguments.empty()) {
    std::erase_if(passed, [&](const std::string& name) { return in_structs.contains(name); });
    return passed;
  }
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

CompiledArgument KernelBinding::Compiled::compile_argument(const ArgumentTemplate& argument) const {
  CompiledArgument compiled;
  compiled.source = &argument;
  find_type(argument, compiled);
  visit_argument_keys(
      [&](const SpaceKey& key, const auto& given, auto& result) {
        if (key.name == "value" && may_be_floating(compiled)) return;
        result = compile(given, key.may_count ? launch_scope : scope);
      },
      argument, compiled);
  if (argument.value && may_be_floating(compiled)) {
    compiled.value = compile_real(*argument.value, launch_scope);
  }
  for (const ExpressionText& number : argument.init_numbers) {
    compiled.init_numbers.push_back(compile_real(number, scope));
  }
  for (const ArgumentTemplate& other : argument.reads) {
    compiled.reads.push_back(compile_argument(other));
  }
  if (!argument.is_buffer() && !argument.value && !argument.number && argument.raw_bytes == 0 &&
      argument.members.empty()) {
    fail(argument.where, in_quotes(argument.name) + " has neither a shape nor a value");
  }
  return compiled;
}

bool KernelBinding::Compiled::may_be_floating(const CompiledArgument& compiled) const {
  if (compiled.type) return is_floating(*compiled.type);
  const std::vector<Value>& types = kernel->parameters[compiled.type_parameter].values;
  return std::ranges::any_of(
      types, [](const Value& type) { return is_floating(*scalar_type(to_text(type))); });
}

void KernelBinding::Compiled::find_type(const ArgumentTemplate& argument,
                                        CompiledArgument& compiled) const {
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
}

ScalarType KernelBinding::Compiled::require_type(const std::string& where, const std::string& name,
                                                 const std::string& word) const {
  if (const auto type = scalar_type(word)) return *type;
  fail(where, in_quotes(name) + " stands for '" + word + "', which is not an element type");
}

void KernelBinding::Compiled::fail_unknown_type(const std::string& where,
                                                const std::string& name) const {
  std::vector<std::string> known = {"char",         "unsigned char", "short",  "unsigned short",
                                    "int",          "unsigned int",  "long",   "unsigned long long",
                                    "float",        "double",        "__half", "__nv_bfloat16",
                                    "__nv_fp8_e4m3"};
  for (const auto& [bound, value] : problem) known.push_back(bound);
  for (const Parameter& parameter : kernel->parameters) known.push_back(parameter.name);
  fail(where, in_quotes(name) + " is neither an element type nor a name that stands for one" +
                  suggestion(name, known));
}

std::vector<std::int64_t> KernelBinding::Compiled::slots(const Configuration& configuration) const {
  std::vector<std::int64_t> slots;
  for (const Parameter& parameter : kernel->parameters) {
    const auto given = configuration.find(parameter.name);
    if (given == configuration.end()) {
      fail(kernel->where, "the configuration '" + key(configuration) +
                              "' has no value for the parameter '" + parameter.name + "'");
    }
    if (given->second.index() != parameter.values.front().index()) {
      fail(kernel->where, in_quotes(to_text(given->second)) + " is not a value of the parameter '" +
                              parameter.name + "', which takes values such as '" +
                              to_text(parameter.values.front()) + "'");
    }
    slots.push_back(to_slot(given->second));
  }
  if (configuration.size() == slots.size()) return slots;
  const std::vector<std::string> names = texts_of(kernel->parameters, &Parameter::name);
  for (const auto& [name, value] : configuration) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    fail(kernel->where, "the kernel '" + kernel->name + "' has no parameter '" + name + "'" +
                            compiler_hint(name) + suggestion(name, names));
  }
  return slots;
}

}  // namespace smemtune
