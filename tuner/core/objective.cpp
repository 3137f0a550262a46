#include "tuner/core/objective.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

namespace smemtune {
namespace {

// The facts that can be ranked by; EXPORT.md says what they are.
constexpr std::array kCounters = {"duration_ns",
                                  "warp_instructions",
                                  "dram_read_bytes",
                                  "dram_write_bytes",
                                  "l2_bytes",
                                  "l2_hit_percent",
                                  "l1_hit_percent",
                                  "shared_load_instructions",
                                  "shared_wavefronts",
                                  "shared_bank_conflicts",
                                  "dram_percent",
                                  "l2_percent",
                                  "l1_percent",
                                  "issue_percent",
                                  "occupancy_percent",
                                  "tensor_percent",
                                  "stalled_for_global_memory_warps",
                                  "stalled_for_shared_memory_warps",
                                  "stalled_at_barrier_warps",
                                  "stalled_for_memory_queue_warps",
                                  "stalled_for_global_queue_warps",
                                  "stalled_for_math_pipe_warps"};
constexpr std::array kEnergies = {"joules_per_launch",
                                  "mean_watts",
                                  "idle_watts",
                                  "launch_ms",
                                  "measured_s",
                                  "power_samples",
                                  "sm_clock_mhz",
                                  "power_limit_watts",
                                  "power_limited_percent",
                                  "heat_limited_percent",
                                  "other_processes"};

/// Returns a counter of all launches together; nullopt if that is not known, as where means of
/// several launches would have to be added.
std::optional<double> counter_of(const Result& result, const std::string& name) {
  constexpr std::array kSums = {"_bytes", "_ns", "_instructions", "_wavefronts", "_conflicts"};
  const bool adds_up =
      std::ranges::any_of(kSums, [&](const char* unit) { return name.ends_with(unit); });
  if (result.launches.empty() || (result.launches.size() > 1 && !adds_up)) return std::nullopt;
  double sum = 0;
  for (const LaunchResult& launch : result.launches) {
    const std::optional<double> counter = find_figure(launch.facts, kCounterFacts + name);
    if (!counter) return std::nullopt;
    sum += *counter;
  }
  return sum;
}

/// Returns a figure that is the largest of the launches. `by_compiler`: it is not known where the
/// compiler does not tell resources, as on the CPU device.
template <typename Read>
ResultFigure of_launches(const char* name, Read read, bool by_compiler = false) {
  return {.name = name, .of = [=](const Result& result) -> std::optional<double> {
            if (result.launches.empty()) return std::nullopt;
            double most = 0;
            for (const LaunchResult& launch : result.launches) {
              if (by_compiler && !launch.resources.known()) return std::nullopt;
              most = std::max(most, static_cast<double>(read(launch)));
            }
            return most;
          }};
}

std::optional<double> if_positive(double figure) {
  return figure > 0 ? std::optional(figure) : std::nullopt;
}

std::optional<double> edp_of(const Result& result) {
  const auto joules = joules_of(result);
  const auto ms = result.time_ms();
  return joules && ms ? std::optional(*joules * 1e-3 * *ms) : std::nullopt;
}

std::optional<double> occupancy_of(const Result& result) {
  if (result.launches.empty()) return std::nullopt;
  const auto percent = [](const LaunchResult& launch) { return launch.occupancy.percent; };
  return if_positive(percent(std::ranges::min(result.launches, {}, percent)));
}

Scope scope_of(const std::vector<ResultFigure>& figures) {
  Scope scope;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    scope.add_variable(figures[i].name, i, Scope::Kind::real);
  }
  return scope;
}

Expression compiled(const std::string& text, const std::vector<ResultFigure>& figures) {
  try {
    return Expression::compile_real(text, scope_of(figures));
  } catch (const ExpressionError& error) {
    const std::vector<std::string> names = texts_of(figures, &ResultFigure::name);
    throw InputError("objective " + std::string(error.what()) + "; it is an expression over " +
                     joined(names, ", "));
  }
}

}  // namespace

std::vector<ResultFigure> result_figures(const std::set<std::string>& metrics) {
  std::vector<ResultFigure> figures = {
      {.name = "time", .of = [](const Result& result) { return result.time_ms(); }},
      {.name = "energy", .of = joules_of, .kind = kEnergyFacts},
      {.name = "edp", .of = edp_of, .kind = kEnergyFacts},
      of_launches(
          "registers_per_thread",
          [](const auto& launch) { return launch.resources.registers_per_thread; }, true),
      of_launches("static_shared_bytes",
                  [](const auto& launch) { return launch.resources.static_shared_bytes; }),
      of_launches("dynamic_shared_bytes",
                  [](const auto& launch) { return launch.shape.dynamic_shared_bytes; }),
      of_launches("shared_bytes", [](const auto& launch) { return launch.shared_bytes(); }),
      of_launches(
          "spill_bytes",
          [](const auto& launch) {
            return launch.resources.spill_store_bytes + launch.resources.spill_load_bytes;
          },
          true),
      of_launches("threads_per_block",
                  [](const auto& launch) { return launch.shape.threads_per_block(); }),
      {.name = "occupancy_percent", .of = occupancy_of},
      {.name = "max_absolute_error",
       .of = [](const Result& result) { return std::optional(result.max_absolute_error); }},
      {.name = "max_relative_error",
       .of = [](const Result& result) { return std::optional(result.max_relative_error); }},
      {.name = "compile_ms",
       .of = [](const Result& result) { return if_positive(result.compile_ms); }}};
  for (const char* name : kEnergies) {
    figures.push_back({.name = kEnergyFacts + std::string(name),
                       .of = [name](const Result& result) { return energy_fact(result, name); },
                       .kind = kEnergyFacts});
  }
  for (const char* name : kCounters) {
    figures.push_back({.name = kCounterFacts + std::string(name),
                       .of = [name](const Result& result) { return counter_of(result, name); },
                       .kind = kCounterFacts});
  }
  for (const std::string& name : metrics) {
    if (std::ranges::find(figures, name, &ResultFigure::name) != figures.end()) continue;
    figures.push_back({.name = name, .of = [name](const Result& result) {
                         return find_figure(result.metrics, name);
                       }});
  }
  return figures;
}

Objective::Objective(const std::string& text, const std::set<std::string>& metrics)
    : figures_(result_figures(metrics)), expression_(compiled(text, figures_)) {}

bool Objective::uses(const std::string& kind) const {
  return std::ranges::any_of(expression_.variables(),
                             [&](std::size_t slot) { return figures_[slot].kind == kind; });
}

std::optional<double> Objective::value(const Result& result) const {
  std::vector<std::int64_t> slots(figures_.size());
  for (const std::size_t slot : expression_.variables()) {
    const std::optional<double> figure = figures_[slot].of(result);
    if (!figure || !std::isfinite(*figure)) return std::nullopt;
    slots[slot] = std::bit_cast<std::int64_t>(*figure);
  }
  try {
    return expression_.evaluate_real(slots);
  } catch (const ExpressionError&) {  // It divides by a figure that is zero, for example.
    return std::nullopt;
  }
}

std::vector<std::string> Objective::unknown_of(const Result& result) const {
  std::vector<std::string> names;
  for (const std::size_t slot : expression_.variables()) {
    if (!figures_[slot].of(result)) names.push_back(figures_[slot].name);
  }
  return names;
}

std::optional<double> energy_fact(const Result& result, const std::string& name) {
  if (result.launches.empty()) return std::nullopt;
  return find_figure(result.launches.front().facts, kEnergyFacts + name);
}

std::optional<double> joules_of(const Result& result) {
  return energy_fact(result, "joules_per_launch");
}

bool can_be_ranked(const Result& result) {
  return result.timed() && (result.stage == Stage::final || joules_of(result));
}

std::vector<const Result*> ranked_by(const Objective& objective,
                                     std::span<const Result* const> results) {
  std::vector<std::pair<std::pair<double, double>, const Result*>> ranked;
  for (const Result* result : results) {
    if (!can_be_ranked(*result)) continue;
    if (const auto value = objective.value(*result)) {
      ranked.push_back({{*value, result->measurement.median_ms}, result});
    }
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& one) { return one.first; });
  std::vector<const Result*> sorted;
  std::ranges::transform(ranked, std::back_inserter(sorted),
                         [](const auto& one) { return one.second; });
  return sorted;
}

std::vector<const Result*> pareto_front(std::span<const Result* const> results) {
  std::vector<std::pair<std::pair<double, double>, const Result*>> measured;
  for (const Result* result : results) {
    const auto joules = joules_of(*result);
    if (joules && can_be_ranked(*result)) {
      measured.push_back({{result->measurement.median_ms, *joules}, result});
    }
  }
  std::ranges::stable_sort(measured, {}, [](const auto& one) { return one.first; });
  std::vector<const Result*> front;
  std::pair<double, double> last = {0, HUGE_VAL};
  for (const auto& [figures, result] : measured) {
    if (figures.second >= last.second && figures != last) continue;
    front.push_back(result);
    last = figures;
  }
  return front;
}

}  // namespace smemtune
