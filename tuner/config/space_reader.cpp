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
  const Json json = is_t1_ ? translated(document) : document;
  const Given root = {json, ""};
  space_.file = file();
  if (!check_object(root, "space")) return loaded;
  require(root, {"name"});
  if (root.has("name")) space_.name = identifier(root["name"]).value_or("");
  text_of(root, "$schema", "the schema's path");
  space_.description = text_of(root, "description", "a string");
  require(root, {"problems"});
  if (root.has("problems")) space_.problems = problem_list(root["problems"]);
  if (root.has("cpu_problems")) space_.cpu_problems = problem_list(root["cpu_problems"]);
  if (root.has("arguments")) arguments_ = read_arguments(root["arguments"], false);
  if (root.has("metrics")) metrics_ = read_metrics(root["metrics"]);
  if (root.has("verify")) read_verify(root["verify"]);
  require(root, {"kernels"});
  if (root.has("kernels")) {
    for (const Given& kernel : list(root["kernels"], "a list of kernels")) {
      space_.kernels.push_back(read_kernel(kernel));
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

std::vector<Problem> SpaceReader::problem_list(const Given& given) {
  std::vector<Problem> problems;
  for (const Given& one : list(given, "a list of problems")) {
    const std::string& where = one.where;
    if (!one.value.is_object() || one.value.empty()) {
      fault(where, summary(one.value) + " is not an object of sizes and types");
      continue;
    }
    Problem problem;
    bool complete = true;
    for (const auto& [name, member] : one.members()) {
      if (!is_identifier(name)) {
        fault(member.where, quote(name) + " is not a name");
        complete = false;
      } else if (const auto found = scalar(member)) {
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

std::map<std::string, ExpressionText> SpaceReader::read_metrics(const Given& given) {
  std::map<std::string, ExpressionText> metrics;
  if (!given.value.is_object()) {
    fault(given.where, summary(given.value) + " is not an object of expressions");
  }
  for (const auto& [name, member] : given.members()) {
    if (!is_identifier(name)) fault(member.where, quote(name) + " is not a name");
    if (const auto found = expression(member)) metrics.emplace(name, *found);
  }
  return metrics;
}

void SpaceReader::read_tolerance(const Given& given, Tolerance& result) {
  read_derived(given, result);
  if (given.has("ulps")) result.ulps = tolerance(given["ulps"]);
  if (given.has("absolute")) result.absolute = tolerance(given["absolute"]);
  if (!given.has("relative")) return;
  const Given relative = given["relative"];
  result.relative = tolerance(relative);
  if (result.relative && *result.relative >= 1) {
    fault(relative.where,
          summary(relative.value) + " would accept 0 for every value; give less than 1");
  }
}

/// Reads a tolerance derived from the reference's own error. A kernel's replaces the space's.
void SpaceReader::read_derived(const Given& given, Tolerance& result) {
  const bool has_numbers = given.has("absolute") || given.has("relative") || given.has("ulps");
  if (!given.has("derived")) {
    if (has_numbers) result.derived.reset();
    return;
  }
  const auto [factor, where] = given["derived"];
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

void SpaceReader::read_expected(const Given& given) {
  if (!given.value.is_object() || given.value.empty()) {
    fault(given.where, summary(given.value) + " is not an object of .npy files by output");
  }
  for (const auto& [output, file] : given.members()) {
    const auto name = text(file, "the name of a .npy file");
    if (!name) continue;
    try {
      space_.verify.expected.emplace(output, data_file(*name));
    } catch (const InputError& error) {
      fault(file.where, error.what());
    }
  }
}

void SpaceReader::read_verify(const Given& given) {
  if (!check_object(given, "verify")) return;
  read_tolerance(given, tolerance_);
  text_of(given, "description", "a string");
  space_.verify.reference = text_of(given, "reference", "the name of a kernel");
  space_.verify.also_reference = text_of(given, "also_reference", "the name of a kernel");
  if (given.has("also")) space_.verify.also = problem_list(given["also"]);
  if (given.has("expected")) read_expected(given["expected"]);
  space_.verify.definition_is_a_guess = flag(given, "definition_is_a_guess");
  if (!given.has("definition")) return;
  const Given definition = given["definition"];
  const auto add = [&](const Given& one, const char* expected) {
    const auto found = text(one, expected);
    if (found) space_.verify.definitions.push_back({.text = *found, .where = one.where});
  };
  if (definition.value.is_array() && !definition.value.empty()) {
    for (const Given& one : list(definition, "definitions")) add(one, "a definition");
  } else {
    add(definition, "a definition or a list of them");
  }
}

}  // namespace smemtune
