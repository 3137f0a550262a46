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

/// A problem with the further ones on which every configuration must be right, and the data that
/// the device holds for them.
struct ProblemSet {
  std::vector<Problem> problems;  ///< The tuned one first.

  /// Workloads of problem i: the tuned one has two seeds.
  std::vector<WorkloadId> workloads(std::size_t i) const;
};

/// A kernel bound to each problem of a set.
struct KernelOnProblems {
  std::vector<KernelBinding> bound;  ///< As ProblemSet::problems.
  const KernelSource* source = nullptr;
  std::string hash;
  bool is_reference = false;
  bool has_other_answers = false;  ///< Space::has_other_answers.

  const KernelTemplate& kernel() const { return bound.front().kernel(); }
  /// The reference, and nothing else says what is right.
  bool is_only_witness() const { return is_reference && !has_other_answers; }
};

/// A configuration ready to be compiled.
struct Variant {
  std::vector<KernelInstance> instances;  ///< The first is the tuned problem's.
  std::vector<CompileRequest> requests;   ///< As many as problems have code of their own.
  std::vector<Part> parts;                ///< `module` counts requests.
  std::map<std::string, double> metrics;  ///< Of the tuned problem.
};

/// Why its expressions have no value on that problem, or which limit it exceeds there; nullopt when
/// it can be launched. REQUIRES: it satisfies the constraints.
std::optional<Failure> cannot_launch(const KernelBinding& bound, const Configuration& configuration,
                                     const Device& device);

/// Why a configuration is none on that problem, or exceeds a limit there; nullopt when it can run.
std::optional<std::string> cannot_run(const KernelBinding& bound,
                                      const Configuration& configuration, const Device& device);

/// Whether `configuration` is one, and what it needs. A further problem whose constraints it does
/// not satisfy is left out. A configuration whose expressions have no value, or that exceeds a
/// limit, is a failure of status `constraints`.
Outcome<Variant> plan(const KernelOnProblems& kernel, const ProblemSet& set,
                      const Configuration& configuration, const Device& device);

/// What is to be compiled to learn whether the entries of a kernel's default configuration take
/// what the space passes on its first problem, and nothing else; nullopt where it has no default
/// there.
std::optional<CompileRequest> signature_request(const KernelOnProblems& kernel,
                                                const Device& device);

/// A reference whose floating arguments are all doubles.
struct ReferenceInDouble {
  KernelTemplate kernel;  ///< Of in_double.h, which `set` refers to.
  KernelSource source;
  KernelOnProblems set;
  Variant variant;
};

/// Plans the default configuration of the reference in double precision; `narrow` is its own plan.
/// A failure as of plan(). Throws InputError.
Outcome<std::unique_ptr<ReferenceInDouble>> plan_in_double(
    const Space& space, const KernelOnProblems& reference, const KernelSource& source,
    const ProblemSet& set, const Variant& narrow, const Device& device);

/// What is known of a configuration before anything is done with it.
Result begin_result(const KernelOnProblems& kernel, const Configuration& configuration);

/// Adds what the compiler reported, and says when the device cannot hold it. `modules` belong to
/// the variant's requests.
std::optional<Failure> judge(const Variant& variant, const std::vector<Module>& modules,
                             const Device& device, const ResourceLimits& limits, Result& result);

/// Equal for variants that run the same machine code with the same launches, arguments and checks,
/// so that what is measured of one holds for the other; empty where that cannot be said. `modules`
/// belong to the variant's requests.
std::string identity(const Variant& variant, const std::vector<Module>& modules);

/// `modules` belong to the variant's requests.
Job make_job(const Variant& variant, const std::vector<Module>& modules);

void set_failure(Result& result, const Failure& failure);

/// Makes what was measured of `twin`, which has the same identity, that of `result`; its detail
/// says so.
void take_measurement(Result& result, const Result& twin);

/// Where the driver's figures differ from the compiler's or from our occupancy: a line for people,
/// or nothing.
std::string cross_check(const Result& result, const LoadedKernel& loaded);

/// The data of a set: buffers and scalars that any of `kernels` names in its default configuration.
/// Throws InputError when they have no size.
std::vector<NumberedWorkload> make_workloads(const ProblemSet& set,
                                             const std::vector<const KernelOnProblems*>& kernels,
                                             std::uint64_t seed);

}  // namespace smemtune
