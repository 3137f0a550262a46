#include "tuner/config/space_reader.h"
#include "tuner/config/space_words.h"
#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"
#include "tuner/core/limits.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

// The part of SpaceReader that reads kernels.

namespace smemtune {
namespace {

namespace fs = std::filesystem;

/// Formats a value as a literal of an expression.
std::string literal(const Value& value) {
  return holds_word(value) ? "\"" + to_text(value) + "\"" : to_text(value);
}

}  // namespace

KernelTemplate SpaceReader::read_kernel(const Given& given) {
  KernelTemplate kernel;
  kernel.where = given.where;
  kernel.arguments = arguments_;
  std::vector<std::string> passed = texts_of(arguments_, &ArgumentTemplate::name);
  kernel.metrics = metrics_;
  kernel.tolerance = tolerance_;
  if (!check_object(given, "kernel")) return kernel;
  require(given, {"name", "source"});
  if (given.has("name")) kernel.name = identifier(given["name"]).value_or("");
  kernel.description = text_of(given, "description", "a string");
  kernel.source = text_of(given, "source", "a path");
  const std::string pass = text_of(given, "pass", "\"template\" or \"define\"");
  if (pass == "define") {
    kernel.pass = KernelTemplate::Pass::as_define;
  } else if (!pass.empty() && pass != "template") {
    fault(child(given.where, "pass"), quote(pass) + " is neither \"template\" nor \"define\"");
  }
  kernel.architecture_specific = flag(given, "architecture_specific");
  kernel.default_is_a_guess = flag(given, "default_is_a_guess");
  if (given.has("requires")) read_features(given["requires"], kernel);
  if (given.has("arguments")) {
    kernel.arguments = read_arguments(given["arguments"], true, &passed);
  } else if (arguments_.empty()) {
    fault(given.where, "lacks \"arguments\", as does the space");
  }
  if (given.has("metrics")) {
    for (auto& [name, metric] : read_metrics(given["metrics"])) {
      kernel.metrics.insert_or_assign(name, metric);
    }
  }
  if (given.has("expect")) read_expectation(given["expect"], kernel);
  if (given.has("verify") && check_object(given["verify"], "kernel_verify")) {
    read_tolerance(given["verify"], kernel.tolerance);
  }
  const Conditions conditions = read_parameters(given, kernel);
  if (given.has("constraints")) {
    kernel.constraints = expressions(given["constraints"], "a list of expressions");
  }
  if (given.has("promising")) {
    kernel.promising = expressions(given["promising"], "a list of expressions");
  }
  // A parameter whose `when` is false has its default value and no other.
  for (const auto& [name, when] : conditions) {
    const auto value_then = kernel.default_configuration.find(name);
    if (value_then == kernel.default_configuration.end()) continue;
    kernel.constraints.push_back(
        {.text = "(" + when.text + ") || " + name + " == " + literal(value_then->second),
         .where = when.where});
  }
  read_launches(given, true, kernel);
  // One buffer may be passed more than once, but is one argument.
  if (std::set(passed.begin(), passed.end()).size() != passed.size()) {
    for (const ArgumentTemplate& argument : kernel.arguments) {
      if (!argument.is_passed()) std::erase(passed, argument.name);
      for (const std::string& member : argument.members) std::erase(passed, member);
    }
    for (LaunchTemplate& launch : kernel.launches) {
      if (launch.arguments.empty()) launch.arguments = passed;
    }
  }
  if (given.has("include")) read_include(given["include"], kernel);
  if (given.has("options")) read_options(given["options"], kernel);
  return kernel;
}

void SpaceReader::read_expectation(const Given& given, KernelTemplate& result) {
  if (!check_object(given, "expect")) return;
  require(given, {"time", "within_percent"});
  Expectation expectation;
  if (given.has("time")) {
    expectation.time = expression(given["time"]).value_or(expectation.time);
  }
  if (given.has("within_percent")) {
    const auto [within, where] = given["within_percent"];
    if (within.is_number() && within.get<double>() > 0) {
      expectation.within_percent = within.get<double>();
    } else {
      fault(where, summary(within) + " is not a number above 0");
    }
  }
  result.expect = expectation;
}

SpaceReader::Conditions SpaceReader::read_parameters(const Given& given, KernelTemplate& result) {
  Conditions conditions;
  if (given.has("parameters")) {
    const Given parameters = given["parameters"];
    if (!parameters.value.is_object()) {
      fault(parameters.where, summary(parameters.value) + " is not an object of lists");
      return conditions;
    }
    for (const auto& [name, one] : parameters.members()) {
      if (!is_identifier(name)) fault(one.where, quote(name) + " is not a name");
      Parameter parameter = {.name = name, .values = {}};
      if (!one.value.is_object()) {
        parameter.values = parameter_values(one);
      } else if (check_object(one, "parameter")) {
        if (one.has("when")) {
          const auto when = expression(one["when"]);
          if (when) conditions.emplace(name, *when);
        }
        require(one, {"values"});
        if (one.has("values")) parameter.values = parameter_values(one["values"]);
      }
      if (parameter.values.empty()) continue;
      result.default_configuration.emplace(name, parameter.values.front());
      result.parameters.push_back(std::move(parameter));
    }
  }
  std::vector<Configuration> listed;
  if (given.has("configurations")) {
    listed = read_configurations(given["configurations"], result);
  }
  if (given.has("default")) {
    read_default(given, result);
  } else if (!listed.empty()) {
    for (const auto& [name, value] : listed.front()) {
      result.default_configuration.insert_or_assign(name, value);
    }
  }
  for (Configuration& one : listed) one.merge(Configuration(result.default_configuration));
  result.configurations = std::move(listed);
  return conditions;
}

/// Reads the list of configurations, and adds the parameters that only it has. What a configuration
/// does not name is left out.
std::vector<Configuration> SpaceReader::read_configurations(const Given& given,
                                                            KernelTemplate& result) {
  std::vector<Configuration> listed;
  std::set<std::string> own;  // Parameters that have no list of values.
  for (const Given& item : list(given, "a list of configurations")) {
    if (!item.value.is_object()) {
      fault(item.where, summary(item.value) + " is not an object of values");
      continue;
    }
    Configuration& one = listed.emplace_back();
    for (const auto& [name, member] : item.members()) {
      const std::string& where = member.where;
      const auto found = scalar(member);
      if (!found) continue;
      if (!is_identifier(name)) fault(where, quote(name) + " is not a name");
      auto parameter = std::ranges::find(result.parameters, name, &Parameter::name);
      if (parameter == result.parameters.end()) {
        own.insert(name);
        result.default_configuration.emplace(name, *found);
        parameter = result.parameters.insert(parameter, {.name = name, .values = {}});
      }
      std::vector<Value>& values = parameter->values;
      const bool is_new = std::ranges::find(values, *found) == values.end();
      if (is_new && !own.contains(name)) {
        fault(where, quote(to_text(*found)) + " is not one of the parameter's values");
      } else if (is_new && has_first_kind(*found, values, where)) {
        values.push_back(*found);
      }
      one.emplace(name, *found);
    }
  }
  return listed;
}

bool SpaceReader::has_first_kind(const Value& value, const std::vector<Value>& values,
                                 const std::string& where) {
  if (values.empty() || holds_word(values.front()) == holds_word(value)) return true;
  fault(where, quote(to_text(value)) + " is " + (holds_word(value) ? "a word" : "an integer") +
                   ", but the first value is " + quote(to_text(values.front())));
  return false;
}

std::vector<Value> SpaceReader::parameter_values(const Given& given) {
  std::vector<Value> values;
  std::set<Value> seen;
  for (const Given& one : list(given, "a list of values")) {
    const auto found = scalar(one);
    if (!found) continue;
    if (!seen.insert(*found).second) {
      fault(one.where, quote(to_text(*found)) + " occurs twice");
    } else if (has_first_kind(*found, values, one.where)) {
      values.push_back(*found);
    }
  }
  return values;
}

void SpaceReader::read_default(const Given& kernel, KernelTemplate& result) {
  const Given given = kernel["default"];
  if (!given.value.is_object()) {
    fault(given.where, summary(given.value) + " is not an object of values");
  }
  const std::vector<std::string> known = names_of(result.default_configuration);
  for (const auto& [name, member] : given.members()) {
    const auto parameter = std::ranges::find(result.parameters, name, &Parameter::name);
    if (parameter == result.parameters.end()) {
      if (kernel.has("parameters") && kernel["parameters"].has(name)) continue;
      fault(member.where, "there is no parameter " + quote(name) + suggestion(name, known));
      continue;
    }
    const auto found = scalar(member);
    if (!found) continue;
    const std::vector<Value>& values = parameter->values;
    if (std::ranges::find(values, *found) == values.end()) {
      const auto text = [](const Value& other) { return to_text(other); };
      fault(member.where, quote(to_text(*found)) + " is not one of the parameter's values " +
                              listed(texts_of(values, text)));
      continue;
    }
    result.default_configuration.insert_or_assign(name, *found);
  }
}

void SpaceReader::read_features(const Given& given, KernelTemplate& result) {
  for (const Given& one : list(given, "a list of features")) {
    const std::string& where = one.where;
    const auto feature = text(one, "a feature of a device");
    if (!feature) continue;
    const std::vector<std::string>& known = feature_words();
    if (std::find(known.begin(), known.end(), *feature) == known.end()) {
      const std::string meant = suggestion(*feature, known);
      fault(where, quote(*feature) + " is not a feature" +
                       (meant.empty() ? "; known are " + listed(known) : meant));
      continue;
    }
    std::vector<std::string>& features = result.required_features;
    if (std::find(features.begin(), features.end(), *feature) != features.end()) {
      fault(where, quote(*feature) + " occurs twice");
    }
    features.push_back(*feature);
  }
}

/// Checks an option with every value that it may contain.
bool SpaceReader::allows_option(const std::string& option, const std::string& where,
                                const KernelTemplate& kernel) {
  std::vector<Value> values = {Value()};
  try {
    if (const auto name = name_in_option(option)) {
      const auto parameter = std::ranges::find(kernel.parameters, *name, &Parameter::name);
      values.clear();
      if (parameter != kernel.parameters.end()) values = parameter->values;
      for (const Problem& problem : every_problem()) {
        if (const auto found = problem.find(*name); found != problem.end()) {
          values.push_back(found->second);
        }
      }
    }
  } catch (const InputError& error) {
    fault(where, error.what());
    return false;
  }
  for (const Value& value : values) {
    const std::string bound = bind_option(option, value);
    const std::string why = refused_option(bound);
    if (why.empty()) continue;
    fault(where, quote(bound) + " is not allowed: " + why);
    return false;
  }
  return true;
}

void SpaceReader::read_options(const Given& given, KernelTemplate& result) {
  std::set<std::string> names;  // Names before the `=`.
  for (const Given& one : list_or_none(given, "a list of options")) {
    const std::string& where = one.where;
    const auto option = text(one, "an option of the compiler");
    if (!option) continue;
    if (!allows_option(*option, where, result)) continue;
    const std::string name = option->substr(0, option->find('='));
    if (!names.insert(name).second) fault(where, quote(name) + " occurs twice");
    const std::string macro = name.starts_with("-D") ? name.substr(2) : "";
    if (result.default_configuration.contains(macro)) {
      fault(where, quote(macro) + " is a parameter, which gets its value from the search");
    }
    if (!space_.problems.empty() && space_.problems.front().contains(macro)) {
      fault(where, quote(macro) + " is a name of the problems, which give it its value");
    }
    result.options.push_back(*option);
  }
}

void SpaceReader::read_include(const Given& given, KernelTemplate& result) {
  for (const Given& one : list_or_none(given, "a list of folders")) {
    const std::string& where = one.where;
    const auto folder = text(one, "a folder");
    if (!folder) continue;
    const fs::path path = *folder;
    const fs::path normal = path.lexically_normal();
    std::error_code error;
    if (path.is_absolute() || *normal.begin() == "..") {
      fault(where, quote(*folder) + " leaves the folder of the space file");
    } else if (!fs::is_directory(roots_.space / path, error) &&
               !fs::is_directory(roots_.templates / path, error)) {
      fault(where, "there is no folder " + quote(*folder) + " in " + roots_.space.string() +
                       " or " + roots_.templates.string());
    } else {
      result.include.push_back(path);
    }
  }
}

}  // namespace smemtune
