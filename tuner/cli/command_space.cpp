#include "db/json_forms.h"
#include "reports/table.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/limits.h"
#include "tuner/core/space.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::cli {
namespace {

/// Statistics of a kernel's search space for one problem and device.
struct SpaceSurvey {
  std::string kernel;
  Problem problem;
  std::string device;
  double cartesian = 0;     ///< Number of points in the product of all values.
  bool is_listed = true;    ///< True if the valid points could be counted.
  std::uint64_t valid = 0;  ///< Number of points that satisfy the constraints.
  /// Number of points more that would be valid without the constraint; nullopt: not countable.
  struct Constraint {
    std::string text;
    std::optional<std::uint64_t> removes;
  };
  std::vector<Constraint> constraints = {};
  /// Number of configurations that were checked against the device's limits: all, or a random
  /// sample.
  std::uint64_t looked_at = 0;
  std::uint64_t fit = 0;
  /// Number of configurations that exceed a limit, by the limit's name.
  std::vector<std::pair<std::string, std::uint64_t>> beyond_limits = {};
  struct Values {
    std::string name;
    /// Number of configurations that fit, by value.
    std::vector<std::pair<std::string, std::uint64_t>> left;
  };
  std::vector<Values> parameters = {};
  std::vector<Configuration> samples = {};  ///< Some of the configurations that fit.
};

using db::Json;

constexpr std::uint64_t kMostLookedAt = 200'000;
// Limit for spaces that are not listed, where each configuration is built separately.
constexpr std::uint64_t kMostDrawn = 20'000;

/// Returns how many more configurations are valid without condition `i` of one of the kernel's lists.
std::optional<std::uint64_t> removed_by(const Space& space, const KernelTemplate& kernel,
                                        std::vector<ExpressionText> KernelTemplate::*list,
                                        std::size_t i, const Problem& problem, const Device& device,
                                        std::uint64_t valid) {
  KernelTemplate without = kernel;
  (without.*list).erase((without.*list).begin() + static_cast<std::ptrdiff_t>(i));
  const KernelBinding bound(space, without, problem, device);
  try {
    if (!bound.search_space().is_listed()) return std::nullopt;
    return bound.search_space().size() - valid;
    // The constraint excludes points where other constraints have no value.
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::string count_or_power(double count) {
  return count < 1e15 ? format_count(static_cast<std::uint64_t>(count)) : significant(count, 3);
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "0.0 %";
  return decimal(100 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
}

std::string survey_text(const SpaceSurvey& survey) {
  std::string text = printable(survey.kernel) + " (" + printable(key(survey.problem)) + ", " +
                     printable(survey.device) + "): " + count_or_power(survey.cartesian) +
                     " points, " +
                     (survey.is_listed ? format_count(survey.valid) + " satisfy the constraints"
                                       : "too many to count those that satisfy the constraints") +
                     "\n";
  if (!survey.constraints.empty()) {
    Table table({">would also be valid", "without the constraint"});
    for (const SpaceSurvey::Constraint& constraint : survey.constraints) {
      const std::string removes =
          constraint.removes ? format_count(*constraint.removes) : "cannot be counted";
      table.add_row({removes, printable(constraint.text)});
    }
    text += table.text("  ");
  }
  text += "  " + format_count(survey.fit) + " of " + format_count(survey.looked_at) +
          (survey.looked_at != survey.valid ? " drawn at random" : "") +
          " fit the device as far as is known before compiling\n";
  for (const auto& [limit, count] : survey.beyond_limits) {
    text += "    " + printable(limit) + ": " + format_count(count) + " do not\n";
  }
  Table values({"parameter", "values left"});
  for (const SpaceSurvey::Values& parameter : survey.parameters) {
    values.add_row({printable(parameter.name), joined(parameter.left, ", ", [&](const auto& left) {
                      return printable(left.first) + " (" + share(left.second, survey.fit) + ")";
                    })});
  }
  text += values.text("  ");
  for (const Configuration& sample : survey.samples) text += "  " + printable(key(sample)) + "\n";
  return text;
}

Json survey_json(const SpaceSurvey& survey) {
  const auto constraint_json = [](const SpaceSurvey::Constraint& constraint) -> Json {
    return {{"text", constraint.text}, {"removes", db::or_null(constraint.removes)}};
  };
  Json json = {{"kernel", survey.kernel},
               {"problem", db::bindings_json(survey.problem)},
               {"device", survey.device},
               {"cartesian", survey.cartesian},
               {"valid", survey.is_listed ? Json(survey.valid) : Json(nullptr)},
               {"constraints", db::list_json(survey.constraints, constraint_json)},
               {"looked_at", survey.looked_at},
               {"fit", survey.fit},
               {"beyond_limits", Json::object()},
               {"parameters", Json::object()},
               {"samples", db::list_json(survey.samples, db::bindings_json)}};
  for (const auto& [limit, count] : survey.beyond_limits) json["beyond_limits"][limit] = count;
  for (const SpaceSurvey::Values& parameter : survey.parameters) {
    Json& left = json["parameters"][parameter.name] = Json::object();
    for (const auto& [value, count] : parameter.left) left[value] = count;
  }
  return json;
}

/// Throws InputError like KernelBinding.
SpaceSurvey survey(const Space& space, const KernelTemplate& kernel, const Problem& problem,
                   const Device& device, std::size_t samples, std::uint64_t seed) {
  const KernelBinding bound(space, kernel, problem, device);
  const SearchSpace& valid = bound.search_space();
  SpaceSurvey survey = {.kernel = kernel.name,
                        .problem = problem,
                        .device = device.name,
                        .cartesian = valid.cartesian_size(),
                        .is_listed = valid.is_listed(),
                        .valid = valid.is_listed() ? valid.size() : 0};
  for (const auto list : {&KernelTemplate::constraints, &KernelTemplate::promising}) {
    for (std::size_t i = 0; survey.is_listed && i < (kernel.*list).size(); ++i) {
      survey.constraints.push_back(
          {.text = (kernel.*list)[i].text,
           .removes = removed_by(space, kernel, list, i, problem, device, valid.size())});
    }
  }
  const std::uint64_t most = survey.is_listed ? kMostLookedAt : kMostDrawn;
  std::vector<std::vector<std::uint64_t>> left;
  for (const Parameter& parameter : valid.parameters()) left.emplace_back(parameter.values.size());
  std::map<std::string, std::uint64_t> beyond;
  const Permutation order(valid.size(), seed);
  RandomEngine random(seed);
  for (; survey.looked_at < std::min(valid.size(), most); ++survey.looked_at) {
    const std::optional<ConfigurationIndex> drawn =
        survey.is_listed ? order(survey.looked_at) : valid.draw(random);
    if (!drawn) break;
    const ConfigurationIndex index = *drawn;
    const Configuration configuration = valid.configuration(index);
    const auto failure = exceeds_limits(bound.instantiate(configuration), device);
    if (failure) {
      ++beyond[failure->reason];
      continue;
    }
    ++survey.fit;
    const std::vector<std::size_t> values = valid.value_indices(index);
    for (std::size_t p = 0; p < values.size(); ++p) ++left[p][values[p]];
    if (survey.samples.size() < samples) survey.samples.push_back(configuration);
  }
  survey.beyond_limits.assign(beyond.begin(), beyond.end());
  for (std::size_t p = 0; p < left.size(); ++p) {
    const Parameter& parameter = valid.parameters()[p];
    SpaceSurvey::Values values = {.name = parameter.name, .left = {}};
    for (std::size_t v = 0; v < left[p].size(); ++v) {
      values.left.emplace_back(to_text(parameter.values[v]), left[p][v]);
    }
    survey.parameters.push_back(std::move(values));
  }
  return survey;
}

std::string space_text(std::span<const SpaceSurvey> surveys) {
  return joined(surveys, "\n", survey_text);
}

std::string space_json(std::span<const SpaceSurvey> surveys) {
  return db::document_text("smemtune-space", 1, {{"kernels", db::list_json(surveys, survey_json)}});
}

struct SpaceOptions {
  std::filesystem::path space;
  std::vector<std::string> kernels;   ///< Empty: all kernels.
  std::vector<std::string> problems;  ///< Empty: the first one of the file.
  std::string device;                 ///< Empty: the first GPU in this machine, otherwise the H200.
  std::filesystem::path database;
  std::uint64_t samples = 5;
  std::uint64_t seed = 1;
  bool json = false;
};

void add_space_options(CLI::App& app, SpaceOptions& options) {
  app.add_option("FILE", options.space, "The space file")->required();
  add_repeatable(app, "--kernel", options.kernels, "Only this kernel; may be repeated [all]",
                 "NAME");
  add_repeatable(app, "--problem", options.problems,
                 "NAME=VALUE,...; may be repeated [the file's first]", "KEY");
  add_value(app, "--device", options.device,
            "Any known GPU, or sm_XX [the first GPU; the H200 where there is none]", "NAME");
  add_database(app, options.database);
  add_count(app, "--samples", options.samples, 0, 1'000'000,
            "Configurations of each kernel to show [5]");
  add_count(app, "--seed", options.seed, 0, UINT64_MAX, "Seed that chooses those shown [1]");
  app.add_flag("--json", options.json, "Print as JSON");
}

/// Prints statistics of the search spaces in a file. Compiles and measures nothing.
int run_space(const SpaceOptions& options) {
  const LoadedSpace loaded = load_space(find_space(options.space), share_folder());
  const Device device = device_to_check(options.device, options.database);
  std::vector<Problem> problems = chosen_problems(loaded.space, options.problems, device.kind);
  if (options.problems.empty() && problems.size() > 1) problems.resize(1);
  std::vector<SpaceSurvey> surveys;
  for (const Problem& problem : problems) {
    for (const KernelTemplate* kernel : chosen_kernels(loaded.space, options.kernels)) {
      surveys.push_back(
          survey(loaded.space, *kernel, problem, device, options.samples, options.seed));
    }
  }
  write_document(options.json ? space_json(surveys) : space_text(surveys));
  return 0;
}

}  // namespace

void add_space_command(Commands& commands) {
  commands.add<SpaceOptions>("space",
                             "Show what a search space is made of, and what removes most of it",
                             add_space_options, run_space);
}

}  // namespace smemtune::cli
