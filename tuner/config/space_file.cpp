#include "tuner/config/space_file.h"

#include "tuner/config/space_reader.h"
#include "tuner/config/space_words.h"
#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/text.h"

namespace smemtune {

namespace {

/// Throws InputError unless `value` and `expected` are both words or both integers.
void check_kind(const std::string& shown, const std::string& name, const Value& value,
                const Value& expected) {
  if (holds_word(value) != holds_word(expected)) {
    throw InputError(shown + quote(name) + " is " +
                     (holds_word(expected) ? "a word" : "an integer") + ", such as " +
                     quote(to_text(expected)) + ", not " + quote(to_text(value)));
  }
  if (holds_word(value) && !is_word(std::string_view(std::get<std::string>(value)))) {
    throw InputError(shown + quote(to_text(value)) + " is not a word");
  }
}

LoadedSpace without_faults(SpaceReader&& reader, const std::optional<std::string>& text) {
  LoadedSpace loaded = reader.read(text);
  if (!reader.faults().empty()) throw InputError(reader.faults().front());
  return loaded;
}

}  // namespace

LoadedSpace load_space(const std::filesystem::path& file, const std::filesystem::path& share) {
  return without_faults(SpaceReader(file, share), {});
}

LoadedSpace load_space_text(const std::filesystem::path& file, const std::filesystem::path& share,
                            const std::string& text) {
  return without_faults(SpaceReader(file, share), text);
}

std::vector<std::string> check_space(const std::filesystem::path& file,
                                     const std::filesystem::path& share) {
  SpaceReader reader(file, share);
  try {
    reader.read();
  } catch (const InputError& error) {
    return {error.what()};
  }
  return reader.faults();
}

const std::map<std::string, std::vector<std::string>>& space_file_keys() {
  using Keys = std::vector<std::string>;
  // A kernel of one launch has the launch's keys itself.
  const auto and_of_launch = [&](Keys keys) {
    keys.insert(keys.end(), {"entry", "launches", "repeat", "swap"});
    const LaunchTemplate launch;
    visit_launch_keys([&](const SpaceKey& key, const auto&) { keys.emplace_back(key.name); },
                      launch);
    return keys;
  };
  const auto of_argument = [] {
    Keys keys = {"name",   "description", "type",    "role",    "init",   "compare",   "nan_agrees",
                 "memory", "symbol",      "members", "address", "filter", "normalized"};
    const ArgumentTemplate argument;
    visit_argument_keys([&](const SpaceKey& key, const auto&) { keys.emplace_back(key.name); },
                        argument);
    return keys;
  };
  static const std::map<std::string, Keys> keys = {
      {"space",
       {"$schema", "name", "description", "problems", "cpu_problems", "arguments", "metrics",
        "verify", "kernels"}},
      {"argument", of_argument()},
      {"verify",
       {"description", "reference", "absolute", "relative", "ulps", "derived", "also",
        "also_reference", "definition", "definition_is_a_guess", "expected"}},
      {"kernel", and_of_launch({"name", "description", "source", "pass", "include", "options",
                                "architecture_specific", "requires", "parameters", "configurations",
                                "default", "default_is_a_guess", "constraints", "promising",
                                "metrics", "expect", "verify"})},
      {"expect", {"time", "within_percent"}},
      {"parameter", {"values", "when"}},
      {"kernel_verify", {"absolute", "relative", "ulps", "derived"}},
      {"launch", and_of_launch({"description"})}};
  return keys;
}

Problem parse_problem(const Space& space, std::string_view text) {
  Problem problem = parse_key(text);
  const std::string shown = "problem " + quote(text) + ": ";
  const Problem& first = space.problems.front();
  const std::vector<std::string> known = names_of(first);
  for (const auto& [name, value] : problem) {
    const auto expected = first.find(name);
    if (expected == first.end()) {
      throw InputError(shown + "space '" + space.name + "' has no " + quote(name) +
                       ", its problems have " + listed(known) + suggestion(name, known));
    }
    check_kind(shown, name, value, expected->second);
  }
  for (const std::string& name : known) {
    if (!problem.contains(name)) {
      throw InputError(shown + "lacks " + quote(name) + "; a problem is like " + quote(key(first)));
    }
  }
  return problem;
}

Configuration parse_configuration(const KernelTemplate& kernel, std::string_view text) {
  Configuration configuration = kernel.default_configuration;
  if (text.empty()) return configuration;
  const std::string shown = "configuration " + quote(text) + ": ";
  const std::vector<std::string> known = names_of(configuration);
  for (const auto& [name, value] : parse_key(text)) {
    const auto expected = configuration.find(name);
    if (expected == configuration.end()) {
      throw InputError(shown + "kernel '" + kernel.name + "' has no " + quote(name) +
                       ", its parameters are " + listed(known) + suggestion(name, known));
    }
    check_kind(shown, name, value, expected->second);
    expected->second = value;
  }
  return configuration;
}

}  // namespace smemtune
