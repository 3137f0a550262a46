#pragma once

#include "db/run_log.h"
#include "tuner/core/result.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace smemtune::db {

/// README.md's rule, word by word, over all results in their order.
class PlainModel {
 public:
  void record(int run, const Result& result) {
    const auto size = std::get<std::int64_t>(result.configuration.at("TILE"));
    results_.push_back({{result.kernel, size}, run, result});
  }

  /// The median of the best of a kernel, or of both; nullopt: there is none.
  std::optional<double> best_ms(const std::string& kernel) const {
    const auto best = best_among([&](const Name& name) { return name.first == kernel; }, kernel);
    return best ? std::optional(newest_time(*best)->result.measurement.median_ms) : std::nullopt;
  }
  std::optional<double> best_ms_of_all() const {
    std::set<Name> of_kernels;
    for (const char* kernel : {"tiled", "naive"}) {
      const auto best = best_among([&](const Name& name) { return name.first == kernel; }, kernel);
      if (best) of_kernels.insert(*best);
    }
    const auto best =
        best_among([&](const Name& name) { return of_kernels.contains(name); }, std::nullopt);
    return best ? std::optional(newest_time(*best)->result.measurement.median_ms) : std::nullopt;
  }

 private:
  using Name = std::pair<std::string, std::int64_t>;
  struct Entry {
    Name name;
    int run;
    Result result;
  };

  /// nullptr where it does not stand.
  const Entry* newest_time(const Name& name) const {
    for (auto entry = results_.rbegin(); entry != results_.rend(); ++entry) {
      if (entry->name != name || is_transient(entry->result)) continue;
      if (entry->result.status != Status::correct) return nullptr;
      return &*entry;
    }
    return nullptr;
  }

  static bool is_final(const Entry& entry) {
    return entry.result.status == Status::correct && entry.result.stage == Stage::final;
  }

  /// Whether a run chose a configuration of this kernel, or of any.
  bool chose_among(int run, const std::optional<std::string>& only) const {
    return std::ranges::any_of(results_, [&](const Entry& entry) {
      return entry.run == run && entry.result.chosen && (!only || entry.name.first == *only);
    });
  }

  std::optional<Name> best_among(const std::function<bool(const Name&)>& is_candidate,
                                 const std::optional<std::string>& only) const {
    std::set<Name> candidates;
    for (const Entry& entry : results_) {
      if (is_candidate(entry.name) && newest_time(entry.name)) candidates.insert(entry.name);
    }
    // The runs with finals among those that stand, the one with the newest final first.
    std::vector<int> runs;
    for (auto entry = results_.rbegin(); entry != results_.rend(); ++entry) {
      if (is_final(*entry) && newest_time(entry->name) && (!only || entry->name.first == *only) &&
          std::find(runs.begin(), runs.end(), entry->run) == runs.end()) {
        runs.push_back(entry->run);
      }
    }
    std::set<std::pair<Name, Name>> beat;  // Whatever follows from it is in it too.
    for (const int run : runs) {
      std::vector<const Entry*> finals;
      for (const Entry& entry : results_) {
        if (entry.run == run && is_final(entry) && newest_time(entry.name) &&
            (!only || entry.name.first == *only)) {
          finals.push_back(&entry);
        }
      }
      const Entry* winner =
          *std::min_element(finals.begin(), finals.end(), [](const Entry* one, const Entry* other) {
            return std::tuple(!one->result.chosen, one->result.measurement.median_ms) <
                   std::tuple(!other->result.chosen, other->result.measurement.median_ms);
          });
      std::set<Name> losers;
      for (const Entry* final : finals) losers.insert(final->name);
      const bool chose = chose_among(run, only);
      for (const Name& name : candidates) {
        const Entry* time = newest_time(name);
        if (time->run != run || is_final(*time)) continue;
        const bool is_slower = std::pair(time->result.measurement.median_ms, time) >
                               std::pair(winner->result.measurement.median_ms, winner);
        if (chose || is_slower) losers.insert(name);
      }
      losers.erase(winner->name);
      for (const Name& loser : losers) {
        if (beat.contains({loser, winner->name})) continue;
        std::set<Name> above = {winner->name};
        std::set<Name> below = {loser};
        for (const auto& [one, other] : beat) {
          if (other == winner->name) above.insert(one);
          if (one == loser) below.insert(other);
        }
        for (const Name& one : above) {
          for (const Name& other : below) beat.insert({one, other});
        }
      }
    }
    std::set<Name> left = candidates;
    for (const auto& [one, other] : beat) {
      if (candidates.contains(one)) left.erase(other);
    }
    double final_ms = HUGE_VAL;
    for (const Name& name : left) {
      const Entry* time = newest_time(name);
      if (is_final(*time)) final_ms = std::min(final_ms, time->result.measurement.median_ms);
    }
    const Entry* newest_final = nullptr;
    for (const Entry& entry : results_) {
      if (is_final(entry) && newest_time(entry.name) && (!only || entry.name.first == *only) &&
          chose_among(entry.run, only)) {
        newest_final = &entry;
      }
    }
    const Entry* best = nullptr;
    for (const Name& name : left) {
      const Entry* time = newest_time(name);
      const double ms = time->result.measurement.median_ms;
      if (!is_final(*time) && newest_final != nullptr && time < newest_final &&
          ms >= 0.9 * final_ms) {
        continue;
      }
      if (best == nullptr ||
          std::pair(ms, time) < std::pair(best->result.measurement.median_ms, best)) {
        best = time;
      }
    }
    return best ? std::optional(best->name) : std::nullopt;
  }

  std::vector<Entry> results_;
};

}  // namespace smemtune::db
