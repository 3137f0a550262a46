#include "tuner/core/elapsed.h"
#include "tuner/core/error.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/reference_checks.h"
#include "tuner/engine/sampler.h"
#include "tuner/engine/seen_times.h"
#include "tuner/engine/tolerance_derivation.h"
#include "tuner/engine/verifier.h"
#include "tuner/engine/worker_channel.h"
#include "tuner/engine/workers.h"
#include "tuner/source/in_double.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <unistd.h>

namespace smemtune {

namespace {

constexpr int kContextLost = 70;

/// Ends the process: the context is gone, and releasing anything in it may hang.
[[noreturn]] void end_with_lost_context() {
  std::fflush(nullptr);
  _exit(kContextLost);
}

// A first sample has no second launch if the first takes this many times as long as the fastest
// rival.
constexpr double kFarSlower = 2;

/// The fastest of several configurations that compete.
struct Fastest {
  Check check;
  int launches = 1;  ///< Launches in each sample of `time`.
  PresentTime time;
};

/// Holds the launcher, and the data and kernels that are prepared and loaded on it.
class DeviceWorker {
 public:
  DeviceWorker(Launcher& launcher, WorkerChannel& channel)
      : launcher_(launcher), channel_(channel), checks_(launcher, channel), timed_data_(launcher) {}

  PrepareReply prepare(const PrepareRequest& request) {
    release_all();
    const bool was_only_filled = std::exchange(is_only_filled_, request.reference.parts.empty());
    std::erase_if(workloads_, [&](const auto& known) {
      const auto again = std::ranges::find(request.workloads, known.first, &NumberedWorkload::id);
      // Preparing an empty workload frees its buffers.
      if (again == request.workloads.end()) launcher_.prepare(known.first, Workload{});
      return again == request.workloads.end() || !was_only_filled || *again != known.second;
    });
    derived_.clear();
    fitted_.clear();
    largest_values_.clear();
    timed_data_.stop();
    PrepareReply reply;
    checks_.begin(request);
    reply.failure = fill_buffers(request.workloads);
    if (!reply.failure) checks_.buffers_are_filled();
    if (!reply.failure && !request.reference.parts.empty()) {
      reply.failure = prepare_reference(request, reply);
    }
    return reply;
  }

  EvaluateReply evaluate(const EvaluateRequest& request) {
    is_only_filled_ = false;
    EvaluateReply reply;
    std::vector<LoadedKernel> loaded;
    if (request.screen_samples > 0) draw_data(timed_data_.search);
    const auto start = std::chrono::steady_clock::now();
    const Outcome<std::vector<Check>> checks = load(request.job, loaded);
    if (checks) {
      reply.loaded = loaded.front();
      reply.failure = measure(request, *checks, reply);
      if (request.classify) classify(checks->front(), reply);
    } else {
      reply.failure = checks.failure();
    }
    timed_data_.search.of_ms += ms_since(start);
    const bool lost = reply.failure && reply.failure->context_lost;
    if (lost) return reply;  // Nothing can be unloaded any more.
    const bool keep = request.keep_as >= 0 && !reply.failure;
    const bool leads = !keep && is_fastest(request, reply);
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      if ((keep || leads) && i == 0) continue;
      unload(loaded[i].handle);
    }
    if (keep) {
      const auto kept = kept_.find(request.keep_as);
      if (kept != kept_.end()) unload(kept->second.handle);
      kept_[request.keep_as] = checks->front();
    }
    if (leads) lead(request.rivals, checks->front(), reply);
    return reply;
  }

  SampleRoundReply sample_round(const SampleRoundRequest& request) {
    std::vector<Entrant> entrants;
    for (const RoundEntry& entry : request) {
      const auto kept = kept_.find(entry.slot);
      if (kept == kept_.end()) {
        throw UnavailableError("nothing is kept in slot " + std::to_string(entry.slot));
      }
      entrants.push_back({kept->second, entry.launches_per_sample});
    }
    SampleRoundReply reply;
    draw_data(timed_data_.finals);
    const auto start = std::chrono::steady_clock::now();
    const auto tell = [this](int number) { channel_.tell_phase("race", number); };
    for (const Outcome<TimeReport>& outcome : smemtune::sample_round(launcher_, entrants, tell)) {
      RoundSample sample;
      if (outcome) {
        sample.time_ms = outcome->samples_ms.front();
        sample.discarded = outcome->discarded;
        sample.sm_clock_mhz = outcome->sm_clock_mhz;
        sample.throttled = outcome->throttled;
      } else {
        sample.failure = outcome.failure();
      }
      reply.push_back(std::move(sample));
    }
    timed_data_.finals.of_ms += ms_since(start);
    return reply;
  }

 private:
  void unload(KernelHandle handle) {
    // An empty list of launches loads nothing; a failure can only mean that the device is gone,
    // which the next call finds.
    launcher_.load(handle, {}, {}, {});
  }

  void release_all() {
    for (const auto& [slot, check] : kept_) unload(check.handle);
    kept_.clear();
    for (const auto& [rivals, fastest] : fastest_) unload(fastest.check.handle);
    fastest_.clear();
    for (const LoadedKernel& loaded : reference_handles_) unload(loaded.handle);
    reference_handles_.clear();
  }

  /// Fills the buffers of the workloads that are not filled yet.
  std::optional<Failure> fill_buffers(const std::vector<NumberedWorkload>& workloads) {
    channel_.tell_phase("prepare");
    for (const NumberedWorkload& workload : workloads) {
      if (workloads_.contains(workload.id)) continue;
      const Outcome<std::int64_t> bytes = launcher_.prepare(workload.id, workload.workload);
      if (!bytes) return bytes.failure();
      workloads_[workload.id] = workload;
    }
    return std::nullopt;
  }

  /// Runs the reference on every workload and compares it with whatever else vouches for its
  /// outputs.
  std::optional<Failure> prepare_reference(const PrepareRequest& request, PrepareReply& reply) {
    Outcome<std::vector<Check>> checks = load(request.reference, reference_handles_);
    if (!checks) return checks.failure();
    std::map<WorkloadId, Outputs> exact;
    if (request.derive > 0) {
      Outcome<Derived> derived = derive(request, *checks);
      if (!derived) return derived.failure();
      reply.derived = derived_ = std::move(derived->tolerances);
      exact = std::move(derived->exact);
    }
    channel_.tell_phase("reference");
    const Check& tuned = checks->front();
    const auto hold = [&](const Check& check) {
      return checks_.hold(check, workloads_.at(check.workload),
                          workloads_.at(tuned.workload).problem, request, reply);
    };
    std::set<Problem> repeated;
    for (Check& check : *checks) {
      if (auto failure = keep_outputs(launcher_, check)) return failure;
      fit_tolerances(check, reply.notes);
      // Exact values take the place of what the reference writes.
      const auto& instead = exact[check.workload];
      if (!instead.empty()) {
        if (auto failure = hold(check)) return failure;
        channel_.tell_phase("reference");
        if (auto failure = keep_outputs(launcher_, check, instead)) return failure;
      }
      // The first data of each problem show whether the reference repeats itself.
      const bool is_first = repeated.insert(workloads_.at(check.workload).problem).second;
      if (!is_first && instead.empty()) continue;
      if (auto failure = repeat_reference(launcher_, check)) return failure;
    }
    if (auto failure = look_at_comparisons(*checks, reply)) return failure;
    classes_.begin(tuned, workloads_.at(tuned.workload));
    reference_ = tuned;
    if (auto failure = timed_data_.draw_first(tuned)) return failure;
    if (checks_.has_definitions()) launcher_.warm_up();  // They may not be evaluated yet.
    for (const Check& check : *checks) {
      if (!exact[check.workload].empty()) continue;
      if (auto failure = hold(check)) return failure;
    }
    checks_.end();
    leave_out_unchanged(reply);
    return request.with_transfers ? time_transfers(tuned, reply) : std::nullopt;
  }

  /// Draws further data for timed launches.
  void draw_data(TimedData::Part& part) {
    // The reference was right before, so no kernel that was requested is to blame.
    if (timed_data_.draw(part)) end_with_lost_context();
  }

  /// Reports for each problem how much a comparison with the reference can reveal, and notes the
  /// largest values of the outputs that are timed.
  std::optional<Failure> look_at_comparisons(const std::vector<Check>& checks,
                                             PrepareReply& reply) {
    std::set<Problem> seen;
    for (const Check& check : checks) {
      const NumberedWorkload& workload = workloads_.at(check.workload);
      const std::vector<KeptOutput> kept = launcher_.kept(check.workload);
      if (&check == &checks.front()) {
        for (const KeptOutput& one : kept) largest_values_[one.name] = one.largest;
      }
      add_outputs(launcher_, kept, workload, reply.outputs);
      if (!seen.insert(workload.problem).second) continue;  // Further data of the same problem.
      const auto notes = blind_spots(launcher_, kept, check, workload);
      if (!notes) return notes.failure();
      reply.notes.insert(reply.notes.end(), notes->begin(), notes->end());
    }
    std::ranges::move(notes_on(reply.outputs), std::back_inserter(reply.notes));
    return std::nullopt;
  }

  /// Leaves out comparisons of outputs that the reference did not change: they could find no
  /// difference.
  static void leave_out_unchanged(PrepareReply& reply) {
    for (const ReferenceOutput& output : reply.outputs) {
      if (output.changed > 0) continue;
      std::erase_if(reply.compared, [&output](const ComparedOutput& one) {
        return one.output == output.output && key(one.problem) == output.problem;
      });
    }
  }

  std::optional<Failure> time_transfers(const Check& tuned, PrepareReply& reply) {
    channel_.tell_phase("transfers");
    const Outcome<TimeReport> report = launcher_.time(
        tuned.handle,
        {.workload = tuned.workload, .launches_per_sample = 1, .with_transfers = true});
    if (!report) return report.failure();
    reply.transfers = report->transfers;
    return std::nullopt;
  }

  /// Loads every part; `loaded` holds those that were loaded even when a later part fails.
  Outcome<std::vector<Check>> load(const Job& job, std::vector<LoadedKernel>& loaded) {
    channel_.tell_phase("load");
    if (job.parts.empty()) throw WireError("a job without parts");
    std::vector<Check> checks;
    for (const Part& part : job.parts) {
      if (part.module >= job.modules.size())
        throw WireError("a part of a module that is not there");
      Outcome<LoadedKernel> kernel =
          launcher_.load(-1, job.modules[part.module], part.launches, part.arguments);
      if (!kernel) return kernel.failure();
      loaded.push_back(*kernel);
      for (const WorkloadId id : part.workloads) {
        const auto workload = workloads_.find(id);
        if (workload == workloads_.end()) throw WireError("a workload that is not prepared");
        checks.push_back({.handle = kernel->handle,
                          .workload = id,
                          .tolerance = part.tolerance,
                          .label = workload->second.label});
        set_tolerances(checks.back());
        if (id == reference_.workload) checks.back().largest_values = largest_values_;
        checks.back().timed_tolerances = timed_tolerances(checks.back(), workload->second.workload);
      }
    }
    return checks;
  }

  /// A configuration that cannot win is known after its first launch, whose output is compared.
  std::optional<Failure> measure(const EvaluateRequest& request, std::span<const Check> checks,
                                 EvaluateReply& reply) {
    const Check& timed = checks.front();
    if (request.look_s > 0) return look(timed, request.look_s, reply);
    if (request.count || request.energy_s > 0) return read_facts(request, timed, reply);
    std::size_t verified = 0;
    if (request.rivals >= 0) {
      // A device that watches accesses does so in a checked run, which is to be the first.
      if (launcher_.device().kind == DeviceKind::cpu) {
        if (auto failure = verify(checks.first(1), reply)) return failure;
        verified = 1;
      }
      if (auto failure = race_fastest(request, timed, reply)) return failure;
      if (reply.lost || !request.verify) return std::nullopt;
    }
    if (request.verify) {
      if (auto failure = verify(checks.subspan(verified), reply)) return failure;
    }
    if (request.screen_samples > 0) {
      if (auto failure = screen_further(request, timed, reply)) return failure;
    }
    if (request.launch_samples == 0) return std::nullopt;
    if (reply.loaded.launches.size() > 1) {
      if (auto failure = time_launches(timed, request, reply)) return failure;
    }
    return request.verify ? verify_again(timed, reply) : std::nullopt;
  }

  /// Takes the samples that are left to take after those which were held against a rival's.
  std::optional<Failure> screen_further(const EvaluateRequest& request, const Check& timed,
                                        EvaluateReply& reply) {
    constexpr double kAtLeast_ms = 1e-9;  // 0 would mean as many as there are.
    const std::vector<double>& taken = reply.time.samples_ms;
    TimeRequest screening = {
        .samples = std::max(1, request.screen_samples - static_cast<int>(taken.size())),
        .stop_above_ms = request.stop_above_ms,
        .enough_ms = request.enough_ms};
    if (!taken.empty() && screening.stop_above_ms > 0 && taken.back() > screening.stop_above_ms) {
      return std::nullopt;
    }
    if (screening.enough_ms > 0) {
      const double taken_ms =
          reply.time.launches_per_sample * std::accumulate(taken.begin(), taken.end(), 0.0);
      screening.enough_ms = std::max(screening.enough_ms - taken_ms, kAtLeast_ms);
    }
    return sample(timed, screening, reply);
  }

  /// Verifies the timed workload again after timing, twice on the same data: a kernel that keeps
  /// state between launches may behave differently now.
  std::optional<Failure> verify_again(const Check& timed, EvaluateReply& reply) {
    const std::array<Check, 2> twice = {timed, timed};
    auto failure = verify(twice, reply);
    if (failure) failure->detail += ", after other launches";
    return failure;
  }

  std::optional<Failure> time_launches(const Check& timed, const EvaluateRequest& request,
                                       EvaluateReply& reply) {
    channel_.tell_phase("sample");
    const Outcome<TimeReport> time = time_compared(
        launcher_, timed,
        {.samples = request.launch_samples, .enough_ms = request.enough_ms, .each_launch = true});
    if (!time) return time.failure();
    reply.time.launches_ms = time->launches_ms;
    return std::nullopt;
  }

  std::optional<Failure> verify(std::span<const Check> checks, EvaluateReply& reply) {
    channel_.tell_phase("verify");
    const auto start = std::chrono::steady_clock::now();
    const Outcome<Verification> verification = smemtune::verify(launcher_, checks);
    reply.verify_ms += ms_since(start);
    if (!verification) return verification.failure();
    reply.max_absolute_error = std::max(reply.max_absolute_error, verification->max_absolute_error);
    reply.max_relative_error = std::max(reply.max_relative_error, verification->max_relative_error);
    if (reply.first_launch_ms == 0) reply.first_launch_ms = verification->launched_ms;
    return std::nullopt;
  }

  std::optional<Failure> look(const Check& check, double seconds, EvaluateReply& reply) {
    channel_.tell_phase("look");
    const Outcome<LookReport> report = launcher_.look(check.handle, check.workload, seconds);
    if (!report) return report.failure();
    reply.look = *report;
    return std::nullopt;
  }

  std::optional<Failure> read_facts(const EvaluateRequest& request, const Check& check,
                                    EvaluateReply& reply) {
    channel_.tell_phase(request.count ? "count" : "energy");
    Outcome<FactsReport> report =
        request.count ? launcher_.count(check.handle, check.workload)
                      : launcher_.energy(check.handle, check.workload, request.energy_s);
    if (!report) return report.failure();
    reply.facts = std::move(*report);
    return std::nullopt;
  }

  /// Takes one sample, or two in doubt. Notes whether it has lost to its fastest rival.
  std::optional<Failure> race_fastest(const EvaluateRequest& request, const Check& timed,
                                      EvaluateReply& reply) {
    const auto rival = fastest_.find(request.rivals);
    TimeRequest once = {.samples = 1};
    if (rival != fastest_.end()) {
      // Its own samples may be of more launches or fewer, but not of many that are slow.
      once.launches_per_sample = rival->second.launches == 1 ? 1 : 0;
    }
    const LossLimits& loss = request.loss;
    if (loss.fastest_of_all_ms > 0) {
      once.stop_above_ms = kFarSlower * loss.fastest_of_all_ms;
    } else if (rival != fastest_.end()) {
      once.stop_above_ms = kFarSlower * rival->second.time.ms();
    }
    if (auto failure = sample(timed, once, reply)) {
      if (failure->context_lost) return failure;
      // A fault of any launch is not one of timed launches.
      auto shown = verify(std::span(&timed, 1), reply);
      return shown ? shown : failure;
    }
    reply.first_launch_ms = reply.time.samples_ms.front();
    if (loss.fastest_of_all_ms > 0) {
      auto failure = hold_against(loss.fastest_of_all_ms,
                                  {.lost_above = kLostToAny,
                                   .doubtful_above = kDoubtfulToAny,
                                   .kept_below_ms = loss.kept_below_ms},
                                  timed, once, reply);
      if (failure || reply.lost) return failure;
    }
    const std::optional<double> fastest_ms = present_ms(request.rivals);
    if (!fastest_ms) return std::nullopt;
    return hold_against(*fastest_ms, loss, timed, once, reply);
  }

  /// Notes whether the last sample shows that a configuration has lost to a rival, or the last one
  /// leaves doubt and a second one as well. Another rival may have asked for that.
  std::optional<Failure> hold_against(double rival_ms, const LossLimits& limits, const Check& timed,
                                      const TimeRequest& once, EvaluateReply& reply) {
    reply.fastest_ms = rival_ms;
    const auto is_beyond = [&](double times) {
      const double last_ms = reply.time.samples_ms.back();
      return times > 0 && last_ms > times * rival_ms && !(last_ms < limits.kept_below_ms);
    };
    reply.lost = is_beyond(limits.lost_above);
    if (reply.lost || !is_beyond(limits.doubtful_above)) return std::nullopt;
    if (reply.time.samples_ms.size() == 1) {
      if (auto failure = sample(timed, once, reply)) return failure;
    }
    reply.lost = is_beyond(limits.doubtful_above);
    return std::nullopt;
  }

  /// Returns what the fastest rival takes now; nullopt if there is none.
  std::optional<double> present_ms(std::int32_t rivals) {
    const auto found = fastest_.find(rivals);
    if (found == fastest_.end()) return std::nullopt;
    PresentTime& time = found->second.time;
    if (time.is_due()) {
      EvaluateReply now;
      if (const auto failure =
              sample(found->second.check,
                     {.samples = 1, .launches_per_sample = found->second.launches}, now)) {
        // It was right before, so the configuration that was requested is not to blame.
        if (failure->context_lost) end_with_lost_context();
        unload(found->second.check.handle);
        fastest_.erase(found);
        return std::nullopt;
      }
      time.add(now.time.samples_ms.front());
    }
    return time.ms();
  }

  /// Returns true if a configuration that was measured in full is faster than its rivals, by first
  /// samples.
  bool is_fastest(const EvaluateRequest& request, const EvaluateReply& reply) const {
    if (request.rivals < 0 || !request.verify || reply.failure || reply.lost) return false;
    const auto found = fastest_.find(request.rivals);
    return found == fastest_.end() || reply.first_launch_ms < found->second.time.ms();
  }

  void lead(std::int32_t rivals, const Check& check, const EvaluateReply& reply) {
    const auto found = fastest_.find(rivals);
    if (found != fastest_.end()) unload(found->second.check.handle);
    Fastest& fastest = fastest_[rivals];
    fastest = {.check = check, .launches = reply.time.launches_per_sample, .time = {}};
    fastest.time.add(reply.first_launch_ms);
  }

  /// Adds samples to those of the reply, and what was found with them. Only the last ones say how
  /// many launches there were in a sample.
  std::optional<Failure> sample(const Check& timed, const TimeRequest& request,
                                EvaluateReply& reply) {
    channel_.tell_phase("sample");
    Outcome<TimeReport> time = screen(launcher_, timed, request);
    if (!time) return time.failure();
    const TimeReport before = std::exchange(reply.time, std::move(*time));
    std::vector<double>& all_ms = reply.time.samples_ms;
    all_ms.insert(all_ms.begin(), before.samples_ms.begin(), before.samples_ms.end());
    reply.time.discarded += before.discarded;
    reply.time.throttled = reply.time.throttled || before.throttled;
    return std::nullopt;
  }

  void classify(const Check& check, EvaluateReply& reply) {
    const bool differs = reply.failure && reply.failure->status == Status::correctness &&
                         reply.failure->reason == "mismatch" && !reply.failure->context_lost;
    if (!differs) return;
    channel_.tell_phase("classify");
    const Outcome<int> its_class = classes_.classify(launcher_, check);
    if (its_class) {
      reply.output_class = *its_class;
    } else {
      reply.failure->context_lost = its_class.failure().context_lost;
    }
  }

  Outcome<Derived> derive(const PrepareRequest& request, const std::vector<Check>& checks) {
    DoubleReference in_double = {
        .truth = request.truth, .is_independent = !request.in_double, .factor = request.derive};
    if (!request.in_double) {
      channel_.tell_phase("definition");
      in_double.run = definitions_in_double(launcher_, request.definitions);
      return derive_tolerances(launcher_, checks, workloads_, in_double);
    }
    std::vector<LoadedKernel> loaded;
    const Outcome<std::vector<Check>> exact = load(*request.in_double, loaded);
    if (!exact) return exact.failure();
    channel_.tell_phase("double");
    std::map<std::string, KernelHandle> handles;
    for (const Check& check : *exact) {
      handles[key(workloads_.at(check.workload).problem)] = check.handle;
    }
    in_double.run = kernel_in_double(launcher_, std::move(handles));
    Outcome<Derived> derived = derive_tolerances(launcher_, checks, workloads_, in_double);
    const bool lost = !derived && derived.failure().context_lost;
    for (const LoadedKernel& kernel : loaded) {
      if (!lost) unload(kernel.handle);
    }
    return derived;
  }

  /// Sets the reference's tolerances to those that were derived, or that fit the outputs which it
  /// has just kept; once for each problem.
  void fit_tolerances(Check& reference, std::vector<std::string>& notes) {
    const NumberedWorkload& workload = workloads_.at(reference.workload);
    const std::string problem = key(workload.problem);
    if (!reference.tolerance.derived && !fitted_.contains(problem)) {
      FittedTolerances fitted = fitted_tolerances(launcher_, reference, workload.workload);
      std::ranges::move(fitted.notes, std::back_inserter(notes));
      fitted_[problem] = std::move(fitted.tolerances);
    }
    set_tolerances(reference);
  }

  /// Sets derived tolerances, or fitted ones when the kernel has no tolerance.
  void set_tolerances(Check& check) const {
    const std::string problem = key(workloads_.at(check.workload).problem);
    const auto fitted = fitted_.find(problem);
    if (!check.tolerance.is_given() && !check.tolerance.derived && fitted != fitted_.end()) {
      check.tolerances = fitted->second;
    }
    if (!check.tolerance.derived) return;
    for (const DerivedTolerance& derived : derived_) {
      if (derived.problem != problem) continue;
      check.tolerances[derived.output] = tolerance_of(derived, *check.tolerance.derived);
    }
  }

  Launcher& launcher_;
  WorkerChannel& channel_;
  std::map<WorkloadId, NumberedWorkload> workloads_;
  /// True if nothing has run on the buffers since they were filled.
  bool is_only_filled_ = false;
  std::vector<DerivedTolerance> derived_;
  /// Tolerances by problem and output.
  std::map<std::string, std::map<std::string, Tolerance>> fitted_;
  std::vector<LoadedKernel> reference_handles_;
  ReferenceChecks checks_;
  std::map<std::int32_t, Check> kept_;
  std::map<std::int32_t, Fastest> fastest_;  ///< Keyed by EvaluateRequest::rivals.
  Check reference_;
  std::map<std::string, double> largest_values_;  ///< Of the outputs that `reference_` writes.
  TimedData timed_data_;
  OutputClasses classes_;
};

using Images = std::map<std::uint64_t, std::vector<std::uint8_t>>;

void put_images(Job& job, const Images& images) {
  if (job.images.size() != job.modules.size()) throw WireError("a module without a number");
  for (std::size_t i = 0; i < job.modules.size(); ++i) {
    const auto image = images.find(job.images[i]);
    if (image == images.end()) throw WireError("a module without an image");
    job.modules[i].image = image->second;
  }
}

void answer(DeviceWorker& worker, WorkerChannel& channel, const Frame& frame, Images& images) {
  const Images sent = frame.type == MessageType::module ? Images() : std::exchange(images, {});
  switch (frame.type) {
    case MessageType::module:
      images.insert_or_assign(frame.sequence, frame.payload);
      return;
    case MessageType::prepare: {
      auto request = unpack<PrepareRequest>(frame.payload);
      put_images(request.reference, sent);
      if (request.in_double) put_images(*request.in_double, sent);
      const PrepareReply reply = worker.prepare(request);
      channel.send(MessageType::prepared, reply);
      if (reply.failure && reply.failure->context_lost) end_with_lost_context();
      return;
    }
    case MessageType::evaluate: {
      auto request = unpack<EvaluateRequest>(frame.payload);
      put_images(request.job, sent);
      const EvaluateReply reply = worker.evaluate(request);
      channel.send(MessageType::evaluated, reply);
      if (reply.failure && reply.failure->context_lost) end_with_lost_context();
      return;
    }
    case MessageType::sample_round: {
      const SampleRoundReply reply = worker.sample_round(unpack<SampleRoundRequest>(frame.payload));
      channel.send(MessageType::sampled, reply);
      const bool has_failed = !reply.empty() && reply.back().failure;
      if (has_failed && reply.back().failure->context_lost) end_with_lost_context();
      return;
    }
    default:
      throw WireError("not a message for a device worker");
  }
}

}  // namespace

int device_worker_main(const std::function<std::unique_ptr<Launcher>()>& make, int descriptor) {
  return worker_main("device worker", descriptor, [&make](WorkerChannel& channel) {
    const std::unique_ptr<Launcher> launcher = make();
    channel.send(MessageType::hello, launcher->device());
    DeviceWorker worker(*launcher, channel);
    Images images;  // For the request that follows them.
    while (const std::optional<Frame> frame = channel.receive()) {
      answer(worker, channel, *frame, images);
    }
  });
}

}  // namespace smemtune
