#include "tuner/cli/default_check.h"

#include "reports/result_texts.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/known_devices.h"
#include "tuner/config/devices_file.h"
#include "tuner/core/error.h"
#include "tuner/engine/fit_check.h"
#include "tuner/engine/variant.h"
#include "tuner/engine/worker_pool.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>

namespace smemtune::cli {
namespace {

/// The known device with the largest limits.
constexpr const char* kDevice = "h200";

/// Returns true if no device, whatever its features, allows the launch.
bool is_never_launched(const Failure& failure) {
  constexpr std::array<std::string_view, 8> kReasons = {
      "block_dim", "cluster_dim",   "constant_bytes", "expression",
      "grid_dim",  "launch_bounds", "shared_bytes",   "threads"};
  return failure.status == Status::constraints &&
         std::ranges::find(kReasons, failure.reason) != kReasons.end();
}

std::string of_kernel(const std::string& kernel) { return "kernel '" + kernel + "': "; }

std::string cannot_be_launched(const Configuration& configuration, const std::string& why) {
  return "its default " + key(configuration) + " cannot be launched: " + why;
}

/// Reports for each kernel the first problem on which its default cannot be launched.
void add_launch_faults(const Space& space, const Device& device, DefaultCheck& check) {
  for (const KernelTemplate& kernel : space.kernels) {
    const Configuration& configuration = kernel.default_configuration;
    for (const Problem& problem : space.problems) {
      const KernelBinding bound(space, kernel, problem, device);
      if (!bound.satisfies_constraints(configuration)) continue;
      const std::optional<Failure> failure = cannot_launch(bound, configuration, device);
      if (!failure || !is_never_launched(*failure)) continue;
      check.faults.push_back(of_kernel(kernel.name) +
                             cannot_be_launched(configuration, failure->detail) + " (on " +
                             key(problem) + ")");
      break;
    }
  }
}

void add_faults(const Result& result, const Device& device, DefaultCheck& check) {
  const std::string kernel = of_kernel(result.kernel);
  if (!result.failed()) return;
  const Failure failure = {.status = result.status, .reason = result.reason, .detail = {}};
  const bool is_gpu = device.kind == DeviceKind::gpu;
  if (result.status == Status::compile && result.reason == "signature") {
    std::istringstream lines(result.detail);
    for (std::string fault; std::getline(lines, fault);) check.faults.push_back(kernel + fault);
  } else if (is_gpu && result.status == Status::compile && result.reason == "error") {
    check.faults.push_back(kernel + "its default " + key(result.configuration) +
                           " does not compile: " + telling_line(result));
  } else if (result.reason == "declared_shared_bytes") {
    check.faults.push_back(kernel + result.detail);
  } else if (is_never_launched(failure)) {
    check.faults.push_back(kernel + cannot_be_launched(result.configuration, telling_line(result)));
  } else {
    check.notes.push_back(kernel + "its default was not compiled for " +
                          (is_gpu ? kDevice : "the CPU device") + " (" + status_text(result) +
                          "): " + telling_line(result));
  }
}

/// Returns the default of every kernel, with the first problem of the file whose constraints it
/// satisfies.
std::vector<FitQuestion> defaults_of(const Space& space, const Device& device) {
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
    // load_space() has found such a problem with the limits of the H200.
    if (problem == problems.end()) continue;
    questions.push_back({.kernel = &kernel, .problem = *problem, .configuration = configuration});
  }
  return questions;
}

void compile_defaults(const LoadedSpace& loaded, const Device& device, DefaultCheck& check) {
  const auto pool = std::make_shared<WorkerPool>(compile_workers_for({}, device));
  for (const Result& result :
       check_fit(loaded.space, loaded.sources, defaults_of(loaded.space, device), device, *pool)) {
    add_faults(result, device, check);
  }
}

}  // namespace

DefaultCheck check_defaults(const LoadedSpace& loaded) {
  DefaultCheck check;
  const Device device = find_device(published_devices(), kDevice);
  add_launch_faults(loaded.space, device, check);
  if (!check.faults.empty()) return check;
  std::string why = "this smemtune was built without the CUDA back end";
  try {
    if (has_cuda()) {
      compile_defaults(loaded, device, check);
      return check;
    }
  } catch (const UnavailableError& error) {
    why = error.what();
  }
  check.notes.push_back("compiled for the CPU device only: " + why);
  try {
    compile_defaults(loaded, cpu_device(kDevice), check);
  } catch (const UnavailableError& error) {
    check.notes.push_back(std::string("not compiled for it either: ") + error.what());
  }
  return check;
}

}  // namespace smemtune::cli
