#include "tuner/engine/one_configuration.h"

#include "tuner/core/error.h"
#include "tuner/core/limits.h"
#include "tuner/core/reasons.h"
#include "tuner/core/result_log.h"
#include "tuner/engine/evaluation.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/preparation.h"
#include "tuner/engine/problem_state.h"
#include "tuner/engine/too_fast.h"

#include <utility>

namespace smemtune {

namespace {

/// Returns `compute_90` for `sm_90` and `compute_90a` for `sm_90a`.
std::string virtual_architecture(const std::string& architecture) {
  return "compute_" + architecture.substr(architecture.find('_') + 1);
}

class One {
 public:
  One(Tuning& tuning, const OneConfiguration& wanted)
      : tuning_(tuning), wanted_(wanted), state_(begin_problem(tuning, wanted.problem, 1)) {
    state_.kernels.push_back(bind(tuning_, state_.set, *wanted.kernel));
    if (tuning.log != nullptr) find_second_data(state_);
    one_.result = begin_result(kernel(), wanted.configuration);
  }

  OneResult run() {
    if (const std::optional<Failure> failure = find_out()) set_failure(one_.result, *failure);
    one_.derived = derived_tolerances(state_);
    one_.interrupted = tuning_.stop;
    return std::move(one_);
  }

 private:
  const KernelOnProblems& kernel() const { return state_.kernels.front(); }

  std::optional<Failure> find_out() {
    // A missing device feature says more than a constraint that fails because of it.
    KernelInstance needs;
    needs.required_features = wanted_.kernel->required_features;
    if (auto failure = exceeds_limits(needs, tuning_.device)) return failure;
    const KernelBinding& bound = kernel().bound.front();
    if (const auto violated = bound.violated_constraint(wanted_.configuration)) {
      return failure(
          {Status::constraints, "constraint"},
          key(wanted_.configuration) + " fails `" + *violated + "` on " + key(wanted_.problem));
    }
    Outcome<Variant> variant = plan(kernel(), state_.set, wanted_.configuration, tuning_.device);
    if (!variant) return variant.failure();
    one_.result.metrics = variant->metrics;
    one_.request = variant->requests[variant->parts.front().module];
    const Outcome<std::vector<Module>> modules = compile(variant->requests);
    if (!modules && modules.failure().reason == "signature") {
      throw InputError(tuning_.request.space->file.string() + ": kernel '" + wanted_.kernel->name +
                       "': " + modules.failure().detail);
    }
    if (!modules) return modules.failure();
    if (tuning_.stop) return std::nullopt;
    one_.module = (*modules)[variant->parts.front().module];
    if (wanted_.want_ptx && tuning_.device.kind == DeviceKind::gpu) find_ptx();
    if (auto failure = judge(*variant, *modules, tuning_.device,
                             tuning_.request.options.resource_limits, one_.result)) {
      return failure;
    }
    add_code_facts(*variant, *modules, one_.result);
    if (wanted_.launch) {
      measure(make_job(*variant, *modules), *modules);
      set_compared(one_.result, state_, kernel(), variant->parts);
    } else {
      one_.result.status = Status::fits;
    }
    return std::nullopt;
  }

  /// Returns fewer modules than requests when stop was asked for.
  Outcome<std::vector<Module>> compile(const std::vector<CompileRequest>& requests) {
    const std::vector<std::uint64_t> numbers = tuning_.queue.add_all(requests);
    while (!tuning_.queue.all_ready(numbers)) {
      if (tuning_.stop) return std::vector<Module>();
      work(tuning_, state_);
    }
    return tuning_.queue.take(numbers);
  }

  void find_ptx() {
    CompileRequest request = *one_.request;
    request.architecture = virtual_architecture(request.architecture);
    const Outcome<std::vector<Module>> modules = compile({request});
    if (!modules) {
      tuning_.observer.note("no PTX: " + modules.failure().detail);
    } else if (!modules->empty()) {
      one_.ptx.assign(modules->front()->image.begin(), modules->front()->image.end());
    }
  }

  void measure(Job job, const std::vector<Module>& modules) {
    EvaluateRequest asked = {.job = job,
                             .verify = true,
                             .screen_samples = wanted_.samples,
                             .launch_samples = wanted_.samples};
    const std::optional<EvaluateReply> reply = reply_to(asked, modules);
    if (!reply) return;
    take_screening(*reply, asked, one_.result);
    refuse_too_fast();
    if (one_.result.failed()) return;
    if (wanted_.energy) {
      one_.no_energy = ask_facts({.job = job, .verify = false, .energy_s = kEnergy_s}, modules,
                                 energy_overtime_s(one_.result));
    }
    if (wanted_.counters) {
      one_.no_counters = ask_facts({.job = job, .verify = false, .count = true}, modules, 0);
    }
  }

  /// Returns why there are none; empty if there are, or stop was asked for.
  std::string ask_facts(EvaluateRequest asked, const std::vector<Module>& modules, double more_s) {
    const std::optional<EvaluateReply> reply = reply_to(asked, modules, more_s);
    if (!reply) return "";
    state_.devices.front().context_is_lost();  // Nothing of it is left in the worker.
    if (reply->failure) return reply->failure->detail;
    const FactsReport facts =
        asked.energy_s > 0 ? credible_energy(reply->facts, one_.result) : reply->facts;
    take_facts(facts, one_.result);
    return facts.refused;
  }

  /// Returns nullopt when stop was asked for. `asked` has no modules afterwards. `more_s` is added
  /// to the deadline.
  std::optional<EvaluateReply> reply_to(EvaluateRequest& asked, const std::vector<Module>& modules,
                                        double more_s = 0) {
    while (!devices_have_preparation(tuning_, state_) || !state_.devices.front().ready()) {
      if (tuning_.stop) return std::nullopt;
      work(tuning_, state_);
    }
    DeviceSession& device = state_.devices.front();
    device.submit(MessageType::evaluate, pack(asked), modules,
                  deadline_s(tuning_.request.options, std::nullopt, 0) + more_s, true);
    asked.job.modules.clear();
    std::optional<DeviceAnswer> answer;
    while (!(answer = device.take_answer())) {
      if (tuning_.stop) return std::nullopt;
      work(tuning_, state_);
    }
    return read_evaluation(*answer, asked, device);
  }

  /// Refuses a time that contradicts a metric, unless the reference's own time refutes the metric.
  void refuse_too_fast() {
    std::optional<Failure> refused = too_fast(tuning_, state_, kernel(), one_.result);
    if (!refused && !state_.overdeclared) {
      state_.overdeclared.emplace();
      refused = too_fast(tuning_, state_, kernel(), one_.result);
      if (refused && !tuning_.stop) {
        const KernelTemplate& reference = state_.reference.kernel();
        const OneConfiguration its_default = {.kernel = &reference,
                                              .problem = wanted_.problem,
                                              .configuration = reference.default_configuration};
        One witness(tuning_, its_default);
        witness.run();
        if (witness.state_.overdeclared) state_.overdeclared = witness.state_.overdeclared;
        refused = too_fast(tuning_, state_, kernel(), one_.result);
      }
    }
    if (refused) set_failure(one_.result, *refused);
  }

  Tuning& tuning_;
  const OneConfiguration& wanted_;
  ProblemState state_;
  OneResult one_;
};

}  // namespace

OneResult run_one(const TuningRequest& request, const OneConfiguration& wanted,
                  const Device& device, WorkerPool& pool, const Observer& observer,
                  const std::atomic<bool>& stop) {
  TuningRequest alone = request;
  alone.kernels.clear();  // Nothing is searched.
  alone.problems = {wanted.problem};
  TuningSummary summary;
  CompileQueue queue(pool);
  NoLog log;
  Tuning tuning = {.request = alone,
                   .device = device,
                   .pool = pool,
                   .queue = queue,
                   .log = wanted.launch ? &log : nullptr,
                   .observer = observer,
                   .stop = stop,
                   .summary = summary};
  return One(tuning, wanted).run();
}

}  // namespace smemtune
