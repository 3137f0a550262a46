#include "tuner/cli/default_check.h"

#include "reports/failure_lines.h"
#include "reports/problem_results.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/signature_probe.h"
#include "tuner/config/devices_file.h"
#include "tuner/core/error.h"
#include "tuner/engine/fit_check.h"
#include "tuner/engine/worker_pool.h"

#include <algorithm>

namespace smemtune::cli {
namespace {

/// Whose limits a default exceeds is for a dry run to say: this one allows most.
constexpr const char* kDevice = "h200";

std::string not_checked(const std::string& why) {
  return "not checked: that the kernels compile, the types of their arguments and their static "
         "shared memory: " +
         why;
}

void add_faults(const Result& result, DefaultCheck& check) {
  const std::string kernel = "kernel '" + result.kernel + "': ";
  const std::vector<std::string> signature = signature_faults(result.detail);
  for (const std::string& fault : signature) check.faults.push_back(kernel + fault);
  if (!signature.empty() || !result.failed()) return;
  if (result.status == Status::compile && result.reason == "error") {
    check.faults.push_back(kernel + "its default " + key(result.configuration) +
                           " does not compile: " + telling_line(result));
  } else if (result.reason == "declared_shared_bytes") {
    check.faults.push_back(kernel + result.detail);
  } else {
    check.notes.push_back(kernel + "its default was not compiled for " + kDevice + " (" +
                          status_text(result) + "): " + telling_line(result));
  }
}

}  // namespace

DefaultCheck check_defaults(const LoadedSpace& loaded) {
  DefaultCheck check;
  if (!has_cuda()) {
    check.notes.push_back(not_checked("this smemtune was built without the CUDA back end"));
    return check;
  }
  const Space& space = loaded.space;
  const Device device = find_device(published_devices(), kDevice);
  std::map<std::string, KernelSource> sources = loaded.sources;
  std::vector<Problem> problems = space.problems;
  for (const auto& more : {space.cpu_problems, space.verify.also}) {
    problems.insert(problems.end(), more.begin(), more.end());
  }
  std::vector<FitQuestion> questions;
  for (const KernelTemplate& kernel : space.kernels) {
    const Configuration& configuration = kernel.default_configuration;
    const auto problem = std::ranges::find_if(problems, [&](const Problem& one) {
      return KernelBinding(space, kernel, one, device).satisfies_constraints(configuration);
    });
    if (problem == problems.end()) continue;  // load_space() found one where it does.
    const KernelBinding bound(space, kernel, *problem, device);
    sources.at(kernel.name).files.front().text += signature_probe(bound.instantiate(configuration));
    questions.push_back({.kernel = &kernel, .problem = *problem, .configuration = configuration});
  }
  try {
    const auto pool = std::make_shared<WorkerPool>(compile_workers_for({}, device));
    for (const Result& result : check_fit(space, sources, questions, device, *pool)) {
      add_faults(result, check);
    }
  } catch (const UnavailableError& error) {
    check.notes.push_back(not_checked(error.what()));
  }
  return check;
}

}  // namespace smemtune::cli
