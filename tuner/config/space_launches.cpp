#include "tuner/config/space_reader.h"
#include "tuner/config/space_words.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <utility>

// The part of SpaceReader that reads launches.

namespace smemtune {
namespace {

const LaunchTemplate kNoLaunch;

}  // namespace

/// Reads the launch or launches of a kernel, or of one item of its list of launches.
void SpaceReader::read_launches(const Given& given, bool of_kernel, KernelTemplate& result) {
  if (given.has("entry") == given.has("launches")) {
    fault(given.where, "needs either \"entry\" with \"block\" and \"grid\", or \"launches\"");
    return;
  }
  const std::size_t first = result.launches.size();
  if (given.has("entry")) {
    LaunchTemplate launch = read_launch(given);
    if (!of_kernel && given.has("arguments")) {
      launch.arguments = passed_arguments(given["arguments"], result);
    }
    result.launches.push_back(std::move(launch));
  } else {
    visit_launch_keys(
        [&](const SpaceKey& key, const auto&) {
          if (!given.has(key.name) || (of_kernel && key.name == "arguments")) return;
          fault(child(given.where, key.name), "belongs in each of the launches");
        },
        kNoLaunch);
    const std::vector<Given> launches = list(given["launches"], "a list of launches");
    if (launches.empty()) return;
    for (const Given& launch : launches) {
      if (check_object(launch, "launch")) read_launches(launch, false, result);
    }
  }
  if (given.has("repeat")) {
    read_repeat(given, first, result);
  } else if (given.has("swap")) {
    fault(child(given.where, "swap"), "needs \"repeat\" beside it");
  }
}

std::vector<std::string> SpaceReader::passed_arguments(const Given& given,
                                                       const KernelTemplate& kernel) {
  std::vector<std::string> passed;
  std::vector<std::string> known;
  for (const ArgumentTemplate& argument : kernel.arguments) {
    if (argument.is_passed()) known.push_back(argument.name);
  }
  for (const Given& one : list(given, "a list of arguments' names")) {
    const auto name = text(one, "an argument's name");
    if (!name) continue;
    if (std::find(known.begin(), known.end(), *name) == known.end()) {
      fault(one.where,
            "there is no argument " + quote(*name) + " to pass" + suggestion(*name, known));
    }
    passed.push_back(*name);
  }
  return passed;
}

/// Reads a repetition: `i < N / TILE`, or only the number.
void SpaceReader::read_repeat(const Given& given, std::size_t first, KernelTemplate& result) {
  const std::string where = child(given.where, "repeat");
  Repeat repeat = {
      .first = first, .end = result.launches.size(), .counter = "", .times = {}, .swaps = {}};
  const auto times = expression(given["repeat"]);
  if (!times) return;
  repeat.times = *times;
  const std::string whole = trimmed(times->text);
  const std::size_t less = whole.find('<');
  const std::string name = trimmed(whole.substr(0, less));
  if (less != std::string::npos && is_identifier(name) && whole.substr(less, 2) != "<=" &&
      whole.substr(less, 2) != "<<") {
    repeat.counter = name;
    repeat.times.text = trimmed(whole.substr(less + 1));
    if (const std::string meaning = reserved_meaning(name); !meaning.empty()) {
      fault(where, quote(name) + " cannot count the repetitions, because it is " + meaning);
    }
  }
  if (given.has("swap")) read_swaps(given["swap"], result, repeat);
  const bool is_inside = std::ranges::any_of(
      result.repeats, [first](const Repeat& other) { return other.first >= first; });
  if (is_inside) return fault(where, "is inside another \"repeat\"; repeats cannot be nested");
  result.repeats.push_back(std::move(repeat));
}

void SpaceReader::read_swaps(const Given& given, const KernelTemplate& kernel, Repeat& repeat) {
  for (const Given& swap : list(given, "a list of pairs of buffers")) {
    const std::string& where = swap.where;
    if (!swap.value.is_array() || swap.value.size() != 2) {
      fault(where, summary(swap.value) + " is not a pair of buffers such as [\"a\", \"b\"]");
      continue;
    }
    const std::vector<std::string> names = passed_arguments(swap, kernel);
    std::vector<const ArgumentTemplate*> pair;
    for (const std::string& name : names) {
      const auto found = std::ranges::find(kernel.arguments, name, &ArgumentTemplate::name);
      if (found == kernel.arguments.end()) continue;
      if (!found->is_buffer()) {
        fault(where, quote(name) + " is a scalar; only buffers can be swapped");
      } else if (found->role == Role::input) {
        fault(where, quote(name) + " is an input, which must stay unchanged; make it \"inout\"");
      } else {
        pair.push_back(&*found);
      }
    }
    if (pair.size() != 2) continue;
    const auto same = [](const ExpressionText& a, const ExpressionText& b) {
      return a.text == b.text;
    };
    const bool is_open = std::ranges::any_of(pair, [](const ArgumentTemplate* one) {
      return is_todo(one->type) || std::ranges::any_of(one->shape, is_todo, &ExpressionText::text);
    });
    if (!is_open && (pair[0]->type != pair[1]->type ||
                     !std::ranges::equal(pair[0]->shape, pair[1]->shape, same))) {
      fault(where, quote(names[0]) + " and " + quote(names[1]) +
                       " have different types or shapes and cannot be swapped");
      continue;
    }
    const auto is_known = [&](const std::string& name) {
      return std::ranges::any_of(
          repeat.swaps, [&](const auto& other) { return other[0] == name || other[1] == name; });
    };
    if (names[0] == names[1]) {
      fault(where, quote(names[0]) + " cannot be swapped with itself");
    } else if (is_known(names[0]) || is_known(names[1])) {
      fault(where, quote(is_known(names[0]) ? names[0] : names[1]) +
                       " is already swapped in another pair");
    } else {
      repeat.swaps.push_back({names[0], names[1]});
    }
  }
}

LaunchTemplate SpaceReader::read_launch(const Given& given) {
  LaunchTemplate launch;
  text_of(given, "description", "a string");
  require(given, {"entry", "block", "grid"});
  launch.entry = text_of(given, "entry", "a function's name");
  if (!launch.entry.empty()) {
    const std::string where = child(given.where, "entry");
    try {
      const auto [name, arguments] = split_entry(launch.entry);
      launch.entry_name = name;
      for (const std::string& argument : arguments) {
        launch.template_arguments.push_back({.text = argument, .where = where});
      }
    } catch (const InputError& error) {
      fault(where, error.what());
    }
  }
  visit_launch_keys(
      [&](const SpaceKey& key, auto& result) {
        // Names of arguments, not expressions, are read once all of the kernel's are known.
        if constexpr (!std::same_as<decltype(result), std::vector<std::string>&>) {
          read_key(given, key, result);
        }
      },
      launch);
  return launch;
}

}  // namespace smemtune
