#include "reports/replay_report.h"

#include "reports/table.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>

namespace smemtune {

namespace {

using Json = nlohmann::ordered_json;
using Quality = ReplayStatistics::Quality;
using Effort = ReplayStatistics::Effort;

std::string whole_percent(double share) { return decimal(share * 100, 0) + " %"; }

std::string or_dash(const std::optional<double>& number, int digits) {
  return number ? decimal(*number, digits) : "-";
}

std::vector<Table::Column> columns(const ReplayStatistics& statistics) {
  std::vector<Table::Column> columns = {{"strategy"}};
  for (const Quality& quality : statistics.qualities) {
    columns.push_back({"@" + std::to_string(quality.evaluations), Table::Align::right});
    columns.push_back({"(quartiles)"});
  }
  for (const Effort& effort : statistics.efforts) {
    columns.push_back({"to " + whole_percent(effort.share), Table::Align::right});
    columns.push_back({"seconds", Table::Align::right});
    columns.push_back({"seeds", Table::Align::right});
  }
  columns.push_back({"sure", Table::Align::right});
  columns.push_back({"wrong", Table::Align::right});
  columns.push_back({"per s", Table::Align::right});
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
      cells.push_back(or_dash(effort.seconds, 0));
      cells.push_back(std::to_string(effort.reached));
    }
    cells.push_back(std::to_string(strategy.statistics.sure.said));
    cells.push_back(std::to_string(strategy.statistics.sure.wrong));
    cells.push_back(format_count(static_cast<std::uint64_t>(strategy.evaluations_per_s)));
    table.add_row(std::move(cells));
  }
  return text + table.text("  ");
}

/// Of the strategy's shares of the optimum over all recordings.
std::string means_text(std::span<const ReplayedRecording> recordings) {
  const std::vector<ReplayedRecording::Strategy>& strategies = recordings.front().strategies;
  std::vector<Table::Column> columns = {{"strategy"}};
  for (const Quality& quality : strategies.front().statistics.qualities) {
    columns.push_back({"@" + std::to_string(quality.evaluations), Table::Align::right});
  }
  Table table(std::move(columns));
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    std::vector<std::string> cells = {strategies[i].name};
    for (std::size_t q = 0; q < strategies[i].statistics.qualities.size(); ++q) {
      double sum = 0;
      for (const ReplayedRecording& recording : recordings) {
        sum += recording.strategies[i].statistics.qualities[q].mean;
      }
      cells.push_back(decimal(sum / static_cast<double>(recordings.size()), 3));
    }
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
  json["sure"] = {{"said", strategy.statistics.sure.said},
                  {"wrong", strategy.statistics.sure.wrong}};
  for (const Effort& effort : strategy.statistics.efforts) {
    json["effort"].push_back({{"share", effort.share},
                              {"seeds", effort.reached},
                              {"evaluations", number_or_null(effort.evaluations)},
                              {"seconds", number_or_null(effort.seconds)}});
  }
  return json;
}

// One panel of the plot, in pixels.
constexpr double kWidth = 420;
constexpr double kHeight = 260;
constexpr double kLeft = 45;
constexpr double kTop = 30;
constexpr double kPlotWidth = kWidth - kLeft - 15;
constexpr double kPlotHeight = kHeight - kTop - 35;
constexpr double kLowest = 0.5;  // Shares below it are drawn there: strategies differ above.
constexpr const char* kColors[] = {"#1b6ca8", "#d1495b", "#2e933c",
                                   "#8e5aa8", "#c98a12", "#555555"};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string text_at(double x, double y, const std::string& text, const std::string& color) {
  return "<text x=\"" + decimal(x, 1) + "\" y=\"" + decimal(y, 1) + "\" fill=\"" + color + "\">" +
         escaped(text) + "</text>\n";
}

std::string line_at(double y, double share) {
  return "<line x1=\"" + decimal(kLeft, 1) + "\" x2=\"" + decimal(kLeft + kPlotWidth, 1) +
         "\" y1=\"" + decimal(y, 1) + "\" y2=\"" + decimal(y, 1) + "\" stroke=\"#ddd\"/>\n" +
         text_at(10, y + 4, decimal(share, 1), "#555");
}

std::string panel(const ReplayedRecording& recording) {
  const auto y_of = [](double share) {
    return kTop + kPlotHeight * (1 - (std::max(share, kLowest) - kLowest) / (1 - kLowest));
  };
  std::string svg = text_at(kLeft, 18, recording.name, "#000");
  for (int tenth = 5; tenth <= 10; ++tenth) svg += line_at(y_of(tenth / 10.0), tenth / 10.0);
  for (std::size_t i = 0; i < recording.strategies.size(); ++i) {
    const std::vector<double>& curve = recording.strategies[i].statistics.curve;
    const std::string color = kColors[i % std::size(kColors)];
    svg += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + color + "\" points=\"";
    const std::size_t step = 1 + curve.size() / 500;
    for (std::size_t at = 0; at < curve.size(); at += step) {
      const double x =
          kLeft + kPlotWidth * static_cast<double>(at + 1) / static_cast<double>(curve.size());
      svg += decimal(x, 1) + "," + decimal(y_of(curve[at]), 1) + " ";
    }
    svg += "\"/>\n";
    svg += text_at(kLeft + kPlotWidth - 70, kTop + kPlotHeight - 10 - 14 * static_cast<double>(i),
                   recording.strategies[i].name, color);
  }
  const std::size_t evaluations = recording.strategies.front().statistics.curve.size();
  svg += text_at(kLeft, kHeight - 12,
                 "share of the optimum over 1 to " + std::to_string(evaluations) + " evaluations",
                 "#555");
  return svg;
}

}  // namespace

std::string replay_text(std::span<const ReplayedRecording> recordings,
                        const ReplaySettings& settings) {
  std::string text = "Share of the optimum, mean over " + std::to_string(settings.seeds) +
                     " seeds; " + std::to_string(settings.in_flight) + " in flight, " +
                     std::to_string(settings.compilers) + " compiler" +
                     (settings.compilers == 1 ? "" : "s") +
                     "; medians of evaluations and seconds to a share;\nhow often they said that "
                     "at most 10 % is the "
                     "chance that something more than 1 % faster is left, and were wrong\n\n";
  for (const ReplayedRecording& recording : recordings) text += recording_text(recording) + "\n";
  if (recordings.size() > 1) text += means_text(recordings);
  return text;
}

std::string replay_json(std::span<const ReplayedRecording> recordings,
                        const ReplaySettings& settings) {
  Json json = {{"format", "smemtune-replay"},     {"version", 1},
               {"seeds", settings.seeds},         {"evaluations", settings.evaluations},
               {"in_flight", settings.in_flight}, {"compilers", settings.compilers},
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
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string replay_svg(std::span<const ReplayedRecording> recordings) {
  const double height = kHeight * static_cast<double>(recordings.size());
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + decimal(kWidth, 0) +
                    "\" height=\"" + decimal(height, 0) +
                    "\" font-family=\"sans-serif\" font-size=\"11\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    svg += "<g transform=\"translate(0," + decimal(kHeight * static_cast<double>(i), 0) + ")\">\n" +
           panel(recordings[i]) + "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace smemtune
