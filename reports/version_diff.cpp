#include "reports/version_diff.h"

#include "db/json_forms.h"
#include "reports/result_texts.h"
#include "reports/table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace smemtune {

namespace {

using db::Json;

constexpr const char* kSameCode = "same code";

bool works(const std::optional<Result>& result) { return result && !result->failed(); }

std::string failure_text(const std::optional<Result>& result) {
  if (!result) return "not valid";
  return status_text(*result);
}

/// Returns a word for programs: the verdict, or why there is none.
std::string outcome(const VersionPair& pair) {
  if (pair.same_code) return kSameCode;
  if (!works(pair.old_result) && !works(pair.new_result)) return "both fail";
  if (!works(pair.new_result)) return "fails now";
  if (!works(pair.old_result)) return "works now";
  return to_text(verdict_of(pair.slower, pair.same_percent));
}

std::string verdict_cell(const VersionPair& pair, double tolerance_percent) {
  std::string text = outcome(pair);
  if (pair.same_code) return text + ": nothing to measure";
  if (works(pair.old_result) && works(pair.new_result)) {
    text = verdict_text(pair.slower, pair.same_percent);
  } else {
    if (!works(pair.new_result)) text += ": " + failure_text(pair.new_result);
    if (!works(pair.old_result)) text += "; old: " + failure_text(pair.old_result);
  }
  return pair.is_loss(tolerance_percent) ? text + " LOSS" : text;
}

std::string time_cell(const std::optional<Result>& result) {
  return result && result->timed() ? format_time(result->measurement.median_ms) : "-";
}

std::string label(const KernelConfiguration& one) {
  return one.kernel + " " + key(one.configuration);
}

/// Returns the old configuration, followed by the new one if it differs.
std::string configuration_cell(const VersionPair& pair) {
  const std::string text = label(pair.old_one);
  return pair.old_one == pair.new_one ? text : text + " -> " + label(pair.new_one);
}

Json side_json(const KernelConfiguration& one, const std::optional<Result>& result) {
  return {{"kernel", one.kernel},
          {"configuration", db::bindings_json(one.configuration)},
          {"result", result ? db::result_json(*result) : Json(nullptr)}};
}

/// Returns the median and its interval in ms, or the reason why there is none.
Json side_view(const VersionPair& pair, const std::optional<Result>& result) {
  const bool timed = result && result->timed();
  const std::string why_not = pair.same_code ? kSameCode : failure_text(result);
  const auto ms = [&](double Measurement::*value) {
    return timed ? db::number_json(result->measurement.*value) : Json(nullptr);
  };
  return {{"ms", ms(&Measurement::median_ms)},
          {"low", ms(&Measurement::median_low_ms)},
          {"high", ms(&Measurement::median_high_ms)},
          {"failure", timed || works(result) ? "" : why_not}};
}

double number_or_infinity(const Json& json, double infinity) {
  return json.is_null() ? infinity : json.get<double>();
}

std::optional<Result> side_from(const Json& json, KernelConfiguration& one) {
  one.kernel = json.at("kernel").get<std::string>();
  one.configuration = db::bindings_from(json.at("configuration"));
  const Json& result = json.at("result");
  return result.is_null() ? std::nullopt : std::optional(db::result_from(result));
}

VersionPair pair_from(const Json& json) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  VersionPair pair{.problem = db::bindings_from(json.at("problem")),
                   .what = json.at("what").get<std::string>(),
                   .old_one = {},
                   .new_one = {}};
  pair.old_result = side_from(json.at("old"), pair.old_one);
  pair.new_result = side_from(json.at("new"), pair.new_one);
  pair.same_code = json.at("outcome") == kSameCode;
  pair.same_percent = json.at("same_percent").get<double>();
  const Json& slower = json.at("slower");
  if (!slower.is_null()) {
    pair.slower = {.percent = slower.at("percent").get<double>(),
                   .low_percent = number_or_infinity(slower.at("low_percent"), -kInfinity),
                   .high_percent = number_or_infinity(slower.at("high_percent"), kInfinity)};
  }
  return pair;
}

}  // namespace

bool VersionPair::is_loss(double tolerance_percent) const {
  if (same_code || !works(old_result)) return false;
  if (!works(new_result)) return true;
  return verdict_of(slower, same_percent) == Verdict::slower && slower->percent > tolerance_percent;
}

bool VersionDiff::has_loss() const {
  return std::ranges::any_of(
      pairs, [this](const VersionPair& pair) { return pair.is_loss(tolerance_percent); });
}

std::vector<std::string> version_diff_findings(const VersionDiff& diff) {
  const auto losses = std::ranges::count_if(
      diff.pairs, [&](const VersionPair& pair) { return pair.is_loss(diff.tolerance_percent); });
  const auto unclear = std::ranges::count_if(diff.pairs, [](const VersionPair& pair) {
    return outcome(pair) == to_text(Verdict::cannot_be_told);
  });
  const std::string more = "slower by more than " + decimal(diff.tolerance_percent, 1) + " %";
  std::vector<std::string> lines = {losses > 0 ? std::to_string(losses) + " of " +
                                                     std::to_string(diff.pairs.size()) + " " +
                                                     more + ", or no longer correct: see LOSS"
                                               : "nothing is known to be " + more};
  if (unclear > 0) {
    lines.push_back(std::to_string(unclear) + " of " + std::to_string(diff.pairs.size()) +
                    " cannot be told: the times vary too much");
  }
  lines.insert(lines.end(), diff.notes.begin(), diff.notes.end());
  return lines;
}

std::string version_diff_title(const VersionDiff& diff) {
  return diff.space + " on " + diff.device + ": " + diff.old_name + " -> " + diff.new_name;
}

std::string version_diff_text(const VersionDiff& diff, Markup markup) {
  Table table({"problem", "what", "configuration", ">old", ">new", "new against old"});
  for (const VersionPair& pair : diff.pairs) {
    table.add_row({key(pair.problem), pair.what, configuration_cell(pair),
                   time_cell(pair.old_result), time_cell(pair.new_result),
                   verdict_cell(pair, diff.tolerance_percent)});
  }
  const std::string title = version_diff_title(diff);
  const bool is_markdown = markup == Markup::markdown;
  std::string text = is_markdown ? "### " + for_markdown(title) + "\n\n" + table.markdown() + "\n"
                                 : printable(title) + "\n" + table.text("  ");
  for (const std::string& line : version_diff_findings(diff)) {
    text += is_markdown ? "- " + for_markdown(line) + "\n" : "  " + printable(line) + "\n";
  }
  return text;
}

std::string version_diff_json(const VersionDiff& diff) {
  const auto form = [&](const VersionPair& pair) -> Json {
    return {{"problem", db::bindings_json(pair.problem)},
            {"what", pair.what},
            {"old", side_json(pair.old_one, pair.old_result)},
            {"new", side_json(pair.new_one, pair.new_result)},
            {"outcome", outcome(pair)},
            {"slower", db::slowdown_json(pair.slower)},
            {"same_percent", pair.same_percent},
            {"loss", pair.is_loss(diff.tolerance_percent)}};
  };
  return db::document_text("smemtune-diff", 1,
                           {{"space", diff.space},
                            {"old", diff.old_name},
                            {"new", diff.new_name},
                            {"device", diff.device},
                            {"tolerance_percent", diff.tolerance_percent},
                            {"pairs", db::list_json(diff.pairs, form)},
                            {"notes", diff.notes}});
}

VersionDiff version_diff_from(const nlohmann::ordered_json& document) {
  VersionDiff diff{.space = document.at("space").get<std::string>(),
                   .old_name = document.at("old").get<std::string>(),
                   .new_name = document.at("new").get<std::string>(),
                   .device = document.at("device").get<std::string>(),
                   .tolerance_percent = document.at("tolerance_percent").get<double>()};
  for (const Json& note : document.at("notes")) diff.notes.push_back(note.get<std::string>());
  for (const Json& pair : document.at("pairs")) diff.pairs.push_back(pair_from(pair));
  return diff;
}

nlohmann::ordered_json version_diff_view(const VersionDiff& diff) {
  const auto form = [&](const VersionPair& pair) -> Json {
    const auto slower = [&](double Slowdown::*member) {
      return pair.slower ? db::number_json(*pair.slower.*member) : Json(nullptr);
    };
    return {{"problem", key(pair.problem)},
            {"what", pair.what},
            {"configuration", configuration_cell(pair)},
            {"old", side_view(pair, pair.old_result)},
            {"new", side_view(pair, pair.new_result)},
            {"percent", slower(&Slowdown::percent)},
            {"low_percent", slower(&Slowdown::low_percent)},
            {"high_percent", slower(&Slowdown::high_percent)},
            {"verdict", verdict_cell(pair, diff.tolerance_percent)}};
  };
  return {{"old", diff.old_name},
          {"new", diff.new_name},
          {"tolerance_percent", diff.tolerance_percent},
          {"findings", version_diff_findings(diff)},
          {"pairs", db::list_json(diff.pairs, form)}};
}

}  // namespace smemtune
