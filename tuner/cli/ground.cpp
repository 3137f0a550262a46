#include "tuner/cli/ground.h"

#include "db/json_forms.h"
#include "reports/table.h"
#include "tuner/cli/summary.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace smemtune::cli {
namespace {

using db::Json;

std::string percent(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%+.1f %%", value);
  return text;
}

/// How much slower `ms` is than `than_ms`.
double slower_percent(double ms, double than_ms) { return (ms / than_ms - 1) * 100; }

/// Whether the medians' intervals do not meet.
bool clearly_slower(const Measurement& slow, const Measurement& fast) {
  return slow.median_low_ms > fast.median_high_ms;
}

bool is_of(const Result& result, const db::StoredResult& stored) {
  return result.kernel == stored.result.kernel &&
         result.configuration == stored.result.configuration;
}

std::string label(const Result& result) { return result.kernel + " " + key(result.configuration); }

void add_change(std::vector<std::string>& changes, const std::string& what, const std::string& then,
                const std::string& now) {
  if (then != now) changes.push_back(what + " " + then + ", now " + now);
}

}  // namespace

std::vector<std::string> staleness(const db::StoredResult& stored, const Circumstances& now) {
  std::vector<std::string> changes;
  add_change(changes, "driver", stored.device.driver_version, now.driver);
  add_change(changes, "CUDA runtime", stored.device.runtime_version, now.runtime);
  add_change(changes, "compiler", stored.compiler, now.compiler);
  if (stored.kernel_hash != now.kernel_hash) {
    changes.emplace_back("the kernel's source, launches or verification have changed");
  }
  return changes;
}

std::vector<KernelConfiguration> contestants(const db::StoredResult& winner,
                                             const std::vector<db::StoredResult>& others,
                                             const Configuration& default_configuration,
                                             std::size_t runners_up) {
  std::vector<KernelConfiguration> chosen = {{winner.result.kernel, winner.result.configuration}};
  std::vector<const db::StoredResult*> ranked;
  for (const db::StoredResult& other : others) {
    if (other.result.timed()) ranked.push_back(&other);
  }
  // What came out of finals is known better than what was only screened.
  std::ranges::stable_sort(ranked, {}, [](const db::StoredResult* one) {
    return std::pair(one->result.stage != Stage::final, one->result.measurement.median_ms);
  });
  for (const db::StoredResult* other : ranked) {
    if (chosen.size() > runners_up) break;
    const KernelConfiguration candidate = {other->result.kernel, other->result.configuration};
    if (std::ranges::find(chosen, candidate) == chosen.end()) chosen.push_back(candidate);
  }
  const KernelConfiguration by_default = {winner.result.kernel, default_configuration};
  if (std::ranges::find(chosen, by_default) == chosen.end()) chosen.push_back(by_default);
  return chosen;
}

Ground judge_ground(const db::StoredResult& stored, const std::vector<Result>& measured,
                    double tolerance_percent) {
  Ground ground;
  ground.stored = stored;
  for (const Result& result : measured) {
    if (is_of(result, stored)) {
      ground.now = result;
    } else {
      ground.others.push_back(result);
    }
  }
  if (!ground.now) {
    ground.lost.emplace_back("it is no longer a valid configuration of the space");
    return ground;
  }
  if (!ground.now->timed()) {
    ground.lost.push_back(to_text(ground.now->status) + "/" + ground.now->reason + ": " +
                          printable(telling_line(*ground.now)));
    return ground;
  }
  const Measurement& now = ground.now->measurement;
  const Measurement& then = stored.result.measurement;
  const double since = slower_percent(now.median_ms, then.median_ms);
  if (since > tolerance_percent && clearly_slower(now, then)) {
    ground.lost.push_back("it takes " + format_time(now.median_ms) + ", " + percent(since) +
                          " against the stored " + format_time(then.median_ms));
  }
  for (const Result& other : ground.others) {
    if (!other.timed()) continue;
    const double behind = slower_percent(now.median_ms, other.measurement.median_ms);
    if (behind > tolerance_percent && clearly_slower(now, other.measurement)) {
      ground.lost.push_back("it takes " + format_time(now.median_ms) + ", " + percent(behind) +
                            " against " + label(other) + " with " +
                            format_time(other.measurement.median_ms));
    }
  }
  return ground;
}

std::string ground_text(const Ground& ground) {
  const db::StoredResult& stored = ground.stored;
  std::string text = stored.space + "  " + key(stored.result.problem) + "  on " +
                     printable(stored.device.name) + "\n";
  Table table({{""},
               {"configuration"},
               {"now", Table::Align::right},
               {"vs winner", Table::Align::right},
               {""}});
  const auto add = [&](const Result& result, const std::string& mark, const std::string& note) {
    if (!result.timed()) {
      table.add_row({mark, label(result), "", "",
                     to_text(result.status) + "/" + result.reason + ": " +
                         result.detail.substr(0, result.detail.find('\n'))});
      return;
    }
    const bool compared = ground.now && ground.now->timed();
    const double ms = result.measurement.median_ms;
    table.add_row({mark, label(result), format_time(ms),
                   compared ? percent(slower_percent(ms, ground.now->measurement.median_ms)) : "",
                   note});
  };
  if (ground.now) {
    add(*ground.now, "*",
        "stored " + format_time(stored.result.measurement.median_ms) + " on " +
            format_utc(stored.at_unix));
  }
  for (const Result& other : ground.others) add(other, "", other.is_default ? "default" : "");
  text += table.text("  ");
  for (const std::string& change : ground.stale) {
    text += "  stale: " + printable(change) + "\n";
  }
  if (ground.lost.empty()) return text + "  holds\n";
  for (const std::string& reason : ground.lost) text += "  no longer holds: " + reason + "\n";
  return text;
}

std::string ground_json(const std::vector<Ground>& grounds, double tolerance_percent) {
  Json problems = Json::array();
  for (const Ground& ground : grounds) {
    Json others = Json::array();
    for (const Result& other : ground.others) others.push_back(db::result_json(other));
    problems.push_back({{"stored", db::stored_json(ground.stored)},
                        {"now", ground.now ? db::result_json(*ground.now) : Json(nullptr)},
                        {"others", std::move(others)},
                        {"stale", ground.stale},
                        {"lost", ground.lost}});
  }
  return db::document_text(
      "smemtune-check", 2,
      {{"tolerance_percent", tolerance_percent}, {"problems", std::move(problems)}});
}

}  // namespace smemtune::cli
