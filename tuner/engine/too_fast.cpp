#include "tuner/engine/too_fast.h"

#include "tuner/core/reasons.h"
#include "tuner/core/roofline.h"

#include <algorithm>
#include <string>
#include <vector>

namespace smemtune {
namespace {

bool is_witness(const ProblemState& state, const KernelOnProblems& kernel, const Result& result) {
  if (!result.is_default) return false;
  const bool has_reference = std::ranges::any_of(
      state.kernels, [](const KernelOnProblems& one) { return one.is_reference; });
  return has_reference ? kernel.is_reference : &kernel == &state.kernels.front();
}

/// Returns the least times that the time of `result` falls short of, outputs first.
std::vector<LeastTime> violated(const Tuning& tuning, const KernelOnProblems& kernel,
                                const Result& result) {
  const KernelBinding& bound = kernel.bound.front();
  std::vector<LeastTime> least =
      least_times(bound.instantiate(result.configuration), bound.metrics(result.configuration),
                  tuning.device, result.measurement.sm_clock_mhz);
  std::erase_if(least,
                [&](const LeastTime& one) { return !one.rules_out(result.measurement.median_ms); });
  return least;
}

/// Records, and tells the user, for which metrics a witness was too fast.
void hear(Tuning& tuning, ProblemState& state, const Result& witness,
          const std::vector<LeastTime>& least) {
  std::set<std::string> known = state.overdeclared.value_or(std::set<std::string>());
  for (const LeastTime& one : least) {
    if (one.metric.empty() || !known.insert(one.metric).second) continue;
    tuning.observer.note("*** the metric `" + one.metric +
                         "` counts more than must be done: " + witness.kernel + ", the default, " +
                         one.text(witness.measurement.median_ms) +
                         ". No time is held against it on " + key(witness.problem));
  }
  state.overdeclared = std::move(known);
}

}  // namespace

std::optional<Failure> too_fast(Tuning& tuning, ProblemState& state, const KernelOnProblems& kernel,
                                const Result& result) {
  if (!result.timed() || tuning.device.kind == DeviceKind::cpu) return std::nullopt;
  const std::vector<LeastTime> least = violated(tuning, kernel, result);
  const bool outputs_are = !least.empty() && least.front().metric.empty();
  if (!outputs_are && is_witness(state, kernel, result)) hear(tuning, state, result, least);
  for (const LeastTime& one : least) {
    const bool counts =
        one.metric.empty() || (state.overdeclared && !state.overdeclared->contains(one.metric));
    if (!counts) continue;
    std::string detail = one.text(result.measurement.median_ms);
    if (!one.metric.empty()) {
      detail += "; if less than `" + one.metric + "` says must be done, correct the metric";
    }
    return failure({Status::correctness, "too_fast"}, std::move(detail));
  }
  return std::nullopt;
}

void refuse_too_fast(Tuning& tuning, ProblemState& state) {
  const auto kernel_of = [&](const Entry& entry) -> const KernelOnProblems& {
    return state.kernels[entry.candidate.kernel];
  };
  for (const Entry& entry : state.entries) {
    if (is_witness(state, kernel_of(entry), entry.result)) {
      too_fast(tuning, state, kernel_of(entry), entry.result);
    }
  }
  if (!state.overdeclared) state.overdeclared.emplace();
  for (Entry& entry : state.entries) {
    const std::optional<Failure> failure = too_fast(tuning, state, kernel_of(entry), entry.result);
    if (!failure) continue;
    set_failure(entry.result, *failure);
    tuning.log->record(kernel_of(entry).hash, entry.result);
    tuning.observer.result(entry.result, false);
    ++state.progress.failed;
  }
}

}  // namespace smemtune
