#include "reports/result_texts.h"
#include "reports/run_summary.h"
#include "reports/table.h"
#include "reports/why.h"
#include "tuner/core/occupancy.h"

#include <algorithm>
#include <cmath>

namespace smemtune {

namespace {

/// "40 registers, 8.0 KB shared, no spills, 100 % occupancy (threads)"
std::string resources_text(const Result& result, const Device& device) {
  const LaunchResult* launch = tightest_launch(result);
  if (launch == nullptr) return "";
  std::string text =
      format_bytes(static_cast<double>(launch->shared_bytes())) + " shared per block";
  if (device.kind == DeviceKind::cpu) return text;
  text = std::to_string(launch->resources.registers_per_thread) + " registers, " + text;
  const std::int64_t spilled =
      launch->resources.spill_store_bytes + launch->resources.spill_load_bytes;
  text += spilled == 0 ? ", no spills" : ", " + std::to_string(spilled) + " bytes spilled";
  if (launch->resources.stack_bytes > 0) {
    text += ", " + std::to_string(launch->resources.stack_bytes) + " bytes of stack";
  }
  text += ", " + decimal(launch->occupancy.percent, 0) + " % occupancy (limited by " +
          joined(launch->occupancy.limiters(), " and ") + ")";
  return text;
}

/// With the best, statistically.
bool is_tied(const ProblemSummary& problem, const Result& result) {
  return std::ranges::any_of(problem.bests.tied, [&](const Result& tie) {
    return tie.kernel == result.kernel && tie.configuration == result.configuration;
  });
}

/// Says what a change of a single parameter of the best costs, so where its lead comes from.
std::string one_step_away(const ProblemSummary& problem) {
  const Result& best = *problem.best();
  std::string text;
  for (const auto& [name, value] : best.configuration) {
    const Result* nearest = nullptr;
    for (const Result* other : timed_results(problem, best.kernel)) {
      Configuration changed = other->configuration;
      const auto found = changed.find(name);
      if (found == changed.end() || found->second == value) continue;
      found->second = value;
      if (changed != best.configuration) continue;
      if (nearest == nullptr || other->measurement.median_ms < nearest->measurement.median_ms) {
        nearest = other;
      }
    }
    if (nearest == nullptr) continue;
    text += (text.empty() ? "" : ", ") + name + "=" + to_text(nearest->configuration.at(name));
    if (is_tied(problem, *nearest)) {
      text += " tied";
      continue;
    }
    const double slower = 100 * (nearest->measurement.median_ms / best.measurement.median_ms - 1);
    text += std::string(slower < 0 ? " " : " +") + decimal(slower, 1) + " %";
    if (best.stage == Stage::final && nearest->stage != Stage::final) text += " (screened only)";
  }
  return text;
}

/// Says by which figure the best beats its kernel's default in the finals; empty where none is
/// singled out.
std::string why_text_of(const ProblemSummary& problem, const Device& device) {
  const Result& best = *problem.best();
  const Result* const by_default = default_result(problem, best.kernel);
  if (by_default == nullptr || by_default->configuration == best.configuration) return "";
  if (by_default->stage != Stage::final || is_tied(problem, *by_default)) return "";
  return why_faster(best, *by_default, device.sm_count).sentence;
}

std::string change_text(double change, const std::string& amount, const char* what) {
  return (change > 0 ? "costs " : "saves ") + amount + (change > 0 ? " more " : " of ") + what;
}

/// "1.80x over yours (+-0.4 %), which is TILE=16; costs 12.0 KB more shared memory per block"
std::string over_default_text(const ProblemSummary& problem, const Device& device) {
  const Result& best = *problem.best();
  const Result* const by_default = default_result(problem, best.kernel);
  if (by_default == nullptr) return "";
  if (by_default->configuration == best.configuration) {
    if (problem.default_in_doubt) return to_text(*problem.default_in_doubt);
    if (best.configuration.empty()) return "";
    if (best.coverage().with == ComparedWith::only_itself) {
      return "it is the default, which the others were compared with";
    }
    return problem.unfinished ? "nothing faster than the default was found"
                              : "the default is already the best";
  }
  std::string text;
  if (is_tied(problem, *by_default)) {
    text = "the default, " + key(by_default->configuration) + ", is statistically tied with it";
  } else {
    double factor = by_default->measurement.median_ms / best.measurement.median_ms;
    std::string margin;
    if (const auto& paired = best.finals.default_slower) {
      factor = 1 + paired->percent / 100;
      const double half = (paired->high_percent - paired->low_percent) / 2 / factor;
      if (std::isfinite(half)) margin = " (+-" + decimal(half, 1) + " %)";
    }
    text = times(factor) + " over the default" + margin + ", " + key(by_default->configuration);
  }
  const LaunchResult* const ours = tightest_launch(best);
  const LaunchResult* const theirs = tightest_launch(*by_default);
  if (ours == nullptr || theirs == nullptr) return text;
  const std::int64_t shared = ours->shared_bytes() - theirs->shared_bytes();
  if (shared != 0) {
    text += "; " + change_text(static_cast<double>(shared),
                               format_bytes(std::abs(static_cast<double>(shared))),
                               "shared memory per block");
  }
  const int registers =
      ours->resources.registers_per_thread - theirs->resources.registers_per_thread;
  if (device.kind == DeviceKind::gpu && registers != 0) {
    text +=
        "; " + change_text(registers, std::to_string(std::abs(registers)), "registers per thread");
  }
  return text;
}

/// Names what the kernel's results were found equal to: "its definition", "another kernel, naive".
std::string truth_text(const Space& space, ComparedWith with) {
  switch (with) {
    case ComparedWith::definition:
      return "its definition";
    case ComparedWith::expected_file:
      return "expected files";
    case ComparedWith::another_kernel:
      return "another kernel, " +
             (space.verify.also_reference.empty()
                  ? space.verify.reference
                  : space.verify.also_reference + ", on the problems of \"also\"");
    case ComparedWith::only_itself:
      return "nothing but its own default";
    case ComparedWith::unknown:
      break;
  }
  return "something that was not recorded";
}

/// "verified against its definition at 3,051 of 65,536 elements"
std::string compared_with_text(const Space& space, const Result& result) {
  const Coverage coverage = result.coverage();
  if (coverage.with == ComparedWith::unknown) {
    return "stored by an earlier release, which did not record what it was compared with";
  }
  if (coverage.with == ComparedWith::only_itself) {
    return "*** compared with nothing but its own default: it may be wrong";
  }
  std::string text = "verified against " + truth_text(space, coverage.with);
  if (coverage.by_old_rule) {
    return text + ", by the old rule: an earlier release took that from the space file";
  }
  text += extent_text(coverage);
  if (coverage.is_everywhere()) return text;
  return (coverage.rests_on_itself() ? "*** " : "") + text + ", but not " + gaps_text(coverage) +
         ", compared with " + truth_text(space, coverage.least) +
         (coverage.rests_on_itself() ? ": that may be wrong" : "");
}

/// "the CPU device sees no race in it (64 of 4,096 blocks)"; empty where it was not looked at, as
/// on the CPU device itself.
std::string cpu_check_text(const ProblemSummary& problem) {
  const Result& best = *problem.best();
  const std::vector<CpuCheck>& checks = best.finals.cpu_checks;
  const auto found = std::ranges::find_if(checks, [&](const CpuCheck& check) {
    return check.kernel == best.kernel && check.configuration == best.configuration;
  });
  if (found == checks.end()) return "";
  const CpuCheck& check = *found;
  const std::string where = check.problem == problem.problem ? "" : " on " + key(check.problem);
  if (!check.not_run.empty()) {
    return "not looked at for races" + where + ": " + check.not_run;
  }
  if (check.found) {
    return "*** run on the CPU device" + where + ": " + check.found->reason + ": " +
           check.found->detail;
  }
  return "the CPU device sees no race in it" + where + " (" + format_count(check.blocks) + " of " +
         counted(check.blocks_total, "block") + ")";
}

/// "1.08x over tiled's best", or that the two are tied; and where the finals did not compare them,
/// that they did not. Empty if there is one kernel.
std::string over_next_kernel_text(const ProblemSummary& problem) {
  if (problem.bests.kernels.size() < 2) return "";
  const Result& best = *problem.best();
  const Result& next = problem.bests.kernels[1];
  if (is_tied(problem, next)) return next.kernel + "'s best is statistically tied with it";
  const double ratio = next.measurement.median_ms / best.measurement.median_ms;
  const bool is_before = best.stage == Stage::final && next.stage != Stage::final;
  if (is_before && ratio < 1) {
    return next.kernel + "'s best took " + format_time(next.measurement.median_ms) +
           " outside the finals, which did not compare the two";
  }
  return times(ratio) + " over " + next.kernel + "'s best" +
         (is_before ? ", which was not in the finals" : "");
}

}  // namespace

std::string why_best(const Space& space, const ProblemSummary& problem, const Device& device) {
  const Result& best = *problem.best();
  std::string text = "  best: " + best.kernel + " " + key(best.configuration) + "  " +
                     format_time(best.measurement.median_ms) + "\n";
  if (best.stage != Stage::final) {
    text += "    screened only: no finals were held, so others may be as fast\n";
  }
  text += "    " + compared_with_text(space, best) + "\n";
  const std::string races = cpu_check_text(problem);
  if (!races.empty()) text += "    " + races + "\n";
  const std::string over_default = over_default_text(problem, device);
  if (!over_default.empty()) text += "    " + over_default + "\n";
  if (const std::string why = why_text_of(problem, device); !why.empty()) {
    text += "    why: it " + why + "\n";
  }
  const std::string leads = over_next_kernel_text(problem);
  if (!leads.empty()) text += "    " + leads + "\n";
  const std::string resources = resources_text(best, device);
  if (!resources.empty()) text += "    " + resources + "\n";
  if (best.measurement.throttled) {
    text += "    throttled: measured at " + decimal(best.measurement.sm_clock_mhz, 0) +
            " MHz, below what the device reached before\n";
  }
  const std::string steps = one_step_away(problem);
  if (!steps.empty()) text += "    one parameter changed: " + steps + "\n";
  if (!problem.bests.tied.empty()) {
    text += "    statistically tied with: ";
    const std::size_t shown = std::min<std::size_t>(problem.bests.tied.size(), 4);
    for (std::size_t i = 0; i < shown; ++i) {
      text += (i == 0 ? "" : "; ") + problem.bests.tied[i].kernel + " " +
              key(problem.bests.tied[i].configuration);
    }
    if (shown < problem.bests.tied.size()) {
      text += " and " + std::to_string(problem.bests.tied.size() - shown) + " more";
    }
    text += "\n";
  }
  if (const std::string sure = how_sure(problem); !sure.empty()) text += "    " + sure + "\n";
  if (const auto noise_percent = best.finals.noise_percent) {
    text += "    noise: measured twice in the finals, the best differs from itself by " +
            decimal(*noise_percent, 2) + " %\n";
  }
  return text;
}

std::string how_sure(const ProblemSummary& problem) {
  if (!problem.valid || problem.best() == nullptr) return "";
  const std::string all = format_count(*problem.valid);
  const bool finals = problem.best()->stage == Stage::final;
  if (!problem.unfinished) {
    if (problem.evaluated + problem.known < *problem.valid) return "";
    if (*problem.valid == 1) return "the only configuration of this space";
    return "the best of all " + all + (finals ? "" : " as screened, without finals");
  }
  const Unfinished& unfinished = *problem.unfinished;
  if (!unfinished.chance_of_better) return "";
  std::string after = "after " + format_count(unfinished.evaluations) + " of " + all;
  if (unfinished.elsewhere > 0) {
    after += " here, which confirm an earlier search of " + format_count(unfinished.elsewhere) +
             " on this model";
  }
  const double noise_percent = problem.best()->finals.noise_percent.value_or(0);
  if (unfinished.by_itself && finals) {
    return "within " + significant(std::max(unfinished.percent, noise_percent), 2) +
           " % of the best of this space with 95 % confidence, " + after;
  }
  return (finals ? "stopped " : "stopped before the finals, ") + after +
         ": the chance that something more than " + significant(unfinished.percent, 2) +
         " % faster is left is about " + decimal(100 * *unfinished.chance_of_better, 0) + " %";
}

}  // namespace smemtune
