#include "db/json_forms.h"
#include "db/recording.h"
#include "reports/table.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/devices_file.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/launch_cost.h"
#include "tuner/core/text.h"
#include "tuner/search/replay.h"
#include "tuner/search/strategy.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::cli {
namespace {

/// Strategies replayed over one recording.
struct ReplayedRecording {
  std::string name = {};  ///< Kernel, device and problem, for display.
  std::string file;
  std::string device;
  std::string kernel;
  std::string problem;
  std::uint64_t configurations = 0;
  std::uint64_t failed = 0;
  double best_ms = 0;
  struct Strategy {
    std::string name;
    ReplayStatistics statistics;
    /// Evaluations per second on this processor, including the lookup of answers.
    double evaluations_per_s = 0;
  };
  std::vector<Strategy> strategies = {};
};

struct ReplayCommandOptions {
  std::vector<std::filesystem::path> data;
  /// Recordings of the same kernel that the search knows in advance.
  std::vector<std::filesystem::path> from;
  std::filesystem::path space;          ///< Source of launch costs; empty: the search knows none.
  std::string device;                   ///< For `space`; empty: the device of the recording.
  std::vector<std::string> strategies;  ///< Empty: all strategies but `exhaustive`.
  std::uint64_t seeds = 20;
  std::uint64_t first_seed = 1;
  std::uint64_t evaluations = 500;
  std::uint64_t in_flight = 1;
  std::uint64_t compilers = 1;
  bool json = false;
};

using db::Json;
using Quality = ReplayStatistics::Quality;
using Effort = ReplayStatistics::Effort;
using Ended = ReplayStatistics::Ended;

std::string whole_percent(double share) { return decimal(share * 100, 0) + " %"; }

std::string or_dash(const std::optional<double>& number, int digits) {
  return number ? decimal(*number, digits) : "-";
}

/// Formats seconds so that a short time is never `0`.
std::string seconds_text(double seconds) {
  return seconds < 10 ? significant(seconds, 2) : decimal(seconds, 0);
}

std::vector<std::string> columns(const ReplayStatistics& statistics) {
  std::vector<std::string> columns = {"strategy"};
  for (const Quality& quality : statistics.qualities) {
    columns.push_back(">@" + std::to_string(quality.evaluations));
    columns.push_back("(quartiles)");
  }
  for (const Effort& effort : statistics.efforts) {
    columns.push_back(">to " + whole_percent(effort.share));
    columns.push_back(">seconds");
    columns.push_back(">seeds");
  }
  columns.insert(columns.end(), {">ends", ">after", ">wrong", ">regret", ">worst"});
  columns.push_back(">per s");
  return columns;
}

std::string recording_text(const ReplayedRecording& recording) {
  std::string text = printable(recording.name) + ": " + format_count(recording.configurations) +
                     " configurations, " + format_count(recording.failed) + " failed, best " +
                     format_time(recording.best_ms) + "\n";
  Table table(columns(recording.strategies.front().statistics));
  for (const ReplayedRecording::Strategy& strategy : recording.strategies) {
    std::vector<std::string> cells = {strategy.name};
    for (const Quality& quality : strategy.statistics.qualities) {
      cells.push_back(decimal(quality.mean, 3));
      cells.push_back("(" + decimal(quality.q1, 2) + " " + decimal(quality.q3, 2) + ")");
    }
    for (const Effort& effort : strategy.statistics.efforts) {
      cells.push_back(or_dash(effort.evaluations, 0));
      cells.push_back(effort.seconds ? seconds_text(*effort.seconds) : "-");
      cells.push_back(std::to_string(effort.reached));
    }
    const Ended& ended = strategy.statistics.ended;
    cells.push_back(std::to_string(ended.runs));
    cells.push_back(or_dash(ended.evaluations, 0));
    cells.push_back(std::to_string(ended.wrong));
    cells.push_back(ended.runs > 0 ? decimal(100 * ended.mean_regret, 2) + " %" : "-");
    cells.push_back(ended.runs > 0 ? decimal(100 * ended.worst_regret, 1) + " %" : "-");
    cells.push_back(format_count(static_cast<std::uint64_t>(strategy.evaluations_per_s)));
    table.add_row(std::move(cells));
  }
  return text + table.text("  ");
}

/// Returns each strategy's share of the optimum, averaged over all recordings.
std::string means_text(std::span<const ReplayedRecording> recordings) {
  const std::vector<ReplayedRecording::Strategy>& strategies = recordings.front().strategies;
  std::vector<std::string> columns = {"strategy"};
  for (const Quality& quality : strategies.front().statistics.qualities) {
    columns.push_back(">@" + std::to_string(quality.evaluations));
  }
  columns.insert(columns.end(), {">ends", ">wrong"});
  Table table(columns);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    std::vector<std::string> cells = {strategies[i].name};
    for (std::size_t q = 0; q < strategies[i].statistics.qualities.size(); ++q) {
      double sum = 0;
      for (const ReplayedRecording& recording : recordings) {
        sum += recording.strategies[i].statistics.qualities[q].mean;
      }
      cells.push_back(decimal(sum / static_cast<double>(recordings.size()), 3));
    }
    std::size_t ended = 0;
    std::size_t wrong = 0;
    for (const ReplayedRecording& recording : recordings) {
      ended += recording.strategies[i].statistics.ended.runs;
      wrong += recording.strategies[i].statistics.ended.wrong;
    }
    cells.push_back(std::to_string(ended));
    cells.push_back(std::to_string(wrong));
    table.add_row(std::move(cells));
  }
  return "Mean of " + std::to_string(recordings.size()) + "\n" + table.text("  ");
}

Json strategy_json(const ReplayedRecording::Strategy& strategy) {
  const auto quality_json = [](const Quality& quality) -> Json {
    return {{"evaluations", quality.evaluations},
            {"mean", quality.mean},
            {"q1", quality.q1},
            {"median", quality.median},
            {"q3", quality.q3}};
  };
  const auto effort_json = [](const Effort& effort) -> Json {
    return {{"share", effort.share},
            {"seeds", effort.reached},
            {"evaluations", db::or_null(effort.evaluations)},
            {"seconds", db::or_null(effort.seconds)}};
  };
  const Ended& ended = strategy.statistics.ended;
  return {{"strategy", strategy.name},
          {"evaluations_per_s", strategy.evaluations_per_s},
          {"share_of_optimum", db::list_json(strategy.statistics.qualities, quality_json)},
          {"effort", db::list_json(strategy.statistics.efforts, effort_json)},
          {"ended",
           {{"seeds", ended.runs},
            {"evaluations", db::or_null(ended.evaluations)},
            {"wrong", ended.wrong},
            {"mean_regret", ended.mean_regret},
            {"worst_regret", ended.worst_regret}}}};
}

/// Returns a table for each recording, and one of the means if there are several.
std::string replay_text(std::span<const ReplayedRecording> recordings,
                        const ReplayCommandOptions& options) {
  std::string text =
      "Share of the optimum, mean over " + std::to_string(options.seeds) + " seeds; " +
      (options.in_flight == 0 ? "as many in flight as a run has, "
                              : std::to_string(options.in_flight) + " in flight, ") +
      std::to_string(options.compilers) + " compiler" + (options.compilers == 1 ? "" : "s") +
      "; medians of evaluations and seconds to a share;\nends, after: how many of the searches "
      "would have ended by themselves, and after how many evaluations (median);\n"
      "wrong: how many of those left something more than 1 % faster; regret, worst: how much "
      "slower than\nthe optimum they were, in the mean and at worst\n\n";
  for (const ReplayedRecording& recording : recordings) text += recording_text(recording) + "\n";
  if (recordings.size() > 1) text += means_text(recordings);
  return text;
}

std::string replay_json(std::span<const ReplayedRecording> recordings,
                        const ReplayCommandOptions& options) {
  const auto form = [](const ReplayedRecording& recording) -> Json {
    return {{"file", recording.file},
            {"device", recording.device},
            {"kernel", recording.kernel},
            {"problem", recording.problem},
            {"configurations", recording.configurations},
            {"failed", recording.failed},
            {"best_ms", recording.best_ms},
            {"strategies", db::list_json(recording.strategies, strategy_json)}};
  };
  Json json = {{"seeds", options.seeds},
               {"evaluations", options.evaluations},
               {"in_flight", options.in_flight},
               {"compilers", options.compilers},
               {"recordings", db::list_json(recordings, form)}};
  return db::document_text("smemtune-replay", 1, json);
}

RecordedKernel recorded_kernel(const db::Recording& recording) {
  RecordedKernel kernel = {.space = db::recorded_space(recording), .answers = {}};
  kernel.answers.resize(kernel.space.size());
  for (const db::Recording::Evaluation& evaluation : recording.evaluations) {
    const auto index = kernel.space.index_of(evaluation.result.configuration);
    if (!index) continue;
    RecordedKernel::Answer& answer = kernel.answers[*index];
    answer = {.compile_ms = evaluation.result.compile_ms, .device_ms = evaluation.device_ms};
    for (const LaunchResult& launch : evaluation.result.launches) {
      answer.registers = std::max(answer.registers, launch.resources.registers_per_thread);
    }
    if (evaluation.result.is_default) kernel.default_configuration = *index;
    if (evaluation.result.time_ms()) answer.time_ms = evaluation.time_ms;
  }
  return kernel;
}

/// Returns the kernel of the space with the most parameters, all of which the recording has. Throws
/// InputError if there is none.
const KernelTemplate& kernel_of(const Space& space, const db::Recording& recording) {
  const KernelTemplate* kernel = nullptr;
  for (const KernelTemplate& one : space.kernels) {
    const bool has_all = std::ranges::all_of(one.parameters, [&](const Parameter& parameter) {
      return std::ranges::find(recording.parameters, parameter.name, &Parameter::name) !=
             recording.parameters.end();
    });
    if (!has_all) continue;
    if (kernel == nullptr || one.parameters.size() > kernel->parameters.size()) kernel = &one;
  }
  if (kernel != nullptr) return *kernel;
  throw InputError(space.file.string() + ": no kernel has only parameters that are in " +
                   recording.file.string());
}

/// Returns the cost of the space's launches on the recorded device, each computed once. Keeps
/// references to `space` and `configurations`.
LaunchCost launch_cost_of(const Space& space, const db::Recording& recording,
                          const SearchSpace& configurations, const Device& device) {
  const KernelTemplate& kernel = kernel_of(space, recording);
  const KernelBinding bound(space, kernel, space.problems.front(), device);
  using Known = std::map<std::pair<ConfigurationIndex, int>, double>;
  return [&configurations, &kernel, bound, device, known = std::make_shared<Known>()](
             ConfigurationIndex index, int registers) {
    const auto [cost, is_new] = known->try_emplace({index, registers}, 0);
    if (is_new) {
      Configuration configuration;
      const Configuration recorded = configurations.configuration(index);
      for (const Parameter& parameter : kernel.parameters) {
        configuration[parameter.name] = recorded.at(parameter.name);
      }
      cost->second = launch_cost(bound, configuration, device, registers);
    }
    return cost->second;
  };
}

/// Returns the timed configurations of the recording that are in the space, fastest first.
Ranking ranking(const db::Recording& recording, const SearchSpace& space) {
  Ranking ranking = {.device = recording.device, .fastest_first = {}};
  for (const db::Recording::Evaluation& evaluation : recording.evaluations) {
    if (!evaluation.result.time_ms()) continue;
    const auto index = space.index_of(evaluation.result.configuration);
    if (index) {
      ranking.fastest_first.push_back({.time_ms = evaluation.time_ms, .configuration = *index});
    }
  }
  std::ranges::sort(ranking.fastest_first);
  return ranking;
}

/// Returns true if any compile time was recorded: compiling is most of the time of a search.
bool knows_seconds(const RecordedKernel& kernel) {
  return std::ranges::any_of(
      kernel.answers, [](const RecordedKernel::Answer& answer) { return answer.compile_ms > 0; });
}

ReplayedRecording::Strategy replayed(const RecordedKernel& kernel, const std::string& strategy,
                                     const std::vector<Ranking>& rankings,
                                     const ReplayCommandOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::vector<Replayed>> runs;
  std::uint64_t evaluations = 0;
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    runs.push_back(replay(kernel, {.strategy = strategy,
                                   .seed = options.first_seed + i,
                                   .evaluations = options.evaluations,
                                   .in_flight = options.in_flight,
                                   .compilers = options.compilers,
                                   .rankings = rankings}));
    evaluations += runs.back().size();
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  ReplayStatistics statistics = summarize_replays(runs, options.evaluations);
  if (!knows_seconds(kernel)) {
    for (ReplayStatistics::Effort& effort : statistics.efforts) effort.seconds.reset();
  }
  return {.name = strategy,
          .statistics = std::move(statistics),
          .evaluations_per_s = static_cast<double>(evaluations) / elapsed.count()};
}

ReplayedRecording replayed(const db::Recording& recording, const std::vector<db::Recording>& from,
                           const std::optional<LoadedSpace>& space,
                           const std::vector<std::string>& strategies,
                           const ReplayCommandOptions& options) {
  RecordedKernel kernel = recorded_kernel(recording);
  if (space) {
    const std::string& name = options.device.empty() ? recording.device : options.device;
    const Device device = find_device(published_devices(), name);
    kernel.cost = launch_cost_of(space->space, recording, kernel.space, device);
  }
  std::vector<Ranking> rankings;
  for (const db::Recording& other : from) rankings.push_back(ranking(other, kernel.space));
  const std::optional<double> best_ms = kernel.best_ms();
  if (!best_ms) {
    throw InputError(recording.file.string() + ": no configuration of " + recording.kernel +
                     " has a time");
  }
  ReplayedRecording replayed_recording = {.file = recording.file.string(),
                                          .device = recording.device,
                                          .kernel = recording.kernel,
                                          .problem = recording.problem,
                                          .configurations = kernel.space.size(),
                                          .best_ms = *best_ms};
  for (const RecordedKernel::Answer& answer : kernel.answers) {
    if (!answer.time_ms) ++replayed_recording.failed;
  }
  const std::string device =
      recording.device.empty() ? recording.file.filename().string() : recording.device;
  for (const std::string& part : {recording.kernel, device, recording.problem}) {
    if (part.empty()) continue;
    replayed_recording.name += (replayed_recording.name.empty() ? "" : ", ") + part;
  }
  for (const std::string& strategy : strategies) {
    replayed_recording.strategies.push_back(replayed(kernel, strategy, rankings, options));
  }
  return replayed_recording;
}

std::vector<std::string> strategies_to_replay(const ReplayCommandOptions& options) {
  std::vector<std::string> names = options.strategies;
  if (names.empty()) {
    for (const StrategyInfo& info : strategies()) {
      if (info.name != "exhaustive") names.push_back(info.name);
    }
  }
  // Throws for an unknown strategy.
  for (const std::string& name : names) make_strategy(name, {}, 1);
  return names;
}

void add_replay_options(CLI::App& app, ReplayCommandOptions& options) {
  add_value(app, "--data", options.data,
            "What was measured: Kernel Tuner cache files, T4, KTT's JSON, databases of "
            "smemtune; .gz too",
            "FILE...")
      ->required();
  add_value(
      app, "--from", options.from,
      "Recordings of the kernel elsewhere that the search starts with, the most similar first",
      "FILE...");
  CLI::Option* const space = add_value(
      app, "--space", options.space,
      "The kernel's space file, from which the search knows its launches as in a run", "FILE");
  add_value(app, "--device", options.device,
            "With --space: device whose limits launches must satisfy [the recorded one]", "NAME")
      ->needs(space);
  add_value(app, "--strategy", options.strategies,
            "Strategies to compare, separated by commas [all but exhaustive]", "NAME,...")
      ->delimiter(',');
  add_count(app, "--seeds", options.seeds, 1, 1'000'000, "Searches with each strategy [20]");
  add_count(app, "--seed", options.first_seed, 0, UINT32_MAX,
            "First seed; the others count up from it [1]");
  add_count(app, "--evaluations", options.evaluations, 1, 1'000'000,
            "Evaluations of each search [500]");
  add_count(
      app, "--in-flight", options.in_flight, 0, 100'000,
      "Configurations in flight; 0: as many as a run with this many compilers and one GPU [1]");
  add_count(app, "--compilers", options.compilers, 1, 10'000,
            "Compilers at work, for the seconds to each share of the optimum [1]");
  app.add_flag("--json", options.json, "Print as JSON");
}

/// Replays searches over the recordings, with each strategy and seed. Throws InputError for a file
/// that cannot be read, and for an unknown strategy.
int run_replay(const ReplayCommandOptions& options) {
  const std::vector<std::string> strategies = strategies_to_replay(options);
  std::vector<db::Recording> from;
  for (const std::filesystem::path& file : options.from) {
    for (db::Recording& recording : db::read_recordings(file)) from.push_back(std::move(recording));
  }
  std::optional<LoadedSpace> space;
  if (!options.space.empty()) space = load_space(find_space(options.space), share_folder());
  std::vector<ReplayedRecording> recordings;
  for (const std::filesystem::path& file : options.data) {
    for (const db::Recording& recording : db::read_recordings(file)) {
      if (recording.cut_off) {
        say("smemtune: " + file.string() + " is cut off; " +
            std::to_string(recording.evaluations.size()) + " results were read");
      }
      if (recording.odd.count > 0) {
        say("smemtune: " + file.string() + ": " + recording.odd.faults.front() +
            recording.odd.others_text() + "; left out");
      }
      recordings.push_back(replayed(recording, from, space, strategies, options));
    }
  }
  if (recordings.empty()) throw InputError("--data: the files hold no results");
  write_document(options.json ? replay_json(recordings, options)
                              : replay_text(recordings, options));
  return 0;
}

}  // namespace

void add_replay_command(Commands& commands) {
  commands.add<ReplayCommandOptions>("replay",
                                     "Search recorded measurements again: how good is a strategy?",
                                     add_replay_options, run_replay);
}

}  // namespace smemtune::cli
