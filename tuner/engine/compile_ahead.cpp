#include "tuner/engine/compile_ahead.h"

#include "tuner/core/error.h"
#include "tuner/engine/problem_strategy.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace smemtune {

namespace {

/// Finals last about as long as it takes to compile so many times what a search has in flight.
constexpr std::size_t kTimesInFlight = 2;

bool has_results(const Tuning& tuning, const ProblemState& state) {
  return std::ranges::any_of(state.kernels, [&](const KernelOnProblems& kernel) {
    return !known_configurations(tuning, state, kernel).empty();
  });
}

}  // namespace

void CompileAhead::begin(std::size_t i) {
  const std::vector<Problem>& problems = tuning_.request.problems;
  if (i >= problems.size() || tuning_.device.kind == DeviceKind::cpu) return;
  if (tuning_.request.options.budget.max_seconds > 0) return;
  try {
    state_ = bind_problem(tuning_, problems[i], i + 1);
    if (!tuning_.request.options.resume || !has_results(tuning_, *state_)) ask();
  } catch (const InputError&) {
    state_.reset();  // It is thrown again where the problem begins.
  } catch (const Cancelled&) {
    state_.reset();
  }
}

void CompileAhead::ask() {
  const std::unique_ptr<Strategy> strategy = plan_search(tuning_, *state_).strategy;
  const std::size_t most =
      kTimesInFlight * in_flight(learns(tuning_), tuning_.pool.compilers(), tuning_.pool.units());
  for (std::size_t asked = 0; asked < most; ++asked) {
    const std::optional<Candidate> candidate = strategy->ask();
    if (!candidate) return;
    const KernelOnProblems& kernel = state_->kernels[candidate->kernel];
    const Outcome<Variant> variant =
        plan(kernel, state_->set,
             kernel.bound.front().search_space().configuration(candidate->configuration),
             tuning_.device);
    if (!variant) continue;
    for (const CompileRequest& request : on_tuned_problem(*variant).requests) {
      numbers_.push_back(tuning_.queue.add(request));
    }
  }
}

void CompileAhead::withdraw() {
  for (const std::uint64_t number : std::exchange(numbers_, {})) tuning_.queue.forget(number);
}

}  // namespace smemtune
