#include "db/json_forms.h"
#include "reports/comparison.h"
#include "reports/result_texts.h"
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

using Labels = std::vector<std::string>;  ///< column_names().

/// Returns the GPUs of a row, grouped by a property of their bests: `32 on A100 and A4000; 64 on
/// A6000`.
template <typename What>
std::string shared_out(const Labels& labels, const Comparison::Row& row, const What& what) {
  std::map<std::string, std::vector<std::string>> on;
  for (const std::size_t column : row.gpus) {
    on[what(row.best.at(column).result)].push_back(labels[column]);
  }
  return joined(on, "; ",
                [](const auto& its) { return its.first + " on " + joined(its.second, " and "); });
}

/// Returns 1 for the GPU's own best, null if the guest was never measured there, and the failure if
/// it does not run.
Json share_json(const Comparison::Row& row, std::size_t of, std::size_t on) {
  if (of == on) return 1;
  const auto guest = std::ranges::find_if(
      row.guests, [&](const Comparison::Guest& one) { return one.best_of == of && one.on == on; });
  if (guest == row.guests.end() || !guest->share) return nullptr;
  return guest->failure.empty() ? rounded_json(std::min(1.0, *guest->share)) : Json(guest->failure);
}

/// Returns a sentence for each parameter in which the winners differ; or that they are the same, or
/// of different kernels.
std::vector<std::string> where_winners_differ(const Labels& labels, const Comparison::Row& row) {
  std::set<std::string> kernels;
  std::map<std::string, std::set<std::string>> values;
  for (const std::size_t column : row.gpus) {
    const Result& best = row.best.at(column).result;
    kernels.insert(best.kernel);
    for (const auto& [name, value] : best.configuration) values[name].insert(to_text(value));
  }
  if (kernels.size() > 1) {
    return {"The winners are different kernels: " +
            shared_out(labels, row, [](const Result& best) { return best.kernel; }) + "."};
  }
  std::vector<std::string> sentences;
  for (const auto& [name, different] : values) {
    if (different.size() < 2) continue;
    sentences.push_back(name + ": " +
                        shared_out(labels, row,
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
  const Labels names = column_names(comparison);
  std::vector<std::string> all = where_winners_differ(names, row);
  std::ranges::move(for_all_sentences(names, row), std::back_inserter(all));
  std::ranges::move(advice_sentences(names, row), std::back_inserter(all));
  return all;
}

namespace {

/// Returns what one GPU's best is, and how long it takes.
Json winner_json(const std::string& label, const Result& best) {
  Json json = {
      {"device", label}, {"kernel", best.kernel}, {"values", values_json(best.configuration)}};
  json.update(time_json(best.measurement));
  return json;
}

Json for_all_json(const Comparison::Row& row) {
  Json list = Json::array();
  const auto add = [&](const char* what, const Comparison::ForAll& one) {
    const auto at_most_one = [](double share) { return rounded_json(std::min(1.0, share)); };
    list.push_back({{"what", what},
                    {"kernel", one.kernel},
                    {"values", values_json(one.configuration)},
                    {"shares", db::list_json(one.shares, at_most_one)},
                    {"worst", at_most_one(one.worst_share)},
                    {"portability", at_most_one(one.portability)}});
  };
  if (!row.least_worst) return list;
  const bool is_same = has_one_for_all(row);
  add(is_same ? "for all" : "for all: least loss at worst", *row.least_worst);
  if (!is_same) add("for all: best on average", *row.most_portable);
  return list;
}

Json effects_json(const Labels& labels, const Comparison::Row& row) {
  Json list = Json::array();
  for (const Comparison::Advice& advice : row.advice) {
    if (advice.effects.empty()) continue;
    Json shares = Json::object();
    for (const MainEffect& one : advice.effects) {
      shares[one.parameter] = rounded_json(one.explained);
    }
    list.push_back({{"device", labels[advice.on]},
                    {"n", advice.effects.front().configurations},
                    {"chosen_by", to_text(advice.chosen_by)},
                    {"shares", std::move(shares)}});
  }
  return list;
}

}  // namespace

Json devices_json(const Comparison& comparison) {
  const Labels labels = column_names(comparison);
  Json problems = Json::array();
  for (const Comparison::Row& row : comparison.rows) {
    if (!has_several(row)) continue;
    const auto winner = [&](std::size_t of) {
      return winner_json(labels[of], row.best.at(of).result);
    };
    const auto shares = [&](std::size_t of) {
      return db::list_json(row.gpus, [&](std::size_t on) { return share_json(row, of, on); });
    };
    problems.push_back({{"problem", key(row.problem)},
                        {"answer", for_all_answer(labels, row)},
                        {"winners", db::list_json(row.gpus, winner)},
                        {"shares", db::list_json(row.gpus, shares)},
                        {"for_all", for_all_json(row)},
                        {"on_all", row.on_all},
                        {"effects", effects_json(labels, row)}});
  }
  return problems;
}

}  // namespace smemtune
