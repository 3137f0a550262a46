#include "tuner/config/space_reader.h"
#include "tuner/config/space_words.h"
#include "tuner/core/error.h"
#include "tuner/core/limits.h"
#include "tuner/core/option_template.h"
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

KernelTemplate SpaceReader::read_kernel(const Json& value, const std::string& pointer) {
  KernelTemplate kernel;
  kernel.where = pointer;
  kernel.arguments = arguments_;
  std::vector<std::string> passed;
  for (const ArgumentTemplate& argument : arguments_) passed.push_back(argument.name);
  kernel.metrics = metrics_;
  kernel.tolerance = tolerance_;
  if (!check_object(value, pointer, "kernel")) return kernel;

  for (const char* const needed : {"name", "source"}) {
    if (!value.contains(needed)) fault(pointer, std::string("lacks \"") + needed + "\"");
  }
  if (value.contains("name")) {
    kernel.name = identifier(value["name"], child(pointer, "name")).value_or("");
  }
  if (value.contains("description")) {
    kernel.description =
        text(value["description"], child(pointer, "description"), "a string").value_or("");
  }
  if (value.contains("source")) {
    kernel.source = text(value["source"], child(pointer, "source"), "a path").value_or("");
  }
  if (value.contains("pass")) {
    const auto pass = text(value["pass"], child(pointer, "pass"), "\"template\" or \"define\"");
    if (pass && *pass == "define") {
      kernel.pass = KernelTemplate::Pass::as_define;
    } else if (pass && *pass != "template") {
      fault(child(pointer, "pass"), quote(*pass) + " is neither \"template\" nor \"define\"");
    }
  }
  kernel.architecture_specific = flag(value, "architecture_specific", pointer);
  kernel.default_is_a_guess = flag(value, "default_is_a_guess", pointer);
  if (value.contains("requires")) {
    read_features(value["requires"], child(pointer, "requires"), kernel);
  }
  if (value.contains("arguments")) {
    kernel.arguments =
        read_arguments(value["arguments"], child(pointer, "arguments"), true, &passed);
  } else if (arguments_.empty()) {
    fault(pointer, "lacks \"arguments\", as does the space");
  }
  if (value.contains("metrics")) {
    for (auto& [name, metric] : read_metrics(value["metrics"], child(pointer, "metrics"))) {
      kernel.metrics.insert_or_assign(name, metric);
    }
  }
  if (value.contains("expect")) read_expectation(value["expect"], child(pointer, "expect"), kernel);
  if (value.contains("verify")) {
    const std::string where = child(pointer, "verify");
    if (check_object(value["verify"], where, "kernel_verify")) {
      read_tolerance(value["verify"], where, kernel.tolerance);
    }
  }
  const Conditions conditions = read_parameters(value, pointer, kernel);
  if (value.contains("constraints")) {
    kernel.constraints =
        expressions(value["constraints"], child(pointer, "constraints"), "a list of expressions");
  }
  // A parameter whose `when` is false has its default value and no other.
  for (const auto& [name, when] : conditions) {
    const auto value_then = kernel.default_configuration.find(name);
    if (value_then == kernel.default_configuration.end()) continue;
    kernel.constraints.push_back(
        {.text = "(" + when.text + ") || " + name + " == " + literal(value_then->second),
         .where = when.where});
  }
  read_launches(value, pointer, true, kernel);
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
  if (value.contains("include")) read_include(value["include"], child(pointer, "include"), kernel);
  if (value.contains("options")) read_options(value["options"], child(pointer, "options"), kernel);
  return kernel;
}

void SpaceReader::read_expectation(const Json& value, const std::string& pointer,
                                   KernelTemplate& result) {
  if (!check_object(value, pointer, "expect")) return;
  for (const char* const needed : {"time", "within_percent"}) {
    if (!value.contains(needed)) fault(pointer, std::string("lacks \"") + needed + "\"");
  }
  Expectation expectation;
  if (value.contains("time")) {
    if (const auto time = expression(value["time"], child(pointer, "time"))) {
      expectation.time = *time;
    }
  }
  if (value.contains("within_percent")) {
    const Json& within = value["within_percent"];
    if (within.is_number() && within.get<double>() > 0) {
      expectation.within_percent = within.get<double>();
    } else {
      fault(child(pointer, "within_percent"), summary(within) + " is not a number above 0");
    }
  }
  result.expect = expectation;
}

SpaceReader::Conditions SpaceReader::read_parameters(const Json& kernel, const std::string& pointer,
                                                     KernelTemplate& result) {
  Conditions conditions;
  if (kernel.contains("parameters")) {
    const std::string where = child(pointer, "parameters");
    if (!kernel["parameters"].is_object()) {
      fault(where, summary(kernel["parameters"]) + " is not an object of lists");
      return conditions;
    }
    for (const auto& [name, given] : kernel["parameters"].items()) {
      const std::string place = child(where, name);
      if (!is_identifier(name)) fault(place, quote(name) + " is not a name");
      Parameter parameter = {.name = name, .values = {}};
      if (!given.is_object()) {
        parameter.values = parameter_values(given, place);
      } else if (check_object(given, place, "parameter")) {
        if (given.contains("when")) {
          const auto when = expression(given["when"], child(place, "when"));
          if (when) conditions.emplace(name, *when);
        }
        if (given.contains("values")) {
          parameter.values = parameter_values(given["values"], child(place, "values"));
        } else {
          fault(place, "lacks \"values\"");
        }
      }
      if (parameter.values.empty()) continue;
      result.default_configuration.emplace(name, parameter.values.front());
      result.parameters.push_back(std::move(parameter));
    }
  }
  std::vector<Configuration> listed;
  if (kernel.contains("configurations")) {
    listed =
        read_configurations(kernel["configurations"], child(pointer, "configurations"), result);
  }
  if (kernel.contains("default")) {
    read_default(kernel, child(pointer, "default"), result);
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
std::vector<Configuration> SpaceReader::read_configurations(const Json& value,
                                                            const std::string& pointer,
                                                            KernelTemplate& result) {
  std::vector<Configuration> listed;
  std::set<std::string> own;  // Parameters that have no list of values.
  if (!check_list(value, pointer, "a list of configurations")) return listed;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string place = child(pointer, i);
    if (!value[i].is_object()) {
      fault(place, summary(value[i]) + " is not an object of values");
      continue;
    }
    Configuration& one = listed.emplace_back();
    for (const auto& [name, given] : value[i].items()) {
      const std::string where = child(place, name);
      const auto found = scalar(given, where);
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
      } else if (!values.empty() && holds_word(values.front()) != holds_word(*found)) {
        fault(where, quote(to_text(*found)) + " is " +
                         (holds_word(*found) ? "a word" : "an integer") +
                         ", but the first value is " + quote(to_text(values.front())));
      } else if (is_new) {
        values.push_back(*found);
      }
      one.emplace(name, *found);
    }
  }
  return listed;
}

std::vector<Value> SpaceReader::parameter_values(const Json& given, const std::string& pointer) {
  std::vector<Value> values;
  std::set<Value> seen;
  if (!check_list(given, pointer, "a list of values")) return values;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string place = child(pointer, i);
    const auto found = scalar(given[i], place);
    if (!found) continue;
    if (!seen.insert(*found).second) {
      fault(place, quote(to_text(*found)) + " occurs twice");
    } else if (!values.empty() && holds_word(values.front()) != holds_word(*found)) {
      fault(place, quote(to_text(*found)) + " is " +
                       (holds_word(*found) ? "a word" : "an integer") +
                       ", but the first value is " + quote(to_text(values.front())));
    } else {
      values.push_back(*found);
    }
  }
  return values;
}

void SpaceReader::read_default(const Json& kernel, const std::string& pointer,
                               KernelTemplate& result) {
  const Json& value = kernel["default"];
  if (!value.is_object()) {
    fault(pointer, summary(value) + " is not an object of values");
    return;
  }
  const std::vector<std::string> known = names_of(result.default_configuration);
  for (const auto& [name, given] : value.items()) {
    const std::string place = child(pointer, name);
    const auto parameter = std::ranges::find(result.parameters, name, &Parameter::name);
    if (parameter == result.parameters.end()) {
      if (kernel.contains("parameters") && kernel["parameters"].contains(name)) continue;
      fault(place, "there is no parameter " + quote(name) + suggestion(name, known));
      continue;
    }
    const auto found = scalar(given, place);
    if (!found) continue;
    const std::vector<Value>& values = parameter->values;
    if (std::ranges::find(values, *found) == values.end()) {
      std::vector<std::string> texts;
      texts.reserve(values.size());
      for (const Value& other : values) texts.push_back(to_text(other));
      fault(place,
            quote(to_text(*found)) + " is not one of the parameter's values " + listed(texts));
      continue;
    }
    result.default_configuration.insert_or_assign(name, *found);
  }
}

void SpaceReader::read_features(const Json& value, const std::string& pointer,
                                KernelTemplate& result) {
  if (!check_list(value, pointer, "a list of features")) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    const auto feature = text(value[i], where, "a feature of a device");
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

void SpaceReader::read_options(const Json& value, const std::string& pointer,
                               KernelTemplate& result) {
  if (!value.is_array()) {
    fault(pointer, summary(value) + " is not a list of options");
    return;
  }
  std::set<std::string> names;  // Names before the `=`.
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    const auto option = text(value[i], where, "an option of the compiler");
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

void SpaceReader::read_include(const Json& value, const std::string& pointer,
                               KernelTemplate& result) {
  if (!value.is_array()) {
    fault(pointer, summary(value) + " is not a list of folders");
    return;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    const auto folder = text(value[i], where, "a folder");
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
