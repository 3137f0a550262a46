#include "tuner/engine/tuning_loop.h"

#include "tuner/core/error.h"
#include "tuner/engine/tuning.h"
#include "tuner/engine/worker_pool.h"

#include <algorithm>
#include <string>

namespace smemtune {

namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;
constexpr std::size_t kMaxModuleBytes = 512 * kMegabyte;

// See TuningOptions::min_deadline_s and deadline_s().
constexpr double kHangFactor = 20;
constexpr double kOverheadFactor = 2;
constexpr double kSlowDeviceFactor = 3;

// Of a problem's time, what is left for the finals.
constexpr double kFinalsShare = 0.2;

const KernelSource& source_of(const TuningRequest& request, const std::string& kernel) {
  const auto found = request.sources.find(kernel);
  if (found == request.sources.end()) throw InputError("kernel " + kernel + " has no source");
  return found->second;
}

const KernelTemplate& reference_of(const TuningRequest& request) {
  const std::string& name = request.space->verify.reference;
  const KernelTemplate* reference = request.space->kernel(name);
  if (reference == nullptr) {
    throw InputError(request.space->file.string() + ": the reference kernel '" + name +
                     "' is none of the space's");
  }
  return *reference;
}

/// Until when the search of a problem may go on: an equal part of what is left, but for the finals.
double search_until(double most, double spent, std::size_t problems_left) {
  if (most <= 0) return 0;
  const double left = std::max(0.0, most - spent);
  return std::max(1e-9, spent + (1 - kFinalsShare) * left / static_cast<double>(problems_left));
}

/// An equal part of what is left, for each problem that is left.
Share share_of(const Tuning& tuning, std::size_t problems_left) {
  const Budget& budget = tuning.request.options.budget;
  Share share;
  if (budget.max_evaluations != UINT64_MAX) {
    const std::uint64_t left =
        budget.max_evaluations - std::min(budget.max_evaluations, tuning.summary.evaluated);
    share.evaluations = (left + problems_left - 1) / problems_left;
  }
  share.until_s = search_until(budget.max_seconds, tuning.elapsed_s(), problems_left);
  share.until_device_s =
      search_until(budget.max_device_seconds, tuning.summary.device_s, problems_left);
  return share;
}

/// Which of the fastest 1 % static rejects would have kept from being timed.
StaticRejects would_be_lost(const ProblemState& state) {
  StaticRejects rejects;
  std::vector<const Entry*> timed;
  for (const Entry& entry : state.entries) {
    if (entry.hopeless) ++rejects.rejected;
    if (entry.result.timed()) timed.push_back(&entry);
  }
  std::ranges::sort(timed, {},
                    [](const Entry* entry) { return entry->result.measurement.median_ms; });
  timed.resize((timed.size() + 99) / 100);
  rejects.top = timed.size();
  for (const Entry* entry : timed) {
    if (entry->hopeless) rejects.lost.push_back(entry->result);
  }
  return rejects;
}

/// Parameters of which all values that were tried gave the same code, launches and arguments: what
/// differs in one of them only has one identity. A sample says so only after some such pairs, as do
/// those that are new beside known ones, whose code is not at hand.
std::vector<std::string> without_effect(const ProblemState& state) {
  constexpr std::size_t kEnoughPairs = 8;
  const bool has_all = state.entries.size() >= state.summary.valid && state.summary.known == 0;
  const std::size_t least = has_all ? 1 : kEnoughPairs;
  std::vector<std::string> lines;
  for (const SetKernel& kernel : state.kernels) {
    for (const Parameter& parameter : kernel.kernel().parameters) {
      std::map<std::string, std::string> identities;  // By the other parameters' values.
      std::size_t equal = 0;
      bool has_effect = false;
      for (const Entry& entry : state.entries) {
        if (entry.identity.empty() || entry.result.kernel != kernel.kernel().name) continue;
        Configuration others = entry.result.configuration;
        others.erase(parameter.name);
        const auto [first, is_new] = identities.try_emplace(key(others), entry.identity);
        if (is_new) continue;
        if (first->second == entry.identity) ++equal;
        has_effect = has_effect || first->second != entry.identity;
      }
      if (has_effect || equal < least) continue;
      lines.push_back(parameter.name + " of " + kernel.kernel().name +
                      " is without effect: wherever nothing else differed (" +
                      std::to_string(equal) + (equal == 1 ? " time" : " times") +
                      ") its values gave the same code and launches");
    }
  }
  return lines;
}

/// What preparing measured; prepares where all was known and nothing had to be.
std::optional<Transfers> transfers(Tuning& tuning, ProblemState& state) {
  constexpr double kWait_s = 0.1;
  for (;;) {
    for (const DeviceSession& device : state.devices) {
      if (device.transfers()) return device.transfers();
    }
    if (tuning.stop) return std::nullopt;
    if (devices_have_preparation(tuning, state)) {
      for (DeviceSession& device : state.devices) {
        if (!device.gone()) device.ready();
      }
    }
    work(tuning, state, kWait_s);
  }
}

void tune_problem(Tuning& tuning, std::size_t i) {
  const TuningRequest& request = tuning.request;
  ProblemState state = begin_problem(tuning, request.problems[i], i + 1);
  const Share share = share_of(tuning, request.problems.size() - i);
  search(tuning, state, share);
  if (tuning.log == nullptr) {
    std::ranges::sort(state.entries, {},
                      &Entry::candidate);  // People read it in the space's order.
  } else {
    run_finals(tuning, state);
    if (request.options.with_transfers) state.summary.transfers = transfers(tuning, state);
    if (!request.options.static_reject) state.summary.static_rejects = would_be_lost(state);
  }
  state.summary.derived = derived_tolerances(state);
  state.summary.without_effect = without_effect(state);
  tuning.summary.device_s = device_s(tuning, state);
  for (Entry& entry : state.entries) state.summary.results.push_back(std::move(entry.result));
  tuning.summary.problems.push_back(std::move(state.summary));
}

TuningSummary run(const TuningRequest& request, const Device& device, WorkerPool& pool,
                  ResultLog* log, const Observer& observer, const std::atomic<bool>& stop) {
  TuningSummary summary;
  CompileQueue queue(pool, kMaxModuleBytes);
  const std::uint64_t deaths_before = pool.deaths();
  Tuning tuning = {.request = request,
                   .device = device,
                   .pool = pool,
                   .queue = queue,
                   .log = log,
                   .observer = observer,
                   .stop = stop,
                   .summary = summary};
  for (std::size_t i = 0; i < request.problems.size() && !stop; ++i) tune_problem(tuning, i);
  summary.interrupted = stop;
  summary.elapsed_s = tuning.elapsed_s();
  summary.worker_deaths = pool.deaths() - deaths_before;
  return summary;
}

/// How to call the reference in messages: `the reference kernel naive (THREADS=128) on N=4096`.
std::string reference_text(const KernelTemplate& reference, const Problem& problem) {
  const std::string configuration = key(reference.default_configuration);
  return "the reference kernel " + reference.name +
         (configuration.empty() ? "" : " (" + configuration + ")") + " on " + key(problem);
}

/// Those of the space's `also` that the reference can answer.
void add_further_problems(Tuning& tuning, ProblemState& state) {
  const KernelTemplate& reference = reference_of(tuning.request);
  for (const Problem& further : tuning.request.space->verify.also) {
    std::vector<Problem>& problems = state.set.problems;
    if (std::ranges::find(problems, further) != problems.end()) continue;
    const BoundKernel bound(*tuning.request.space, reference, further, tuning.device);
    if (const auto reason = cannot_run(bound, reference.default_configuration, tuning.device)) {
      tuning.observer.note("not verified on " + key(further) + ": the reference kernel " +
                           reference.name + " does not run there: " + *reason);
      continue;
    }
    problems.push_back(further);
  }
}

/// A session on each unit that is left.
void add_devices(Tuning& tuning, ProblemState& state) {
  const auto reference = std::make_shared<ReferenceRecord>();
  reference->name = reference_text(state.reference.kernel(), state.set.problems.front());
  for (std::size_t unit = 0; unit < tuning.pool.units(); ++unit) {
    if (!tuning.pool.has_unit(unit)) continue;
    const std::string uuid = tuning.pool.greeting().devices[unit].uuid;
    auto note = [&note = tuning.observer.note, prefix = tuning.pool.units() > 1 ? uuid + ": " : ""](
                    const std::string& text) { note(prefix + text); };
    state.devices.emplace_back(tuning.pool, unit, reference,
                               tuning.request.options.prepare_deadline_s, std::move(note));
  }
}

/// Where the reference cannot be run in double precision its definition is left. Throws
/// ReferenceError where there is none.
void not_in_double(const Tuning& tuning, const std::string& name, const std::string& why) {
  const std::string what = name + " cannot be run in double precision: ";
  if (tuning.request.space->verify.definitions.empty()) {
    throw ReferenceError("no tolerance can be derived, as " + what + why +
                         "\ngive absolute, relative or ulps, or a definition");
  }
  tuning.observer.note("tolerances are derived from the definition, as " + what +
                       why.substr(0, why.find('\n')));
}

void compile_in_double(Tuning& tuning, ProblemState& state, const std::string& name) {
  if (!tuning.request.space->derives_tolerances() || !tuning.request.reference_in_double) return;
  auto planned =
      plan_in_double(*tuning.request.space, state.reference, *tuning.request.reference_in_double,
                     state.set, *state.reference_variant, tuning.device);
  if (!planned) {
    not_in_double(tuning, name, planned.failure().detail);
    return;
  }
  state.reference_in_double = std::move(*planned);
  for (const CompileRequest& request : state.reference_in_double->variant.requests) {
    state.double_numbers.push_back(tuning.queue.add_first(request));
  }
}

void add_derivation(Tuning& tuning, ProblemState& state, const std::string& name,
                    PrepareRequest& preparation) {
  // The reference has the space's factor unless it has its own.
  for (const KernelTemplate& kernel : tuning.request.space->kernels) {
    if (preparation.derive == 0) preparation.derive = kernel.tolerance.derived.value_or(0);
  }
  preparation.derive = state.reference.kernel().tolerance.derived.value_or(preparation.derive);
  preparation.truth = "its definition";
  if (!state.reference_in_double) return;
  Outcome<std::vector<Module>> modules = tuning.queue.take(state.double_numbers);
  if (!modules) {
    not_in_double(tuning, name, modules.failure().detail);
    return;
  }
  Result judged;
  if (const auto failure = judge(state.reference_in_double->variant, *modules, tuning.device,
                                 ResourceLimits{}, judged)) {
    not_in_double(tuning, name, failure->detail);
    return;
  }
  preparation.in_double = make_job(state.reference_in_double->variant, *modules);
  preparation.truth = state.reference.kernel().name + " in double precision";
}

}  // namespace

SetKernel bind(const Tuning& tuning, const ProblemSet& set, const KernelTemplate& kernel) {
  const KernelTemplate& reference = reference_of(tuning.request);
  SetKernel bound;
  for (const Problem& problem : set.problems) {
    bound.bound.emplace_back(*tuning.request.space, kernel, problem, tuning.device);
  }
  bound.source = &source_of(tuning.request, kernel.name);
  bound.hash = kernel_hash(*tuning.request.space, kernel, *bound.source,
                           source_of(tuning.request, reference.name));
  bound.is_reference = kernel.name == reference.name;
  return bound;
}

ProblemState begin_problem(Tuning& tuning, const Problem& problem, std::size_t number) {
  ProblemState state;
  state.set.problems = {problem};
  if (tuning.log != nullptr) add_further_problems(tuning, state);
  state.summary.problem = problem;
  state.progress.problem = problem;
  state.progress.problem_number = number;
  state.progress.problem_count = tuning.request.problems.size();
  show_progress(tuning, state, "prepare");

  double cartesian = 0;
  for (const KernelTemplate* kernel : tuning.request.kernels) {
    state.kernels.push_back(bind(tuning, state.set, *kernel));
    const SearchSpace& space = state.kernels.back().bound.front().search_space();
    cartesian += space.cartesian_size();
    state.summary.valid += space.size();
    if (!space.index_of(kernel->default_configuration)) {
      tuning.observer.note("the default configuration of " + kernel->name + ", " +
                           key(kernel->default_configuration) + ", is not valid for " +
                           key(problem));
    }
  }
  constexpr double kLargest = 18446744073709549568.0;  // Below 2^64.
  state.summary.cartesian =
      cartesian >= kLargest ? UINT64_MAX : static_cast<std::uint64_t>(cartesian);
  state.progress.valid = state.summary.valid;
  state.paces.resize(state.kernels.size());
  if (tuning.log != nullptr) {
    state.reference = bind(tuning, state.set, reference_of(tuning.request));
    add_devices(tuning, state);
  }
  return state;
}

bool devices_have_preparation(Tuning& tuning, ProblemState& state) {
  if (state.devices.front().has_preparation()) return true;
  const std::string name =
      reference_text(state.reference.kernel(), state.reference.bound.front().problem());
  if (!state.reference_variant) {
    Outcome<Variant> variant = plan(state.reference, state.set,
                                    state.reference.kernel().default_configuration, tuning.device);
    if (!variant) throw ReferenceError(name + " cannot be launched: " + variant.failure().detail);
    for (const CompileRequest& request : variant->requests) {
      state.reference_numbers.push_back(tuning.queue.add_first(request));
    }
    state.reference_variant = std::move(*variant);
    compile_in_double(tuning, state, name);
  }
  if (!tuning.observer.may_use_devices()) return false;
  const auto ready = [&](std::uint64_t number) { return tuning.queue.ready(number); };
  if (!std::ranges::all_of(state.reference_numbers, ready)) return false;
  if (!std::ranges::all_of(state.double_numbers, ready)) return false;
  std::vector<const SetKernel*> kernels = {&state.reference};
  for (const SetKernel& kernel : state.kernels) {
    if (!kernel.is_reference) kernels.push_back(&kernel);
  }
  PrepareRequest preparation = {
      .workloads = make_workloads(state.set, kernels, tuning.request.options.seed),
      .reference = {},
      .definitions = tuning.request.space->verify.definitions,
      .expected = tuning.request.space->verify.expected,
      .with_transfers = tuning.request.options.with_transfers};
  Outcome<std::vector<Module>> modules = tuning.queue.take(state.reference_numbers);
  if (!modules) {
    throw ReferenceError(name + ", which the others are compared with, does not compile: " +
                         modules.failure().detail);
  }
  preparation.reference = make_job(*state.reference_variant, *modules);
  if (tuning.request.space->derives_tolerances()) add_derivation(tuning, state, name, preparation);
  for (DeviceSession& device : state.devices) device.set_preparation(preparation);
  return true;
}

std::vector<DerivedTolerance> derived_tolerances(const ProblemState& state) {
  for (const DeviceSession& device : state.devices) {
    if (!device.derived().empty()) return device.derived();
  }
  return {};
}

void work(Tuning& tuning, ProblemState& state, double timeout_s) {
  tuning.queue.pump();
  for (DeviceSession& device : state.devices) device.step();
  for (const WorkerEvent& event : tuning.pool.wait(timeout_s)) {
    tuning.queue.handle(event);
    for (DeviceSession& device : state.devices) device.handle(event);
    if (event.kind == WorkerEvent::Kind::unit_gone) {
      const Device& gone = tuning.pool.greeting().devices[event.unit];
      tuning.observer.note("*** going on without " + gone.name + " (" + gone.uuid +
                           "): " + event.death.message);
    }
  }
  for (DeviceSession& device : state.devices) device.step();
  tuning.queue.pump();
}

double deadline_s(const TuningOptions& options, const std::optional<Pace>& pace, double slowest_s) {
  const double most_s = std::max(options.max_deadline_s, kSlowDeviceFactor * slowest_s);
  if (!pace) return most_s;
  return std::min(most_s, options.min_deadline_s + kOverheadFactor * pace->evaluation_s +
                              kHangFactor * pace->launches * pace->median_ms * 1e-3);
}

double device_s(const Tuning& tuning, const ProblemState& state) {
  double busy_s = tuning.summary.device_s;
  for (const DeviceSession& device : state.devices) busy_s += device.busy_s();
  return busy_s;
}

void show_progress(Tuning& tuning, ProblemState& state, const std::string& phase) {
  state.progress.phase = phase;
  state.progress.elapsed_s = tuning.elapsed_s();
  state.progress.compiled = tuning.queue.compiled();
  tuning.observer.progress(state.progress);
}

TuningSummary tune(const TuningRequest& request, WorkerPool& pool, ResultLog& log,
                   const Observer& observer, const std::atomic<bool>& stop) {
  return run(request, pool.greeting().devices.front(), pool, &log, observer, stop);
}

TuningSummary dry_run(const TuningRequest& request, const Device& device, WorkerPool& pool,
                      const Observer& observer, const std::atomic<bool>& stop) {
  return run(request, device, pool, nullptr, observer, stop);
}

}  // namespace smemtune
