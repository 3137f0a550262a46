#include "tuner/core/objective.h"

#include "tuner/core/enum_words.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace smemtune {
namespace {

constexpr EnumWords<Objective, 3> kObjectives = {
    {{Objective::time, "time"}, {Objective::energy, "energy"}, {Objective::edp, "edp"}}};

}  // namespace

std::string to_text(Objective objective) { return word_of(objective, kObjectives); }

Objective parse_objective(const std::string& word) {
  return parse_word(word, kObjectives, "an objective");
}

std::optional<double> energy_fact(const Result& result, const std::string& name) {
  if (result.launches.empty()) return std::nullopt;
  const Facts& facts = result.launches.front().facts;
  const auto found = facts.find(kEnergyFacts + name);
  return found == facts.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> objective_value(const Result& result, Objective objective) {
  const std::optional<double> joules = energy_fact(result, "joules_per_launch");
  if (!joules || !result.timed() || result.stage != Stage::final) return std::nullopt;
  const double ms = result.measurement.median_ms;
  switch (objective) {
    case Objective::time:
      return ms;
    case Objective::energy:
      return joules;
    case Objective::edp:
      return *joules * 1e-3 * ms;
  }
  return std::nullopt;
}

std::vector<const Result*> ranked_by(Objective objective, std::span<const Result* const> results) {
  std::vector<const Result*> ranked;
  std::ranges::copy_if(results, std::back_inserter(ranked), [&](const Result* result) {
    return objective_value(*result, objective).has_value();
  });
  std::ranges::stable_sort(ranked, {}, [&](const Result* result) {
    return std::pair(*objective_value(*result, objective), result->measurement.median_ms);
  });
  return ranked;
}

std::vector<const Result*> pareto_front(std::span<const Result* const> measured) {
  const auto is_better = [](const Result* one, const Result* other) {
    const double ms = one->measurement.median_ms;
    const double other_ms = other->measurement.median_ms;
    const double joules = *objective_value(*one, Objective::energy);
    const double other_joules = *objective_value(*other, Objective::energy);
    return ms <= other_ms && joules <= other_joules && (ms < other_ms || joules < other_joules);
  };
  std::vector<const Result*> front = ranked_by(Objective::time, measured);
  std::erase_if(front, [&](const Result* other) {
    return std::ranges::any_of(measured, [&](const Result* one) { return is_better(one, other); });
  });
  return front;
}

}  // namespace smemtune
