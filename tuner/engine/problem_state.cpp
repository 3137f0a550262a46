#include "tuner/engine/problem_state.h"

#include "tuner/core/error.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/core/limits.h"
#include "tuner/core/text.h"
#include "tuner/engine/signature_check.h"
#include "tuner/source/kept_variables.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace smemtune {

namespace {

// See TuningOptions::min_deadline_s and deadline_s().
constexpr double kHangFactor = 20;
constexpr double kOverheadFactor = 2;
constexpr double kSlowDeviceFactor = 3;

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
                     "' is not one of the space's");
  }
  return *reference;
}

/// Returns a name for messages: `the reference kernel naive (THREADS=128) on N=4096`.
std::string reference_text(const KernelTemplate& reference, const Problem& problem) {
  const std::string configuration = key(reference.default_configuration);
  return "the reference kernel " + reference.name +
         (configuration.empty() ? "" : " (" + configuration + ")") + " on " + key(problem);
}

/// Returns the binding of a kernel of the space to a problem; makes it the first time.
const KernelBinding& binding(Tuning& tuning, const KernelTemplate& kernel, const Problem& problem) {
  std::map<Problem, KernelBinding>& bindings = tuning.kernel_caches[&kernel].bindings;
  const auto found = bindings.find(problem);
  if (found != bindings.end()) return found->second;
  return bindings.try_emplace(problem, *tuning.request.space, kernel, problem, tuning.device)
      .first->second;
}

/// Adds the problems of the space's `also` that the reference can run on.
void add_further_problems(Tuning& tuning, ProblemState& state) {
  const KernelTemplate& reference = reference_of(tuning.request);
  for (const Problem& further : tuning.request.space->verify.also) {
    std::vector<Problem>& problems = state.set.problems;
    if (std::ranges::find(problems, further) != problems.end()) continue;
    const KernelBinding& bound = binding(tuning, reference, further);
    if (const auto reason = cannot_run(bound, reference.default_configuration, tuning.device)) {
      state.notes.push_back("not verified on " + key(further) + ": the reference kernel " +
                            reference.name + " does not run there: " + *reason);
      continue;
    }
    problems.push_back(further);
  }
}

/// Adds a session for each unit that is new since the last call and present, or may come back.
void add_devices(Tuning& tuning, ProblemState& state) {
  for (std::size_t& unit = state.units_seen; unit < tuning.pool.units(); ++unit) {
    if (!tuning.pool.may_have_unit(unit)) continue;
    const std::string uuid = tuning.pool.greeting().devices[unit].uuid;
    auto note = [&note = tuning.observer.note, prefix = tuning.pool.units() > 1 ? uuid + ": " : ""](
                    const std::string& text) { note(prefix + text); };
    state.devices.emplace_back(tuning.pool, unit, state.reference_record,
                               tuning.request.options.prepare_deadline_s, std::move(note));
    if (const auto* prepared =
            std::get_if<std::shared_ptr<const Preparation>>(&state.preparation)) {
      state.devices.back().set_preparation(*prepared);
    }
  }
}

}  // namespace

void find_second_data(ProblemState& state) {
  const auto depends = [](const KernelOnProblems& kernel) { return depends_on_seed(kernel); };
  state.set.has_second_data =
      depends_on_seed(state.reference) || std::ranges::any_of(state.kernels, depends);
}

KernelOnProblems bind(Tuning& tuning, const ProblemSet& set, const KernelTemplate& kernel) {
  const KernelTemplate& reference = reference_of(tuning.request);
  KernelOnProblems bound;
  for (const Problem& problem : set.problems) {
    bound.bound.push_back(binding(tuning, kernel, problem));
  }
  bound.source = &source_of(tuning.request, kernel.name);
  std::string& hash = tuning.kernel_caches[&kernel].hash;
  if (hash.empty()) {
    hash = kernel_hash(*tuning.request.space, kernel, *bound.source,
                       source_of(tuning.request, reference.name));
  }
  bound.hash = hash;
  bound.is_reference = kernel.name == reference.name;
  bound.has_other_answers = tuning.request.space->has_other_answers(kernel);
  return bound;
}

namespace {

/// Returns why a kernel has no configuration. A missing device feature says more than a constraint.
std::string why_left_out(const KernelBinding& bound, const Device& device) {
  KernelInstance needs;
  needs.required_features = bound.kernel().required_features;
  if (const auto failure = exceeds_limits(needs, device)) return failure->detail;
  const Configuration& standard = bound.kernel().default_configuration;
  const auto failing = bound.why_not_searched(standard);
  if (failing && !bound.violated_constraint(standard)) {
    return "no configuration is promising; its default fails `" + *failing + "`";
  }
  std::string reason = "no configuration satisfies the constraints";
  if (failing) reason += "; its default fails `" + *failing + "`";
  return reason;
}

/// Returns `a, b (one reason); c (another)`, in the order of the names.
std::string by_reason(const std::vector<std::pair<std::string, std::string>>& names) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const auto& [name, reason] : names) {
    auto found = std::ranges::find(reasons, reason, &decltype(reasons)::value_type::first);
    if (found == reasons.end()) found = reasons.insert(found, {reason, {}});
    found->second.push_back(name);
  }
  std::vector<std::string> texts;
  for (const auto& [reason, its_names] : reasons) {
    texts.push_back(joined(its_names, ", ") + " (" + reason + ")");
  }
  return joined(texts, "; ");
}

/// Returns the state of a problem to which no kernels are bound yet.
ProblemState new_problem(const Tuning& tuning, const Problem& problem, std::size_t number) {
  ProblemState state;
  state.set.problems = {problem};
  state.summary.problem = problem;
  state.progress.problem_number = number;
  state.progress.problem_count = tuning.request.problems.size();
  return state;
}

}  // namespace

ProblemState bind_problem(Tuning& tuning, const Problem& problem, std::size_t number) {
  ProblemState state = new_problem(tuning, problem, number);
  if (tuning.log != nullptr) add_further_problems(tuning, state);
  double cartesian = 0;
  std::vector<std::pair<std::string, std::string>> left_out;  // Name and reason.
  for (const KernelTemplate* kernel : tuning.request.kernels) {
    state.kernels.push_back(bind(tuning, state.set, *kernel));
    const SearchSpace& space =
        state.kernels.back().bound.front().search_space([&tuning] { return tuning.must_end(); });
    cartesian += space.cartesian_size();
    const bool is_counted = space.is_listed() && state.summary.valid &&
                            space.size() <= UINT64_MAX - *state.summary.valid;
    state.summary.valid =
        is_counted ? std::optional(*state.summary.valid + space.size()) : std::nullopt;
    if (space.size() == 0) {
      left_out.emplace_back(kernel->name,
                            why_left_out(state.kernels.back().bound.front(), tuning.device));
    } else if (const auto violated = state.kernels.back().bound.front().why_not_searched(
                   kernel->default_configuration)) {
      state.notes.push_back("the default of " + kernel->name + ", " +
                            key(kernel->default_configuration) + ", fails `" + *violated + "` on " +
                            key(problem) + ": nothing is compared with it");
    }
  }
  if (!left_out.empty()) {
    state.notes.push_back("left out on " + key(problem) + ": " + by_reason(left_out));
  }
  constexpr double kLargest = 18446744073709549568.0;  // The largest double below 2^64.
  state.summary.cartesian =
      cartesian >= kLargest ? UINT64_MAX : static_cast<std::uint64_t>(cartesian);
  state.progress.valid = state.summary.valid.value_or(UINT64_MAX);
  state.paces.resize(state.kernels.size());
  if (tuning.log != nullptr) {
    state.reference = bind(tuning, state.set, reference_of(tuning.request));
    const Verify& verify = tuning.request.space->verify;
    const KernelTemplate* const witness = tuning.request.space->kernel(verify.also_reference);
    if (witness != nullptr && state.set.problems.size() > 1) {
      state.witness = bind(tuning, state.set, *witness);
    }
    find_second_data(state);
    state.reference_name = reference_text(state.reference.kernel(), problem);
    state.reference_record = std::make_shared<ReferenceRecord>();
    state.reference_record->name = state.reference_name;
    state.reference_record->hint = kept_variables_hint(*state.reference.source);
  }
  return state;
}

ProblemState begin_problem(Tuning& tuning, const Problem& problem, std::size_t number,
                           std::optional<ProblemState> bound) {
  ProblemState unbound = new_problem(tuning, problem, number);
  show_progress(tuning, unbound, "prepare");
  ProblemState state = bound ? std::move(*bound) : bind_problem(tuning, problem, number);
  for (const std::string& note : std::exchange(state.notes, {})) tuning.observer.note(note);
  if (tuning.log != nullptr) add_devices(tuning, state);
  return state;
}

void Tuning::compile() {
  if (signatures != nullptr) {
    if (queue.was_asked()) signatures->begin();
    signatures->pump();
  }
  queue.pump();
}

void work(Tuning& tuning, ProblemState& state, double timeout_s) {
  tuning.compile();
  for (DeviceSession& device : state.devices) device.step();
  for (const WorkerEvent& event : tuning.pool.wait(timeout_s)) {
    if (tuning.signatures != nullptr) tuning.signatures->handle(event);
    tuning.queue.handle(event);
    for (DeviceSession& device : state.devices) device.handle(event);
    if (event.kind == WorkerEvent::Kind::note) tuning.observer.note(event.note);
    if (event.kind == WorkerEvent::Kind::unit_gone) {
      const Device& gone = tuning.pool.greeting().devices[event.unit];
      tuning.observer.note("*** going on without " + gone.name + " (" + gone.uuid +
                           "): " + event.death.message);
    }
  }
  if (state.reference_record) add_devices(tuning, state);
  for (DeviceSession& device : state.devices) device.step();
  tuning.compile();
  tuning.meanwhile();
}

double deadline_s(const TuningOptions& options, const std::optional<Pace>& pace, double slowest_s) {
  const double most_s = std::max(options.max_deadline_s, kSlowDeviceFactor * slowest_s);
  if (!pace) return most_s;
  return std::min(most_s, options.min_deadline_s + kOverheadFactor * pace->evaluation_s +
                              kHangFactor * pace->launches * pace->median_ms * 1e-3);
}

bool is_fastest(const ProblemState& state, std::size_t kernel, const Result& result) {
  const std::optional<Pace>& pace = state.paces[kernel];
  return result.timed() && (!pace || result.measurement.median_ms < pace->median_ms);
}

void note_pace(ProblemState& state, std::size_t kernel, const Variant& variant,
               const Result& result, int screen_samples, double evaluation_s) {
  if (!is_fastest(state, kernel, result)) return;
  std::size_t runs = 1;
  for (const Part& part : variant.parts) runs += part.workloads.size();
  const double samples = std::max(1, screen_samples) + 1;
  state.paces[kernel] =
      Pace{.median_ms = result.measurement.median_ms,
           .launches = static_cast<double>(runs) + samples * result.measurement.launches_per_sample,
           .evaluation_s = evaluation_s};
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
  state.progress.compiling_hosts = tuning.pool.compiling_hosts();
  state.progress.hosts_away = tuning.pool.hosts_away();
  tuning.observer.progress(state.progress);
}

}  // namespace smemtune
