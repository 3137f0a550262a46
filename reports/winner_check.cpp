#include "reports/winner_check.h"

#include "db/json_forms.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace smemtune {
namespace {

using db::Json;

std::string signed_percent(double value) {
  return (std::signbit(value) ? "" : "+") + decimal(value, 1) + " %";
}

/// Returns how much slower `ms` is than `than_ms`, in per cent.
double slower_percent(double ms, double than_ms) { return (ms / than_ms - 1) * 100; }

/// Returns true if the confidence intervals of the medians do not overlap and `slow` is the slower
/// one.
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

/// Returns a line with the time of each of several launches by itself; empty if unknown.
std::string launch_times_text(const Result& result) {
  std::string text;
  for (const LaunchResult& launch : result.launches) {
    if (launch.time_ms <= 0) continue;
    text += (text.empty() ? "  by itself: " : ", ") + launch.shape.name_expression + " " +
            format_time(launch.time_ms);
  }
  return text.empty() ? "" : text + "\n";
}

}  // namespace

std::vector<std::string> staleness(const db::StoredResult& stored, const Environment& now) {
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
  // A time from the finals is more reliable than one from screening.
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

WinnerCheck check_winner(const db::StoredResult& stored, const std::vector<Result>& measured,
                         double tolerance_percent) {
  WinnerCheck check;
  check.stored = stored;
  for (const Result& result : measured) {
    if (is_of(result, stored)) {
      check.now = result;
    } else {
      check.others.push_back(result);
    }
  }
  if (!check.now) {
    check.lost.emplace_back("it is no longer a valid configuration of the space");
    return check;
  }
  if (!check.now->timed()) {
    check.lost.push_back(status_text(*check.now) + ": " + printable(telling_line(*check.now)));
    return check;
  }
  const Measurement& now = check.now->measurement;
  const Measurement& then = stored.result.measurement;
  const double since = slower_percent(now.median_ms, then.median_ms);
  if (since > tolerance_percent && clearly_slower(now, then)) {
    check.lost.push_back("it takes " + format_time(now.median_ms) + ", " + signed_percent(since) +
                         " against the stored " + format_time(then.median_ms));
  }
  for (const Result& other : check.others) {
    if (!other.timed()) continue;
    const double behind = slower_percent(now.median_ms, other.measurement.median_ms);
    if (behind > tolerance_percent && clearly_slower(now, other.measurement)) {
      check.lost.push_back("it takes " + format_time(now.median_ms) + ", " +
                           signed_percent(behind) + " against " + label(other) + " with " +
                           format_time(other.measurement.median_ms));
    }
  }
  return check;
}

std::string winner_check_text(const WinnerCheck& check) {
  const db::StoredResult& stored = check.stored;
  std::string text = stored.space + "  " + key(stored.result.problem) + "  on " +
                     printable(stored.device.name) + "\n";
  Table table({"", "configuration", ">now", ">vs winner", ""});
  const auto add = [&](const Result& result, const std::string& mark, const std::string& note) {
    if (!result.timed()) {
      table.add_row(
          {mark, label(result), "", "", status_text(result) + ": " + first_line(result.detail)});
      return;
    }
    const bool compared = check.now && check.now->timed();
    const double ms = result.measurement.median_ms;
    table.add_row(
        {mark, label(result), format_time(ms),
         compared ? signed_percent(slower_percent(ms, check.now->measurement.median_ms)) : "",
         note});
  };
  if (check.now) {
    add(*check.now, "*",
        "stored " + format_time(stored.result.measurement.median_ms) + " on " +
            format_utc(stored.at_unix));
  }
  for (const Result& other : check.others) add(other, "", other.is_default ? "default" : "");
  text += table.text("  ");
  if (check.now) text += launch_times_text(*check.now);
  if (check.now && check.now->timed()) {
    text += "  compared with " + printable(to_text(check.now->coverage())) + "\n";
  }
  for (const std::string& change : check.stale) {
    text += "  stale: " + printable(change) + "\n";
  }
  if (check.lost.empty()) return text + "  holds\n";
  for (const std::string& reason : check.lost) text += "  no longer holds: " + reason + "\n";
  return text;
}

std::string winner_checks_json(const std::vector<WinnerCheck>& checks, double tolerance_percent) {
  const auto form = [](const WinnerCheck& check) -> Json {
    return {{"stored", db::stored_json(check.stored)},
            {"now", check.now ? db::result_json(*check.now) : Json(nullptr)},
            {"others", db::list_json(check.others, db::result_json)},
            {"stale", check.stale},
            {"lost", check.lost}};
  };
  return db::document_text(
      "smemtune-check", 2,
      {{"tolerance_percent", tolerance_percent}, {"problems", db::list_json(checks, form)}});
}

}  // namespace smemtune
