#include "reports/version_diff.h"

#include "db/json_forms.h"
#include "reports/table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace smemtune {

namespace {

using db::Json;

bool works(const std::optional<Result>& result) { return result && !result->failed(); }

std::string failure_text(const std::optional<Result>& result) {
  if (!result) return "not valid";
  return to_text(result->status) + (result->reason.empty() ? "" : "/" + result->reason);
}

/// A word for programs: a verdict's, or why there is none.
std::string outcome(const VersionPair& pair) {
  if (pair.same_code) return "same code";
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

/// The old configuration, and the new one where it is another.
std::string configuration_cell(const VersionPair& pair) {
  const std::string text = label(pair.old_one);
  return pair.old_one == pair.new_one ? text : text + " -> " + label(pair.new_one);
}

Json side_json(const KernelConfiguration& one, const std::optional<Result>& result) {
  return {{"kernel", one.kernel},
          {"configuration", db::bindings_json(one.configuration)},
          {"result", result ? db::result_json(*result) : Json(nullptr)}};
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

std::string version_diff_text(const VersionDiff& diff, Markup markup) {
  Table table({{"problem"},
               {"what"},
               {"configuration"},
               {"old", Table::Align::right},
               {"new", Table::Align::right},
               {"new against old"}});
  for (const VersionPair& pair : diff.pairs) {
    table.add_row({key(pair.problem), pair.what, configuration_cell(pair),
                   time_cell(pair.old_result), time_cell(pair.new_result),
                   verdict_cell(pair, diff.tolerance_percent)});
  }
  std::vector<std::string> lines = diff.notes;
  lines.push_back(diff.has_loss() ? "slower by more than " + decimal(diff.tolerance_percent, 1) +
                                        " %, or no longer right: see LOSS"
                                  : "nothing is slower by more than " +
                                        decimal(diff.tolerance_percent, 1) + " %");
  const std::string title =
      diff.space + " on " + diff.device + ": " + diff.old_name + " -> " + diff.new_name;
  const bool is_markdown = markup == Markup::markdown;
  std::string text = is_markdown ? "### " + for_markdown(title) + "\n\n" + table.markdown() + "\n"
                                 : printable(title) + "\n" + table.text("  ");
  for (const std::string& line : lines) {
    text += is_markdown ? "- " + for_markdown(line) + "\n" : "  " + printable(line) + "\n";
  }
  return text;
}

std::string version_diff_json(const VersionDiff& diff) {
  Json pairs = Json::array();
  for (const VersionPair& pair : diff.pairs) {
    Json slower = nullptr;
    if (pair.slower) {
      slower = {{"percent", db::number_json(pair.slower->percent)},
                {"low_percent", db::number_json(pair.slower->low_percent)},
                {"high_percent", db::number_json(pair.slower->high_percent)}};
    }
    pairs.push_back({{"problem", db::bindings_json(pair.problem)},
                     {"what", pair.what},
                     {"old", side_json(pair.old_one, pair.old_result)},
                     {"new", side_json(pair.new_one, pair.new_result)},
                     {"outcome", outcome(pair)},
                     {"slower", std::move(slower)},
                     {"same_percent", pair.same_percent},
                     {"loss", pair.is_loss(diff.tolerance_percent)}});
  }
  return db::document_text("smemtune-diff", 1,
                           {{"space", diff.space},
                            {"old", diff.old_name},
                            {"new", diff.new_name},
                            {"device", diff.device},
                            {"tolerance_percent", diff.tolerance_percent},
                            {"pairs", std::move(pairs)},
                            {"notes", diff.notes}});
}

}  // namespace smemtune
