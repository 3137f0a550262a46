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

/// A question to the worker, which is sent as soon as that is idle.
struct CpuChecker::Question {
  MessageType type = MessageType::prepare;
  std::vector<std::uint8_t> payload;
  double asked_s = 0;
  double until_s = 0;
  EvaluateRequest look = {};  ///< The request in `payload`, unless that prepares.
  std::optional<Ticket> ticket = std::nullopt;
  std::optional<Frame> reply = std::nullopt;

  OutOfTime out_of_time(double now_s) const {
    return OutOfTime((type == MessageType::prepare ? "its buffers had not been filled after "
                                                   : "no block of it had finished after ") +
                     seconds_text(now_s - asked_s));
  }
};

CpuChecker::CpuChecker(Tuning& tuning) : tuning_(tuning) {}
CpuChecker::~CpuChecker() = default;

double cpu_check_reserve_s(const TuningRequest& request) {
  const double most_s = request.options.budget.max_seconds;
  if (most_s <= 0 || !request.cpu || !may_use_shared_memory(request)) return 0;
  return std::min(kMostReserve_s,
                  kReserveShare * most_s / static_cast<double>(request.problems.size()));
}

bool CpuChecker::applies_to(const Result& result) const {
  return tuning_.request.cpu && result.shared_bytes() > 0;
}

void CpuChecker::begin(const KernelOnProblems& kernel, const Result& result, double most_s) {
  check_ = {
      .kernel = result.kernel, .configuration = result.configuration, .problem = result.problem};
  end_s_ = tuning_.elapsed_s() + std::min(most_s, kMostTogether_s - spent_s_);
  if (end_s_ - tuning_.elapsed_s() < kLeast_s) {
    check_.not_run = "time ran out";
  } else {
    make_plans(kernel, result);
  }
}

/// Plans the tuned problem and the smallest problem of the space, as far as their buffers are small
/// enough. Says in the check why there is none.
void CpuChecker::make_plans(const KernelOnProblems& kernel, const Result& result) {
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
  Outcome<Planned> tuned = plan_on(result.problem);
  if (!tuned) {
    check_.not_run = first_line(tuned.failure().detail);
    return;
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
    plans_.push_back(std::move(*tuned));
  }
  if (smallest && smallest->bytes <= kMostBytes) plans_.push_back(std::move(*smallest));
  if (plans_.empty()) {
    check_.not_run = "its buffers have " + std::to_string(tuned->bytes >> 20) +
                     " MB, and only up to " + std::to_string(kMostBytes >> 20) +
                     " MB are filled there; add a smaller problem to \"cpu_problems\"";
  }
}

/// Begins the first plan for which there is time; returns false if there is none.
bool CpuChecker::begin_plan() {
  begun_s_ = tuning_.elapsed_s();
  if (plans_.empty() || end_s_ - begun_s_ < kLeast_s) return false;
  is_begun_ = true;
  until_s_ = std::min(begun_s_ + kMostOnce_s, end_s_);
  check_.problem = plans_.front().problem;
  check_.not_run.clear();
  if (!pool_) {
    pool_ = tuning_.request.cpu->start();
    queue_ = std::make_unique<CompileQueue>(*pool_);
  }
  compiling_ = queue_->add_all(plans_.front().variant.requests);
  return true;
}

/// Leaves the first plan; the next one is carried out only if it ran out of time.
void CpuChecker::end_plan(bool is_out_of_time) {
  if (is_out_of_time) tuning_.too_large_for_cpu[check_.kernel] = plans_.front().bytes;
  // End a worker that was left in the middle of something.
  if (!check_.not_run.empty()) {
    queue_.reset();
    pool_.reset();
  }
  spent_s_ += tuning_.elapsed_s() - begun_s_;
  is_begun_ = false;
  compiling_.clear();
  modules_.clear();
  question_.reset();
  plans_.pop_front();
  if (!is_out_of_time) plans_.clear();
}

std::optional<CpuCheck> CpuChecker::step(double wait_s) {
  try {
    if (!is_begun_ && !begin_plan()) {
      plans_.clear();
      return std::exchange(check_, {});
    }
    for (const WorkerEvent& event : pool_->wait(wait_s)) take(event);
    if (!advance()) return std::nullopt;
    end_plan(/*is_out_of_time=*/false);
  } catch (const OutOfTime& error) {
    check_.not_run = error.what();
    end_plan(/*is_out_of_time=*/true);
  } catch (const Error& error) {
    check_.not_run = first_line(error.what());
    end_plan(/*is_out_of_time=*/false);
  }
  return plans_.empty() ? std::optional(std::exchange(check_, {})) : std::nullopt;
}

void CpuChecker::take(const WorkerEvent& event) {
  queue_->handle(event);
  if (!question_ || !question_->ticket || event.ticket != *question_->ticket) return;
  if (event.kind == WorkerEvent::Kind::replied) question_->reply = event.reply;
  if (event.kind != WorkerEvent::Kind::device_lost) return;
  if (event.death.cause == WorkerDeath::Cause::deadline)
    throw question_->out_of_time(tuning_.elapsed_s());
  throw UnavailableError("its worker was lost: " + event.death.text());
}

/// Goes on with the plan as far as possible; returns whether it is done. Throws OutOfTime, and Error
/// when something is missing on the host.
bool CpuChecker::advance() {
  if (!compiling_.empty()) {
    if (!is_compiled()) return false;
    Outcome<std::vector<Module>> modules = queue_->take(std::exchange(compiling_, {}));
    if (!modules) {
      const Failure& failure = modules.failure();
      check_.not_run = failure.status == Status::compile
                           ? "the host compiler does not compile it: " + first_line(failure.detail)
                           : first_line(failure.detail);
      return true;
    }
    modules_ = std::move(*modules);
    fill();
  }
  while (is_answered()) {
    const Question answered = std::move(*std::exchange(question_, nullptr));
    if (answered.type == MessageType::evaluate) {
      take_look(answered);
      return true;
    }
    if (const auto failed = unpack<PrepareReply>(answered.reply->payload).failure) {
      check_.not_run = first_line(failed->detail);
      return true;
    }
    watch();
  }
  return false;
}

bool CpuChecker::is_compiled() {
  queue_->pump();
  if (queue_->all_ready(compiling_)) return true;
  if (!must_end(until_s_)) return false;
  throw OutOfTime("the host compiler had not finished after " +
                  seconds_text(tuning_.elapsed_s() - begun_s_));
}

/// Asks once the worker is idle; returns whether there is a reply.
bool CpuChecker::is_answered() {
  Question& question = *question_;
  if (question.reply) return true;
  if (must_end(question.until_s)) throw question.out_of_time(tuning_.elapsed_s());
  if (!question.ticket && pool_->device_is_idle(0)) {
    question.ticket =
        pool_->ask_device(0, question.type, std::move(question.payload),
                          question.type == MessageType::evaluate ? modules_ : std::vector<Module>(),
                          question.until_s - question.asked_s + kWait_s);
  }
  return false;
}

bool CpuChecker::must_end(double until_s) const {
  return tuning_.elapsed_s() > until_s || tuning_.stop;
}

void CpuChecker::fill() {
  const Planned& planned = plans_.front();
  const PrepareRequest buffers = {
      .workloads = {{.id = 0,
                     .label = key(planned.problem),
                     .problem = planned.problem,
                     .workload = {.arguments = planned.variant.instances.front().arguments,
                                  .seed = tuning_.request.options.seed}}},
      .reference = {},
      .definitions = {},
      .expected = {}};
  question_ = std::make_unique<Question>(Question{.type = MessageType::prepare,
                                                  .payload = pack(buffers),
                                                  .asked_s = tuning_.elapsed_s(),
                                                  .until_s = until_s_});
}

void CpuChecker::watch() {
  const double now_s = tuning_.elapsed_s();
  EvaluateRequest look = {.job = make_job(plans_.front().variant, modules_), .verify = false};
  look.look_s = std::min(kLook_s, std::max(0.1, (until_s_ - now_s) / 2));
  std::vector<std::uint8_t> payload = pack(look);
  look.job.modules.clear();
  question_ =
      std::make_unique<Question>(Question{.type = MessageType::evaluate,
                                          .payload = std::move(payload),
                                          .asked_s = now_s,
                                          .until_s = std::min(until_s_, now_s + kMostWatching_s),
                                          .look = std::move(look)});
}

void CpuChecker::take_look(const Question& answered) {
  const auto reply = unpack<EvaluateReply>(answered.reply->payload);
  smemtune::check(reply, answered.look);
  check_.blocks = reply.look.blocks;
  check_.blocks_total = reply.look.blocks_total;
  check_.found = reply.failure;
}

}  // namespace smemtune
