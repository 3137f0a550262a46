#include "tuner/engine/fit_check.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/engine/compile_queue.h"
#include "tuner/engine/variant.h"
#include "tuner/engine/worker_pool.h"

namespace smemtune {

namespace {

KernelOnProblems bind(const Space& space, const FitQuestion& question, const Device& device) {
  KernelOnProblems kernel;
  kernel.bound.emplace_back(space, *question.kernel, question.problem, device);
  kernel.is_reference = question.kernel->name == space.verify.reference;
  return kernel;
}

std::optional<Failure> violation(const KernelOnProblems& kernel,
                                 const Configuration& configuration) {
  const auto constraint = kernel.bound.front().violated_constraint(configuration);
  if (!constraint) return std::nullopt;
  return failure({Status::constraints, "constraint"},
                 "the constraint '" + *constraint + "' does not hold");
}

/// A question on its way through the compiler.
struct Asked {
  KernelOnProblems kernel;
  Result result;
  std::optional<Variant> variant;      ///< Nullopt once the result is a failure.
  std::vector<std::uint64_t> numbers;  ///< Numbers in the compile queue.
  std::vector<Module> modules;         ///< Compiled, one for each request of the variant.
};

Asked ask(const Space& space, const std::map<std::string, KernelSource>& sources,
          const FitQuestion& question, const Device& device, CompileQueue& queue) {
  Asked asked;
  asked.kernel = bind(space, question, device);
  const auto source = sources.find(question.kernel->name);
  if (source == sources.end()) {
    throw InputError("kernel " + question.kernel->name + " has no source");
  }
  asked.kernel.source = &source->second;
  asked.result = begin_result(asked.kernel, question.configuration);
  if (const auto failure = violation(asked.kernel, question.configuration)) {
    set_failure(asked.result, *failure);
    return asked;
  }
  const ProblemSet set = {.problems = {question.problem}};
  Outcome<Variant> variant = plan(asked.kernel, set, question.configuration, device);
  if (!variant) {
    set_failure(asked.result, variant.failure());
    return asked;
  }
  asked.numbers = queue.add_all(variant->requests);
  asked.variant = std::move(*variant);
  return asked;
}

/// Judges a compiled configuration. REQUIRES: all numbers are ready.
void judge(Asked& asked, const Device& device, CompileQueue& queue) {
  Outcome<std::vector<Module>> modules = queue.take(asked.numbers);
  std::optional<Failure> failure;
  if (modules) {
    asked.modules = std::move(*modules);
    failure = judge(*asked.variant, asked.modules, device, ResourceLimits{}, asked.result);
  } else {
    failure = modules.failure();
  }
  asked.result.status = Status::fits;
  if (failure) set_failure(asked.result, *failure);
}

/// Compiles and judges all questions.
std::vector<Asked> ask_all(const Space& space, const std::map<std::string, KernelSource>& sources,
                           const std::vector<FitQuestion>& questions, const Device& device,
                           WorkerPool& pool) {
  CompileQueue queue(pool);
  std::vector<Asked> all;
  for (const FitQuestion& question : questions) {
    all.push_back(ask(space, sources, question, device, queue));
  }
  for (Asked& asked : all) {
    while (!queue.all_ready(asked.numbers)) {
      queue.pump();
      for (const WorkerEvent& event : pool.wait(1)) queue.handle(event);
    }
    if (asked.variant) judge(asked, device, queue);
  }
  return all;
}

}  // namespace

std::vector<Result> check_fit(const Space& space,
                              const std::map<std::string, KernelSource>& sources,
                              const std::vector<FitQuestion>& questions, const Device& device,
                              WorkerPool& pool) {
  std::vector<Result> results;
  for (Asked& asked : ask_all(space, sources, questions, device, pool)) {
    results.push_back(std::move(asked.result));
  }
  return results;
}

std::vector<CompiledFit> compile_fits(const Space& space,
                                      const std::map<std::string, KernelSource>& sources,
                                      const std::vector<FitQuestion>& questions,
                                      const Device& device, WorkerPool& pool) {
  std::vector<CompiledFit> compiled;
  for (Asked& asked : ask_all(space, sources, questions, device, pool)) {
    if (asked.result.failed()) {
      throw InputError(asked.result.kernel + " " + key(asked.result.configuration) + " on " +
                       key(asked.result.problem) + " for " + device.name + ": " +
                       asked.result.detail);
    }
    compiled.push_back({.instance = std::move(asked.variant->instances.front()),
                        .module = std::move(asked.modules.front())});
  }
  return compiled;
}

Result judge_fit(const Space& space, const FitQuestion& question,
                 const std::vector<Resources>& resources, const Device& device) {
  const KernelOnProblems kernel = bind(space, question, device);
  Result result = begin_result(kernel, question.configuration);
  if (const auto failure = violation(kernel, question.configuration)) {
    set_failure(result, *failure);
    return result;
  }
  const KernelInstance instance = kernel.bound.front().instantiate(question.configuration);
  const auto too_large = judge(instance, resources, device, ResourceLimits{}, result);
  auto failure = exceeds_limits(instance, device);
  if (!failure) failure = too_large;
  result.status = Status::fits;
  if (failure) set_failure(result, *failure);
  return result;
}

}  // namespace smemtune
