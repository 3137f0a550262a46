#include "reports/devices_side_by_side.h"

#include "reports/comparison.h"
#include "reports/device_names.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace smemtune {
namespace {

using db::Comparison;
using Json = nlohmann::ordered_json;

/// Returns the device's name if it is unique among the columns, otherwise with its source.
std::string label(const Comparison& comparison, std::size_t column) {
  const std::string& name = comparison.columns[column].device.name;
  const auto same = std::ranges::count_if(
      comparison.columns, [&](const auto& other) { return other.device.name == name; });
  return same > 1 ? column_names(comparison)[column] : name;
}

/// Returns the GPUs of a row, grouped by a property of their bests: `32 on A100 and A4000; 64 on
/// A6000`.
template <typename What>
std::string shared_out(const Comparison& comparison, const Comparison::Row& row, const What& what) {
  std::map<std::string, std::vector<std::string>> on;
  for (const std::size_t column : row.gpus) {
    on[what(row.best.at(column).result)].push_back(label(comparison, column));
  }
  std::vector<std::string> parts;
  for (const auto& [value, labels] : on) parts.push_back(value + " on " + joined(labels, " and "));
  return joined(parts, "; ");
}

/// Returns 1 for the GPU's own best, null if the guest was never measured there, and the failure if
/// it does not run.
Json share_json(const Comparison::Row& row, std::size_t of, std::size_t on) {
  if (of == on) return 1;
  const auto guest = std::ranges::find_if(
      row.guests, [&](const Comparison::Guest& one) { return one.best_of == of && one.on == on; });
  if (guest == row.guests.end() || !guest->share) return nullptr;
  return guest->failure.empty() ? Json(std::min(1.0, *guest->share)) : Json(guest->failure);
}

/// Returns a sentence for each parameter in which the winners differ; or that they are the same, or
/// of different kernels.
std::vector<std::string> where_winners_differ(const Comparison& comparison,
                                              const Comparison::Row& row) {
  std::set<std::string> kernels;
  std::map<std::string, std::set<std::string>> values;
  for (const std::size_t column : row.gpus) {
    const Result& best = row.best.at(column).result;
    kernels.insert(best.kernel);
    for (const auto& [name, value] : best.configuration) values[name].insert(to_text(value));
  }
  if (kernels.size() > 1) {
    return {"The winners are different kernels: " +
            shared_out(comparison, row, [](const Result& best) { return best.kernel; }) + "."};
  }
  std::vector<std::string> sentences;
  for (const auto& [name, different] : values) {
    if (different.size() < 2) continue;
    sentences.push_back(name + ": " +
                        shared_out(comparison, row,
                                   [&, &parameter = name](const Result& best) {
                                     const auto value = best.configuration.find(parameter);
                                     return value == best.configuration.end()
                                                ? std::string("none")
                                                : to_text(value->second);
                                   }) +
                        ".");
  }
  if (sentences.empty()) return {"The winner is the same on all of them."};
  sentences.insert(sentences.begin(),
                   "The winners differ in " + counted(sentences.size(), "parameter") + ":");
  return sentences;
}

bool has_several(const Comparison::Row& row) { return row.gpus.size() > 1; }

}  // namespace

std::vector<std::string> devices_sentences(const Comparison& comparison,
                                           const Comparison::Row& row) {
  std::vector<std::string> all = where_winners_differ(comparison, row);
  std::ranges::move(for_all_sentences(comparison, row), std::back_inserter(all));
  std::ranges::move(advice_sentences(comparison, row), std::back_inserter(all));
  return all;
}

Json devices_json(const Comparison& comparison) {
  Json problems = Json::array();
  for (const Comparison::Row& row : comparison.rows) {
    if (!has_several(row)) continue;
    Json winners = Json::array();
    Json shares = Json::array();
    for (const std::size_t of : row.gpus) {
      const Result& best = row.best.at(of).result;
      winners.push_back({{"device", label(comparison, of)},
                         {"kernel", best.kernel},
                         {"configuration", key(best.configuration)},
                         {"ms", best.measurement.median_ms}});
      Json line = Json::array();
      for (const std::size_t on : row.gpus) line.push_back(share_json(row, of, on));
      shares.push_back(std::move(line));
    }
    problems.push_back({{"problem", key(row.problem)},
                        {"winners", std::move(winners)},
                        {"shares", std::move(shares)},
                        {"sentences", devices_sentences(comparison, row)}});
  }
  return problems;
}

}  // namespace smemtune
