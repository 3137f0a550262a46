#include "tuner/engine/cpu_check.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace smemtune {

namespace {

// Time for watching each finalist's accesses; its blocks have shown by then what they do.
constexpr double kLook_s = 2;

// Limits for compiling, filling buffers and watching: one finalist on one problem, and all of them.
// Blocks are watched for less: one that waits for other blocks, as in a decoupled look-back, waits
// forever, since only some blocks run.
constexpr double kMostOnce_s = 20;
constexpr double kMostWatching_s = 3 * kLook_s;
constexpr double kMostTogether_s = 40;

// Nothing is begun with less time left.
constexpr double kLeast_s = 0.5;

// Filling more buffers takes longer than watching the kernel.
constexpr std::int64_t kMostBytes = std::int64_t{512} << 20;

// Limits of the reserve: a share of the time budget, and seconds.
constexpr double kReserveShare = 0.25;
constexpr double kMostReserve_s = 6;

std::string seconds_text(double seconds) { return significant(seconds, 2) + " s"; }

bool may_use_shared_memory(const TuningRequest& request) {
  const auto declares_it = [](const KernelSource::File& file) {
    return file.text.find("__shared__") != std::string::npos;
  };
  return std::ranges::any_of(request.kernels, [&](const KernelTemplate* kernel) {
    const auto source = request.sources.find(kernel->name);
    return source != request.sources.end() &&
           std::ranges::any_of(source->second.files, declares_it);
  });
}

/// Returns the problems of a space without duplicates.
std::vector<Problem> problems_of(const Space& space) {
  std::vector<Problem> all;
  for (const auto& some : {space.cpu_problems, space.verify.also, space.problems}) {
    for (const Problem& problem : some) {
      if (std::ranges::find(all, problem) == all.end()) all.push_back(problem);
    }
  }
  return all;
}

/// Thrown when a step did not finish in its time.
class OutOfTime : public Error {
 public:
  using Error::Error;
};

}  // namespace

/// A configuration and a problem on which it can run.
struct CpuChecker::Planned {
  Problem problem;
  Variant variant;
  std::int64_t bytes = 0;
};

double cpu_check_reserve_s(const TuningRequest& request) {
  const double most_s = request.options.budget.max_seconds;
  if (most_s <= 0 || !request.cpu || !may_use_shared_memory(request)) return 0;
  return std::min(kMostReserve_s,
                  kReserveShare * most_s / static_cast<double>(request.problems.size()));
}

bool CpuChecker::applies_to(const Result& result) const {
  return tuning_.request.cpu && result.shared_bytes() > 0;
}

CpuCheck CpuChecker::check(const KernelOnProblems& kernel, const Result& result, double most_s) {
  CpuCheck check = {
      .kernel = result.kernel, .configuration = result.configuration, .problem = result.problem};
  const double end_s = tuning_.elapsed_s() + std::min(most_s, kMostTogether_s - spent_s_);
  if (end_s - tuning_.elapsed_s() < kLeast_s) {
    check.not_run = "time ran out";
    return check;
  }
  for (const Planned& planned : plans(kernel, result, check)) {
    const double start_s = tuning_.elapsed_s();
    if (end_s - start_s < kLeast_s) break;
    check.problem = planned.problem;
    bool is_out_of_time = false;
    try {
      run(planned, std::min(kMostOnce_s, end_s - start_s), check);
    } catch (const OutOfTime& error) {
      check.not_run = error.what();
      is_out_of_time = true;
      tuning_.too_large_for_cpu[result.kernel] = planned.bytes;
    } catch (const Error& error) {
      check.not_run = first_line(error.what());
    }
    // End a worker that was left in the middle of something.
    if (!check.not_run.empty()) {
      queue_.reset();
      pool_.reset();
    }
    spent_s_ += tuning_.elapsed_s() - start_s;
    if (!is_out_of_time) break;
  }
  return check;
}

/// Returns plans for the tuned problem and the smallest problem of the space, as far as their
/// buffers are small enough. Says in `check` why there is none.
std::vector<CpuChecker::Planned> CpuChecker::plans(const KernelOnProblems& kernel,
                                                   const Result& result, CpuCheck& check) {
  const Space& space = *tuning_.request.space;
  const Device& device = tuning_.request.cpu->device;
  const auto plan_on = [&](const Problem& problem) -> Outcome<Planned> {
    try {
      KernelOnProblems bound = {.bound = {}, .source = kernel.source, .hash = kernel.hash};
      bound.bound.emplace_back(space, kernel.kernel(), problem, device);
      if (const auto why = cannot_run(bound.bound.front(), result.configuration, device)) {
        return failure({Status::constraints, "constraint"}, *why);
      }
      Outcome<Variant> variant = plan(bound, {{problem}}, result.configuration, device);
      if (!variant) return variant.failure();
      variant->parts.front().workloads.resize(1);
      const std::int64_t bytes = total_bytes(variant->instances.front().arguments);
      return Planned{problem, std::move(*variant), bytes};
    } catch (const InputError& error) {
      return failure({Status::constraints, "expression"}, error.what());
    }
  };
  std::vector<Planned> plans;
  Outcome<Planned> tuned = plan_on(result.problem);
  if (!tuned) {
    check.not_run = first_line(tuned.failure().detail);
    return plans;
  }
  std::optional<Planned> smallest;
  for (const Problem& problem : problems_of(space)) {
    Outcome<Planned> planned = plan_on(problem);
    if (!planned || planned->bytes >= (smallest ? smallest->bytes : tuned->bytes)) continue;
    smallest = std::move(*planned);
  }
  const auto too_large = tuning_.too_large_for_cpu.find(result.kernel);
  const bool ran_out_of_time =
      too_large != tuning_.too_large_for_cpu.end() && tuned->bytes >= too_large->second;
  if (tuned->bytes <= kMostBytes && !(smallest && ran_out_of_time)) {
    plans.push_back(std::move(*tuned));
  }
  if (smallest && smallest->bytes <= kMostBytes) plans.push_back(std::move(*smallest));
  if (plans.empty()) {
    check.not_run = "its buffers have " + std::to_string(tuned->bytes >> 20) +
                    " MB, and only up to " + std::to_string(kMostBytes >> 20) +
                    " MB are filled there; add a smaller problem to \"cpu_problems\"";
  }
  return plans;
}

/// Throws OutOfTime, and Error when something is missing on the host.
void CpuChecker::run(const Planned& planned, double most_s, CpuCheck& check) {
  check.not_run.clear();
  const double until_s = tuning_.elapsed_s() + most_s;

  if (!pool_) {
    pool_ = tuning_.request.cpu->start();
    queue_ = std::make_unique<CompileQueue>(*pool_);
  }
  const Outcome<std::vector<Module>> modules = compile(planned.variant.requests, until_s);
  if (!modules) {
    const Failure& failure = modules.failure();
    check.not_run = failure.status == Status::compile
                        ? "the host compiler does not compile it: " + first_line(failure.detail)
                        : first_line(failure.detail);
    return;
  }
  const PrepareRequest buffers = {
      .workloads = {{.id = 0,
                     .label = key(planned.problem),
                     .problem = planned.problem,
                     .workload = {.arguments = planned.variant.instances.front().arguments,
                                  .seed = tuning_.request.options.seed}}},
      .reference = {},
      .definitions = {},
      .expected = {}};
  const Frame prepared = ask(MessageType::prepare, pack(buffers), {}, until_s);
  if (const auto failed = unpack<PrepareReply>(prepared.payload).failure) {
    check.not_run = first_line(failed->detail);
    return;
  }
  EvaluateRequest look = {.job = make_job(planned.variant, *modules), .verify = false};
  look.look_s = std::min(kLook_s, std::max(0.1, (until_s - tuning_.elapsed_s()) / 2));
  const std::vector<std::uint8_t> payload = pack(look);
  look.job.modules.clear();
  const Frame looked = ask(MessageType::evaluate, payload, *modules,
                           std::min(until_s, tuning_.elapsed_s() + kMostWatching_s));
  const auto reply = unpack<EvaluateReply>(looked.payload);
  smemtune::check(reply, look);
  check.blocks = reply.look.blocks;
  check.blocks_total = reply.look.blocks_total;
  check.found = reply.failure;
}

Outcome<std::vector<Module>> CpuChecker::compile(const std::vector<CompileRequest>& requests,
                                                 double until_s) {
  std::vector<std::uint64_t> numbers;
  for (const CompileRequest& request : requests) numbers.push_back(queue_->add(request));
  const double start_s = tuning_.elapsed_s();
  const auto ready = [this](std::uint64_t number) { return queue_->ready(number); };
  while (!std::ranges::all_of(numbers, ready)) {
    if (tuning_.elapsed_s() > until_s || tuning_.stop) {
      throw OutOfTime("the host compiler had not finished after " +
                      seconds_text(tuning_.elapsed_s() - start_s));
    }
    queue_->pump();
    for (const WorkerEvent& event : wait()) queue_->handle(event);
  }
  return queue_->take(numbers);
}

Frame CpuChecker::ask(MessageType type, std::vector<std::uint8_t> payload,
                      const std::vector<Module>& modules, double until_s) {
  const double start_s = tuning_.elapsed_s();
  const auto must_end = [&] { return tuning_.elapsed_s() > until_s || tuning_.stop; };
  const auto out_of_time = [&] {
    return OutOfTime((type == MessageType::prepare ? "its buffers had not been filled after "
                                                   : "no block of it had finished after ") +
                     seconds_text(tuning_.elapsed_s() - start_s));
  };
  while (!pool_->device_is_idle(0)) {
    if (must_end()) throw out_of_time();
    wait();
  }
  const Ticket ticket =
      pool_->ask_device(0, type, std::move(payload), modules, until_s - start_s + kWait_s);
  for (;;) {
    for (const WorkerEvent& event : wait()) {
      queue_->handle(event);
      if (event.ticket != ticket) continue;
      if (event.kind == WorkerEvent::Kind::replied) return event.reply;
      if (event.kind != WorkerEvent::Kind::device_lost) continue;
      if (event.death.cause == WorkerDeath::Cause::deadline) throw out_of_time();
      throw UnavailableError("its worker was lost: " + event.death.text());
    }
    if (must_end()) throw out_of_time();
  }
}

/// Waits for an event. Serves the run's own workers meanwhile, because other hosts take a main
/// process that does not listen for lost.
std::vector<WorkerEvent> CpuChecker::wait() {
  work(tuning_, state_, 0);
  return pool_->wait(kWait_s);
}

}  // namespace smemtune
