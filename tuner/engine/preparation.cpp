#include "tuner/engine/preparation.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/engine/signature_check.h"

#include <algorithm>
#include <span>

namespace smemtune {

namespace {

/// Handles a reference that cannot be run in double precision: notes that its definition is used
/// instead. Throws ReferenceError when it has no definition.
void not_in_double(const Tuning& tuning, const ProblemState& state, const std::string& why) {
  const std::string what = state.reference_name + " cannot be run in double precision: ";
  if (tuning.request.space->verify.definitions.empty()) {
    throw ReferenceError("no tolerance can be derived, as " + what + why +
                         "\ngive absolute, relative or ulps, or a definition");
  }
  tuning.observer.note("tolerances are derived from the definition, as " + what + first_line(why));
}

void compile_in_double(Tuning& tuning, const ProblemState& state, CompilingReference& reference) {
  if (!tuning.request.space->derives_tolerances() || !tuning.request.reference_in_double) return;
  auto planned =
      plan_in_double(*tuning.request.space, state.reference, *tuning.request.reference_in_double,
                     state.set, reference.variant, tuning.device);
  if (!planned) {
    not_in_double(tuning, state, planned.failure().detail);
    return;
  }
  reference.in_double = std::move(*planned);
  reference.double_numbers =
      tuning.queue.add_all(reference.in_double->variant.requests, /*first=*/true);
}

/// Replaces the reference by the witness on the further problems.
void plan_witness(const Tuning& tuning, const ProblemState& state, Variant& variant) {
  if (!state.witness) return;
  const KernelTemplate& kernel = state.witness->kernel();
  const Outcome<Variant> planned =
      plan(*state.witness, state.set, kernel.default_configuration, tuning.device);
  if (!planned) {
    throw ReferenceError(
        "the kernel " + kernel.name +
        ", which answers for /verify/also, cannot be launched: " + planned.failure().detail);
  }
  variant.instances.resize(1);
  variant.parts.resize(1);
  variant.requests = {variant.requests[variant.parts.front().module]};
  variant.parts.front().module = 0;
  for (std::size_t i = 1; i < planned->parts.size(); ++i) {
    Part part = planned->parts[i];
    const CompileRequest& wanted = planned->requests[part.module];
    const auto module = std::ranges::find(variant.requests, wanted) - variant.requests.begin();
    if (module == std::ssize(variant.requests)) variant.requests.push_back(wanted);
    part.module = static_cast<std::uint32_t>(module);
    variant.parts.push_back(std::move(part));
    variant.instances.push_back(planned->instances[i]);
  }
}

std::int64_t bytes_of(const std::vector<NumberedWorkload>& workloads) {
  std::int64_t sum = 0;
  for (const NumberedWorkload& one : workloads) sum += total_bytes(one.workload.arguments);
  return sum;
}

/// `used`: the modules that the request names are appended.
void add_derivation(Tuning& tuning, const ProblemState& state, const CompilingReference& reference,
                    PrepareRequest& preparation, std::vector<Module>& used) {
  // The reference has the space's factor unless it has its own.
  for (const KernelTemplate& kernel : tuning.request.space->kernels) {
    if (preparation.derive == 0) preparation.derive = kernel.tolerance.derived.value_or(0);
  }
  preparation.derive = state.reference.kernel().tolerance.derived.value_or(preparation.derive);
  preparation.truth = "its definition";
  if (!reference.in_double) return;
  Outcome<std::vector<Module>> modules = tuning.queue.take(reference.double_numbers);
  if (!modules) {
    not_in_double(tuning, state, modules.failure().detail);
    return;
  }
  Result judged;
  if (const auto failure =
          judge(reference.in_double->variant, *modules, tuning.device, ResourceLimits{}, judged)) {
    not_in_double(tuning, state, failure->detail);
    return;
  }
  preparation.in_double = make_job(reference.in_double->variant, *modules);
  used.insert(used.end(), modules->begin(), modules->end());
  preparation.truth = state.reference.kernel().name + " in double precision";
}

CompilingReference begin_reference(Tuning& tuning, const ProblemState& state) {
  Outcome<Variant> variant = plan(state.reference, state.set,
                                  state.reference.kernel().default_configuration, tuning.device);
  if (!variant) {
    throw ReferenceError(state.reference_name + " cannot be launched: " + variant.failure().detail);
  }
  plan_witness(tuning, state, *variant);
  CompilingReference reference{.variant = std::move(*variant)};
  reference.numbers = tuning.queue.add_all(reference.variant.requests, /*first=*/true);
  compile_in_double(tuning, state, reference);
  return reference;
}

std::vector<NumberedWorkload> workloads_of(const Tuning& tuning, const ProblemState& state) {
  std::vector<const KernelOnProblems*> kernels = {&state.reference};
  if (state.witness) kernels.push_back(&*state.witness);
  for (const KernelOnProblems& kernel : state.kernels) {
    if (!kernel.is_reference) kernels.push_back(&kernel);
  }
  return make_workloads(state.set, kernels, tuning.request.options.seed);
}

/// Has the devices fill the problem's buffers and evaluate the definitions, while the reference is
/// being compiled.
void fill_buffers(const Tuning& tuning, ProblemState& state, CompilingReference& reference) {
  if (reference.buffers == nullptr) {
    PrepareRequest request;
    request.workloads = workloads_of(tuning, state);
    request.definitions = tuning.request.space->verify.definitions;
    reference.buffers =
        std::make_shared<const Preparation>(Preparation{.payload = pack(request),
                                                        .again = {},
                                                        .modules = {},
                                                        .files = files_of(request),
                                                        .data_bytes = bytes_of(request.workloads)});
  }
  for (DeviceSession& device : state.devices) {
    if (!device.gone()) device.fill(*reference.buffers);
  }
}

Preparation prepare(Tuning& tuning, const ProblemState& state,
                    const CompilingReference& reference) {
  const Verify& verify = tuning.request.space->verify;
  PrepareRequest request = {.workloads = workloads_of(tuning, state),
                            .reference = {},
                            .definitions = verify.definitions,
                            .definition_is_a_guess = verify.definition_is_a_guess,
                            .expected = verify.expected,
                            .with_transfers = tuning.request.options.with_transfers};
  Outcome<std::vector<Module>> modules = tuning.queue.take(reference.numbers);
  if (!modules) {
    throw ReferenceError(
        state.reference_name +
        ", which the others are compared with, does not compile: " + modules.failure().detail);
  }
  request.reference = make_job(reference.variant, *modules);
  std::vector<Module> used = std::move(*modules);
  if (tuning.request.space->derives_tolerances()) {
    add_derivation(tuning, state, reference, request, used);
  }
  std::vector<std::uint8_t> payload = pack(request);
  request.again = true;
  return {.payload = std::move(payload),
          .again = pack(request),
          .modules = std::move(used),
          .files = files_of(request),
          .data_bytes = bytes_of(request.workloads)};
}

}  // namespace

bool devices_have_preparation(Tuning& tuning, ProblemState& state) {
  using Prepared = std::shared_ptr<const Preparation>;
  if (std::holds_alternative<Prepared>(state.preparation)) return true;
  if (std::holds_alternative<NotCompiled>(state.preparation)) {
    state.preparation = begin_reference(tuning, state);
  }
  if (!tuning.observer.may_use_devices()) return false;
  auto& reference = std::get<CompilingReference>(state.preparation);
  if ((tuning.signatures != nullptr && !tuning.signatures->is_done()) ||
      !tuning.queue.all_ready(reference.numbers) ||
      !tuning.queue.all_ready(reference.double_numbers)) {
    fill_buffers(tuning, state, reference);
    return false;
  }
  const auto prepared = std::make_shared<const Preparation>(prepare(tuning, state, reference));
  for (DeviceSession& device : state.devices) device.set_preparation(prepared);
  state.preparation = prepared;
  return true;
}

namespace {

/// Adds for each output of a part what it was compared with: the reference's output, or what that
/// was itself compared with (`held`); nothing if it was not run on the problem.
void add_outputs(const ProblemState& state, const KernelOnProblems& kernel, std::size_t problem,
                 const Part& part, std::span<const ComparedOutput> held, bool was_run,
                 std::vector<ComparedOutput>& compared) {
  const KernelOnProblems& answers = state.witness && problem > 0 ? *state.witness : state.reference;
  const bool is_itself = answers.kernel().name == kernel.kernel().name;
  for (const Argument& argument : part.arguments) {
    if (!argument.is_result()) continue;
    const auto elements = static_cast<std::uint64_t>(argument.elements());
    ComparedOutput one = {
        .problem = state.set.problems[problem],
        .output = argument.name,
        .with = is_itself ? ComparedWith::only_itself : ComparedWith::another_kernel,
        .compared = elements,
        .elements_total = elements};
    const auto known = std::ranges::find_if(held, [&](const ComparedOutput& other) {
      return other.output == one.output && other.problem == one.problem;
    });
    compared.push_back(known == held.end() ? one : *known);
    compared.back().only_sum = argument.compares_sum;
    if (!was_run) compared.back().compared = 0;
  }
}

}  // namespace

void set_compared(Result& result, const ProblemState& state, const KernelOnProblems& kernel,
                  const std::vector<Part>& parts) {
  result.compared.clear();
  if (!result.timed()) return;
  std::vector<ComparedOutput> held;
  for (const DeviceSession& device : state.devices) {
    for (const ComparedOutput& one : device.compared()) add_compared(held, one);
  }
  for (std::size_t i = 0; i < state.set.problems.size(); ++i) {
    const auto part = std::ranges::find(parts, state.set.workloads(i), &Part::workloads);
    if (part != parts.end())
      add_outputs(state, kernel, i, *part, held, i == 0 || !result.given_up, result.compared);
  }
  result.compared_with = result.coverage().with;
}

std::vector<DerivedTolerance> derived_tolerances(const ProblemState& state) {
  for (const DeviceSession& device : state.devices) {
    if (!device.derived().empty()) return device.derived();
  }
  return {};
}

}  // namespace smemtune
