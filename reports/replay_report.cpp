#include "reports/replay_report.h"

#include "db/json_forms.h"
#include "reports/table.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace smemtune {

namespace {

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

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json strategy_json(const ReplayedRecording::Strategy& strategy) {
  Json json = {{"strategy", strategy.name},
               {"evaluations_per_s", strategy.evaluations_per_s},
               {"share_of_optimum", Json::array()},
               {"effort", Json::array()}};
  for (const Quality& quality : strategy.statistics.qualities) {
    json["share_of_optimum"].push_back({{"evaluations", quality.evaluations},
                                        {"mean", quality.mean},
                                        {"q1", quality.q1},
                                        {"median", quality.median},
                                        {"q3", quality.q3}});
  }
  const Ended& ended = strategy.statistics.ended;
  json["ended"] = {{"seeds", ended.runs},
                   {"evaluations", number_or_null(ended.evaluations)},
                   {"wrong", ended.wrong},
                   {"mean_regret", ended.mean_regret},
                   {"worst_regret", ended.worst_regret}};
  for (const Effort& effort : strategy.statistics.efforts) {
    json["effort"].push_back({{"share", effort.share},
                              {"seeds", effort.reached},
                              {"evaluations", number_or_null(effort.evaluations)},
                              {"seconds", number_or_null(effort.seconds)}});
  }
  return json;
}

}  // namespace

std::string replay_text(std::span<const ReplayedRecording> recordings,
                        const ReplaySettings& settings) {
  std::string text =
      "Share of the optimum, mean over " + std::to_string(settings.seeds) + " seeds; " +
      (settings.in_flight == 0 ? "as many in flight as a run has, "
                               : std::to_string(settings.in_flight) + " in flight, ") +
      std::to_string(settings.compilers) + " compiler" + (settings.compilers == 1 ? "" : "s") +
      "; medians of evaluations and seconds to a share;\nends, after: how many of the searches "
      "would have ended by themselves, and after how many evaluations (median);\n"
      "wrong: how many of those left something more than 1 % faster; regret, worst: how much "
      "slower than\nthe optimum they were, in the mean and at worst\n\n";
  for (const ReplayedRecording& recording : recordings) text += recording_text(recording) + "\n";
  if (recordings.size() > 1) text += means_text(recordings);
  return text;
}

std::string replay_json(std::span<const ReplayedRecording> recordings,
                        const ReplaySettings& settings) {
  Json json = {{"seeds", settings.seeds},
               {"evaluations", settings.evaluations},
               {"in_flight", settings.in_flight},
               {"compilers", settings.compilers},
               {"recordings", Json::array()}};
  for (const ReplayedRecording& recording : recordings) {
    Json strategies = Json::array();
    for (const ReplayedRecording::Strategy& strategy : recording.strategies) {
      strategies.push_back(strategy_json(strategy));
    }
    json["recordings"].push_back({{"file", recording.file},
                                  {"device", recording.device},
                                  {"kernel", recording.kernel},
                                  {"problem", recording.problem},
                                  {"configurations", recording.configurations},
                                  {"failed", recording.failed},
                                  {"best_ms", recording.best_ms},
                                  {"strategies", std::move(strategies)}});
  }
  return db::document_text("smemtune-replay", 1, json);
}

}  // namespace smemtune
