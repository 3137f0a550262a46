#include "reports/history.h"

#include "db/json_forms.h"
#include "db/rows.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace smemtune {
namespace {

using db::Json;
using db::StoredResult;

/// Another thing that a time depends on, and its word.
struct Circumstance {
  const char* word;
  std::string (*of)(const StoredResult& stored);
};

constexpr Circumstance kCircumstances[] = {
    {"driver", [](const StoredResult& stored) { return stored.device.driver_version; }},
    {"runtime", [](const StoredResult& stored) { return stored.device.runtime_version; }},
    {"compiler", [](const StoredResult& stored) { return stored.compiler; }},
    {"kernel", [](const StoredResult& stored) { return stored.kernel_hash.substr(0, 8); }},
    {"code", [](const StoredResult& stored) { return stored.result.cubin_sha256.substr(0, 8); }},
    {"board", [](const StoredResult& stored) { return stored.result.unit; }},
    {"smemtune", [](const StoredResult& stored) { return stored.tool_version; }}};

/// "driver 12.8, now 13.0; board GPU-a, now GPU-b"
std::string what_changed(const StoredResult& before, const StoredResult& after) {
  std::string text;
  for (const Circumstance& one : kCircumstances) {
    const std::string was = one.of(before);
    const std::string is = one.of(after);
    if (was == is) continue;
    text += (text.empty() ? "" : "; ") + std::string(one.word) + " " +
            (was.empty() ? "not known" : was) + ", now " + (is.empty() ? "not known" : is);
  }
  return text;
}

std::string change_text(const WinnerHistory& history, const ChangePoint& change) {
  const StoredResult& first = history.points[change.first];
  const double percent = change.percent();
  const std::string cause = what_changed(history.points[change.first - 1], first);
  return decimal(std::abs(percent), 1) + " % " + (percent > 0 ? "slower" : "faster") + " since " +
         format_utc(first.at_unix) + ": " + format_time(change.after) + ", before " +
         format_time(change.before) + " (p = " + significant(change.p, 2) + "); " +
         (cause.empty() ? "nothing that is recorded changed then" : cause);
}

std::vector<std::string> sentences(const WinnerHistory& history) {
  std::vector<std::string> texts;
  for (const ChangePoint& change : history.changes) texts.push_back(change_text(history, change));
  if (!texts.empty()) return texts;
  const std::string count = counted(history.points.size(), "measurement");
  return {history.points.size() < kLeastForAChange
              ? count + ": to tell a change from chance takes " + std::to_string(kLeastForAChange)
              : "no change in " + count};
}

Table points_table(const WinnerHistory& history) {
  Table table({"when", ">time", ">from", ">to", "what changed"});
  for (std::size_t i = 0; i < history.points.size(); ++i) {
    const StoredResult& point = history.points[i];
    const Measurement& time = point.result.measurement;
    table.add_row({format_utc(point.at_unix), format_time(time.median_ms),
                   format_time(time.median_low_ms), format_time(time.median_high_ms),
                   i == 0 ? "" : what_changed(history.points[i - 1], point)});
  }
  return table;
}

std::string title(const WinnerHistory& history) {
  const StoredResult& winner = history.winner;
  return winner.space + "  " + key(winner.result.problem) + "  on " + device_label(winner.device);
}

std::string configuration_text(const WinnerHistory& history) {
  return history.winner.result.kernel + " " + key(history.winner.result.configuration);
}

bool is_point_of(const StoredResult& winner, const StoredResult& other) {
  return other.space == winner.space && other.result.kernel == winner.result.kernel &&
         other.result.problem == winner.result.problem &&
         other.result.configuration == winner.result.configuration && other.result.timed() &&
         other.result.stage == Stage::final && !other.origin &&
         db::device_model_key(other.device) == db::device_model_key(winner.device);
}

WinnerHistory history_of(const db::ResultReader& store, const db::Query& query,
                         const StoredResult& winner) {
  WinnerHistory history;
  history.winner = winner;
  db::Query its = query;
  its.space = winner.space;
  its.kernel = winner.result.kernel;
  its.device = winner.device.name;
  its.problem = key(winner.result.problem);
  its.configuration = key(winner.result.configuration);
  its.status = "correct";
  its.kernel_hash.clear();  // All versions of the kernel count.
  history.points = store.results(its);
  std::erase_if(history.points,
                [&](const StoredResult& other) { return !is_point_of(winner, other); });
  std::ranges::stable_sort(history.points, {}, &StoredResult::at_unix);
  std::vector<double> medians_ms;
  for (const StoredResult& point : history.points) {
    medians_ms.push_back(point.result.measurement.median_ms);
  }
  history.changes = change_points(medians_ms);
  return history;
}

Json point_json(const StoredResult& point) {
  Json json = {{"at", format_utc(point.at_unix)},
               {"run", point.run_id},
               {"time", time_json(point.result.measurement)}};
  for (const Circumstance& one : kCircumstances) json[one.word] = one.of(point);
  return json;
}

Json summary_json(const char* tag, const char* name, double value) {
  return {{"tag", tag},
          {"name", name},
          {"data", Json::array({{{"name", "value"}, {"type", "float64"}, {"value", value}}})}};
}

Json nvbench_state(const StoredResult& point, std::size_t device) {
  constexpr double kQuartilesOfNormal = 1.349;  // Their distance, in standard deviations.
  const Measurement& time = point.result.measurement;
  const std::string problem = key(point.result.problem);
  const std::string place = "Device=" + std::to_string(device);
  return {
      {"name", place + " problem=" + problem},
      {"device", device},
      {"axis_values", Json::array({{{"name", "problem"}, {"type", "string"}, {"value", problem}}})},
      {"summaries",
       Json::array(
           {summary_json("nv/cold/time/gpu/mean", "GPU Time", time.mean_ms * 1e-3),
            summary_json("nv/cold/time/gpu/stdev/relative", "Noise",
                         (time.q3_ms - time.q1_ms) / kQuartilesOfNormal / time.median_ms)})},
      {"is_skipped", false}};
}

std::string laid_out(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::vector<WinnerHistory> winner_histories(const db::ResultReader& store, const db::Query& query) {
  std::vector<WinnerHistory> histories;
  for (const StoredResult& winner : store.best(query, /*per_kernel=*/false)) {
    WinnerHistory history = history_of(store, query, winner);
    if (!history.points.empty()) histories.push_back(std::move(history));
  }
  return histories;
}

std::string history_text(const std::vector<WinnerHistory>& histories, Markup markup) {
  std::string text;
  for (const WinnerHistory& history : histories) {
    const bool is_markdown = markup == Markup::markdown;
    const Table table = points_table(history);
    if (is_markdown) {
      text += "## " + for_markdown(title(history)) + "\n\n" +
              for_markdown(configuration_text(history)) + "\n\n";
      for (const std::string& one : sentences(history)) text += "- " + for_markdown(one) + "\n";
      text += "\n" + table.markdown() + "\n";
      continue;
    }
    text += wrapped(title(history) + "\n  " + configuration_text(history) + "\n");
    text += table.text("  ");
    for (const std::string& one : sentences(history)) {
      text += wrapped("  " + std::string(history.changes.empty() ? "" : "*** ") + one + "\n");
    }
  }
  return text;
}

nlohmann::ordered_json winner_history_json(const WinnerHistory& history) {
  const auto change_json = [&](const ChangePoint& change) -> Json {
    const StoredResult& first = history.points[change.first];
    return {{"first", change.first},
            {"percent", rounded_json(change.percent())},
            {"before_ms", rounded_json(change.before)},
            {"after_ms", rounded_json(change.after)},
            {"p", rounded_json(change.p)},
            {"with", what_changed(history.points[change.first - 1], first)}};
  };
  const Result& winner = history.winner.result;
  return {{"space", history.winner.space},
          {"problem", db::bindings_json(winner.problem)},
          {"device", history.winner.device.name},
          {"kernel", winner.kernel},
          {"configuration", db::bindings_json(winner.configuration)},
          {"sentences", sentences(history)},
          {"points", db::list_json(history.points, point_json)},
          {"changes", db::list_json(history.changes, change_json)}};
}

std::string history_json(const std::vector<WinnerHistory>& histories) {
  return db::document_text("smemtune-history", 1,
                           {{"histories", db::list_json(histories, winner_history_json)}});
}

std::string history_nvbench(const std::vector<WinnerHistory>& histories) {
  std::vector<std::string> names;
  std::map<std::string, std::pair<std::set<std::size_t>, Json>> spaces;  // Devices and states.
  for (const WinnerHistory& history : histories) {
    const StoredResult& newest = history.points.back();
    const auto known = std::ranges::find(names, newest.device.name);
    const auto device = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.push_back(newest.device.name);
    auto& [devices, states] =
        spaces.try_emplace(newest.space, std::set<std::size_t>(), Json::array()).first->second;
    devices.insert(device);
    states.push_back(nvbench_state(newest, device));
  }
  Json device_list = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    device_list.push_back({{"id", i}, {"name", names[i]}});
  }
  Json benchmarks = Json::array();
  for (const auto& [space, found] : spaces) {
    benchmarks.push_back(
        {{"name", space},
         {"index", benchmarks.size()},
         {"devices", found.first},
         {"axes", Json::array({{{"name", "problem"}, {"type", "string"}, {"flags", ""}}})},
         {"states", found.second}});
  }
  const Json version = {{"major", 1}, {"minor", 0}, {"patch", 0}, {"string", "1.0.0"}};
  return laid_out({{"meta", {{"version", {{"json", version}}}}},
                   {"devices", std::move(device_list)},
                   {"benchmarks", std::move(benchmarks)}});
}

std::string history_bencher(const std::vector<WinnerHistory>& histories) {
  constexpr double kNsPerMs = 1e6;
  Json all = Json::object();
  for (const WinnerHistory& history : histories) {
    const StoredResult& newest = history.points.back();
    const Measurement& time = newest.result.measurement;
    Json latency = {{"value", time.median_ms * kNsPerMs}};
    if (has_interval(time)) {
      latency["lower_value"] = time.median_low_ms * kNsPerMs;
      latency["upper_value"] = time.median_high_ms * kNsPerMs;
    }
    all[newest.space + "/" + key(newest.result.problem) + "/" + newest.device.name] = {
        {"latency", std::move(latency)}};
  }
  return laid_out(all);
}

}  // namespace smemtune
