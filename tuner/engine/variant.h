#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/result.h"
#include "tuner/engine/compile_queue.h"
#include "tuner/engine/messages.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A tuned problem with the further problems on which every configuration must be right. Determines
/// the data that the device holds for them.
struct ProblemSet {
  std::vector<Problem> problems;  ///< The tuned problem comes first.
  bool has_second_data = true;    ///< False if no contents differ with the seed.

  /// Returns the workloads of problem i; the tuned problem has two, with different seeds, if it has
  /// second data.
  std::vector<WorkloadId> workloads(std::size_t i) const;
};

/// A kernel bound to each problem of a set.
struct KernelOnProblems {
  std::vector<KernelBinding> bound;  ///< In the order of ProblemSet::problems.
  const KernelSource* source = nullptr;
  std::string hash;
  bool is_reference = false;
  bool has_other_answers = false;  ///< See Space::has_other_answers.

  const KernelTemplate& kernel() const { return bound.front().kernel(); }
  /// Whether this is the reference and nothing else can confirm its outputs.
  bool is_self_verified() const { return is_reference && !has_other_answers; }
};

/// A configuration ready to be compiled.
struct Variant {
  std::vector<KernelInstance> instances;  ///< One for each problem; the tuned problem comes first.
  std::vector<CompileRequest> requests;   ///< One for each problem with its own code.
  std::vector<Part> parts;                ///< `module` is an index in `requests`.
  std::map<std::string, double> metrics;  ///< On the tuned problem.
};

/// Returns why a configuration's expressions have no value on that problem, or which limit it
/// exceeds there; nullopt when it can be launched. REQUIRES: it satisfies the constraints.
std::optional<Failure> cannot_launch(const KernelBinding& bound, const Configuration& configuration,
                                     const Device& device);

/// Returns why a configuration is invalid on that problem or exceeds a limit there; nullopt when it
/// can run.
std::optional<std::string> cannot_run(const KernelBinding& bound,
                                      const Configuration& configuration, const Device& device);

/// Plans a configuration: what to compile and run for it on each problem. A further problem whose
/// constraints it does not satisfy is left out. Returns a failure of status `constraints` when an
/// expression has no value or a limit is exceeded.
Outcome<Variant> plan(const KernelOnProblems& kernel, const ProblemSet& set,
                      const Configuration& configuration, const Device& device);

/// Returns the part of a variant that runs on the tuned problem. Its only request is the first.
Variant on_tuned_problem(const Variant& variant);

/// Returns what to compile only to learn whether the entries of a kernel's default configuration
/// take the arguments that the space passes on its first problem; nullopt when there is no default.
std::optional<CompileRequest> signature_request(const KernelOnProblems& kernel,
                                                const Device& device);

/// A reference whose floating arguments are all doubles.
struct ReferenceInDouble {
  KernelTemplate kernel;  ///< From in_double.h; `set` refers to it.
  KernelSource source;
  KernelOnProblems set;
  Variant variant;
};

/// Plans the default configuration of the reference in double precision; `narrow` is the
/// reference's own plan. Fails as plan() does. Throws InputError.
Outcome<std::unique_ptr<ReferenceInDouble>> plan_in_double(
    const Space& space, const KernelOnProblems& reference, const KernelSource& source,
    const ProblemSet& set, const Variant& narrow, const Device& device);

/// Returns a result with what is known of a configuration before it is compiled.
Result begin_result(const KernelOnProblems& kernel, const Configuration& configuration);

/// Adds the resources of each launch and their occupancy to `result`, and returns a failure when the
/// device cannot hold the instance.
std::optional<Failure> judge(const KernelInstance& instance,
                             const std::vector<Resources>& resources, const Device& device,
                             const ResourceLimits& limits, Result& result);

/// Adds the compiler's report to `result`, and returns a failure when the device cannot hold the
/// variant. `modules` belong to the variant's requests.
std::optional<Failure> judge(const Variant& variant, const std::vector<Module>& modules,
                             const Device& device, const ResourceLimits& limits, Result& result);

/// Adds to the result's launches what the compiler found in their machine code. Other facts of
/// theirs are dropped if they are of other code.
void add_code_facts(const Variant& variant, const std::vector<Module>& modules, Result& result);

/// Returns a string that is equal for variants that run the same machine code with the same
/// launches, arguments and checks, so that a measurement of one holds for the others; empty when
/// that cannot be told. `modules` belong to the variant's requests.
std::string identity(const Variant& variant, const std::vector<Module>& modules);

/// Makes the job for a device worker. `modules` belong to the variant's requests.
Job make_job(const Variant& variant, const std::vector<Module>& modules);

void set_failure(Result& result, const Failure& failure);

/// Copies the measurement of `twin`, which has the same identity, to `result`, whose detail says
/// so.
void take_measurement(Result& result, const Result& twin);

/// Returns a line for people where the driver's figures differ from the compiler's or from our
/// occupancy; empty when none do.
std::string cross_check(const Result& result, const LoadedKernel& loaded);

/// Returns false if the kernel's data on the tuned problem are the same for every seed.
bool depends_on_seed(const KernelOnProblems& kernel);

/// Returns the data of a set: the buffers and scalars that any of `kernels` names in its default
/// configuration. Throws InputError when they have no size.
std::vector<NumberedWorkload> make_workloads(const ProblemSet& set,
                                             const std::vector<const KernelOnProblems*>& kernels,
                                             std::uint64_t seed);

}  // namespace smemtune
