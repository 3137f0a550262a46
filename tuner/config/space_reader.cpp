#include "tuner/config/space_reader.h"

#include "tuner/config/space_words.h"
#include "tuner/config/t1_file.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/input_file.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <utility>

namespace smemtune {
namespace {

// Default factor on the reference's own error: see engine/tolerance_derivation.h.
constexpr double kDerivedFactor = 16;

}  // namespace

LoadedSpace SpaceReader::read(const std::optional<std::string>& given) {
  LoadedSpace loaded;
  loaded.text = given ? *given : read_text(file(), kMaxFileBytes);
  loaded.sha256 = sha256(loaded.text);
  const Json document = parse(loaded.text);
  is_t1_ = is_t1(document);
  const Json root = is_t1_ ? translated(document) : document;
  space_.file = file();
  if (!check_object(root, "", "space")) return loaded;

  if (root.contains("name")) {
    space_.name = identifier(root["name"], "/name").value_or("");
  } else {
    fault("", "lacks \"name\"");
  }
  if (root.contains("$schema")) text(root["$schema"], "/$schema", "the schema's path");
  if (root.contains("description")) {
    space_.description = text(root["description"], "/description", "a string").value_or("");
  }
  read_problems(root);
  if (root.contains("arguments")) {
    arguments_ = read_arguments(root["arguments"], "/arguments", false);
  }
  if (root.contains("metrics")) metrics_ = read_metrics(root["metrics"], "/metrics");
  if (root.contains("verify")) read_verify(root);
  if (!root.contains("kernels")) {
    fault("", "lacks \"kernels\"");
  } else if (check_list(root["kernels"], "/kernels", "a list of kernels")) {
    for (std::size_t i = 0; i < root["kernels"].size(); ++i) {
      space_.kernels.push_back(read_kernel(root["kernels"][i], child("/kernels", i)));
    }
  }
  check_names();
  choose_reference();

  // The following checks assume correct values.
  if (!faults().empty()) return loaded;
  check_buffers_agree();
  for (const KernelTemplate& kernel : space_.kernels) check_arguments(kernel);
  for (KernelTemplate& kernel : space_.kernels) {
    check_source(kernel, loaded);
    check_guess(kernel, loaded);
    check_swaps(kernel, loaded);
  }
  if (!faults().empty()) return loaded;
  for (const KernelTemplate& kernel : space_.kernels) check_values(kernel);
  check_init_definitions();
  check_definitions();
  check_guessed_definition(loaded);
  check_expected();
  check_derived(loaded);
  loaded.space = std::move(space_);
  return loaded;
}

Json SpaceReader::translated(const Json& t1) const {
  try {
    const Json& kernel = t1["KernelSpecification"];
    const std::filesystem::path source =
        file().parent_path() / (kernel.value("KernelFile", Json()).is_string()
                                    ? kernel["KernelFile"].get<std::string>()
                                    : "");
    std::error_code ignored;
    const bool is_there = std::filesystem::is_regular_file(source, ignored);
    return space_of_t1(t1, is_there ? read_text(source, kMaxFileBytes) : "");
  } catch (const InputError& error) {
    throw InputError(file().string() + ": " + error.what());
  }
}

void SpaceReader::read_problems(const Json& root) {
  if (root.contains("problems")) {
    space_.problems = problem_list(root["problems"], "/problems");
  } else {
    fault("", "lacks \"problems\"");
  }
  if (root.contains("cpu_problems")) {
    space_.cpu_problems = problem_list(root["cpu_problems"], "/cpu_problems");
  }
}

std::vector<Problem> SpaceReader::problem_list(const Json& value, const std::string& pointer) {
  std::vector<Problem> problems;
  if (!check_list(value, pointer, "a list of problems")) return problems;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    if (!value[i].is_object() || value[i].empty()) {
      fault(where, summary(value[i]) + " is not an object of sizes and types");
      continue;
    }
    Problem problem;
    bool complete = true;
    for (const auto& [name, member] : value[i].items()) {
      if (!is_identifier(name)) {
        fault(child(where, name), quote(name) + " is not a name");
        complete = false;
      } else if (const auto found = scalar(member, child(where, name))) {
        problem.emplace(name, *found);
      } else {
        complete = false;
      }
    }
    if (!complete) continue;

    // All problems are of one family: they have the names and kinds of the first one.
    const Problem& first = !space_.problems.empty() ? space_.problems.front()
                           : !problems.empty()      ? problems.front()
                                                    : problem;
    const std::vector<std::string> known = names_of(first);
    for (const auto& [name, found] : problem) {
      const auto expected = first.find(name);
      if (expected == first.end()) {
        fault(child(where, name),
              "the first problem has no " + quote(name) + suggestion(name, known));
        complete = false;
      } else if (holds_word(expected->second) != holds_word(found)) {
        fault(child(where, name),
              quote(to_text(found)) + " is " + (holds_word(found) ? "a word" : "an integer") +
                  ", but the first problem has " + quote(to_text(expected->second)));
        complete = false;
      }
    }
    for (const std::string& name : known) {
      if (problem.contains(name)) continue;
      fault(where, "lacks " + quote(name) + ", which the first problem has");
      complete = false;
    }
    if (complete && std::find(problems.begin(), problems.end(), problem) != problems.end()) {
      fault(where, quote(key(problem)) + " occurs twice");
    } else if (complete) {
      problems.push_back(problem);
    }
  }
  return problems;
}

std::map<std::string, ExpressionText> SpaceReader::read_metrics(const Json& value,
                                                                const std::string& pointer) {
  std::map<std::string, ExpressionText> metrics;
  if (!value.is_object()) {
    fault(pointer, summary(value) + " is not an object of expressions");
    return metrics;
  }
  for (const auto& [name, member] : value.items()) {
    if (!is_identifier(name)) fault(child(pointer, name), quote(name) + " is not a name");
    if (const auto found = expression(member, child(pointer, name))) metrics.emplace(name, *found);
  }
  return metrics;
}

void SpaceReader::read_tolerance(const Json& value, const std::string& pointer, Tolerance& result) {
  read_derived(value, pointer, result);
  if (value.contains("ulps")) {
    result.ulps = tolerance(value["ulps"], child(pointer, "ulps"));
  }
  if (value.contains("absolute")) {
    result.absolute = tolerance(value["absolute"], child(pointer, "absolute"));
  }
  if (value.contains("relative")) {
    const std::string where = child(pointer, "relative");
    result.relative = tolerance(value["relative"], where);
    if (result.relative && *result.relative >= 1) {
      fault(where,
            summary(value["relative"]) + " would accept 0 for every value; give less than 1");
    }
  }
}

/// Reads a tolerance derived from the reference's own error. A kernel's replaces the space's.
void SpaceReader::read_derived(const Json& value, const std::string& pointer, Tolerance& result) {
  const bool has_numbers =
      value.contains("absolute") || value.contains("relative") || value.contains("ulps");
  if (!value.contains("derived")) {
    if (has_numbers) result.derived.reset();
    return;
  }
  const std::string where = child(pointer, "derived");
  const Json& factor = value["derived"];
  if (has_numbers) {
    fault(where, "cannot be combined with absolute, relative or ulps, which it replaces");
  } else if (factor.is_boolean() && factor.get<bool>()) {
    result = {.absolute = {}, .relative = {}, .derived = kDerivedFactor};
  } else if (factor.is_number() && factor.get<double>() >= 1) {
    result = {.absolute = {}, .relative = {}, .derived = factor.get<double>()};
  } else {
    fault(where, summary(factor) + " is neither true nor a factor of 1 or more");
  }
}

void SpaceReader::read_expected(const Json& value, const std::string& pointer) {
  if (!value.is_object() || value.empty()) {
    fault(pointer, summary(value) + " is not an object of .npy files by output");
    return;
  }
  for (const auto& [output, file] : value.items()) {
    const std::string where = child(pointer, output);
    const auto name = text(file, where, "the name of a .npy file");
    if (!name) continue;
    try {
      space_.verify.expected.emplace(output, data_file(*name));
    } catch (const InputError& error) {
      fault(where, error.what());
    }
  }
}

void SpaceReader::read_verify(const Json& root) {
  const Json& value = root["verify"];
  if (!check_object(value, "/verify", "verify")) return;
  read_tolerance(value, "/verify", tolerance_);
  if (value.contains("description")) {
    text(value["description"], "/verify/description", "a string");
  }
  if (value.contains("reference")) {
    space_.verify.reference =
        text(value["reference"], "/verify/reference", "the name of a kernel").value_or("");
  }
  if (value.contains("also_reference")) {
    space_.verify.also_reference =
        text(value["also_reference"], "/verify/also_reference", "the name of a kernel")
            .value_or("");
  }
  if (value.contains("also")) space_.verify.also = problem_list(value["also"], "/verify/also");
  if (value.contains("expected")) read_expected(value["expected"], "/verify/expected");
  space_.verify.definition_is_a_guess = flag(value, "definition_is_a_guess", "/verify");
  if (!value.contains("definition")) return;
  const Json& definition = value["definition"];
  if (definition.is_array() && !definition.empty()) {
    for (std::size_t i = 0; i < definition.size(); ++i) {
      const std::string where = child("/verify/definition", i);
      if (const auto found = text(definition[i], where, "a definition")) {
        space_.verify.definitions.push_back({.text = *found, .where = where});
      }
    }
  } else if (const auto found =
                 text(definition, "/verify/definition", "a definition or a list of them")) {
    space_.verify.definitions.push_back({.text = *found, .where = "/verify/definition"});
  }
}

}  // namespace smemtune
