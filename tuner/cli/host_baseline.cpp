#include "tuner/cli/host_baseline.h"

#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/backend/cpu/cpu_launcher.h"
#include "tuner/backend/cpu/host_compiler.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"

#include <cerrno>
#include <sys/wait.h>
#include <unistd.h>

namespace smemtune::cli {
namespace {

constexpr double kMostWork = 4e9;

double work_of(const std::map<std::string, double>& metrics) {
  for (const char* const name : {"flops", "bytes"}) {
    if (const auto work = find_figure(metrics, name)) return *work;
  }
  return 0;
}

/// Returns the reference with the largest problem that one thread can run; nullopt if all are too
/// large.
std::optional<KernelBinding> largest_problem(const Space& space, const Device& limits) {
  const KernelTemplate& reference = *space.kernel(space.verify.reference);
  std::vector<Problem> problems = space.problems;
  problems.insert(problems.end(), space.cpu_problems.begin(), space.cpu_problems.end());
  std::optional<KernelBinding> largest;
  double most = 0;
  for (const Problem& problem : problems) {
    KernelBinding bound(space, reference, problem, limits);
    const double work = work_of(bound.metrics(reference.default_configuration));
    if (work <= most || work > kMostWork) continue;
    most = work;
    largest = std::move(bound);
  }
  return largest;
}

/// Returns the time in milliseconds. Throws UnavailableError.
double run_on_one_thread(const KernelInstance& instance, const KernelSource& source,
                         const Device& limits) {
  const auto succeed = [](const auto& outcome) {
    if (!outcome) throw UnavailableError("the host's baseline: " + outcome.failure().detail);
  };
  CompileRequest request;
  request.architecture = "host";
  request.source = source;
  request.options = instance.options;
  for (const LaunchShape& launch : instance.launches) {
    request.name_expressions.push_back(launch.name_expression);
  }
  for (const Argument& argument : instance.arguments) {
    if (argument.in_constant_memory()) request.symbol_expressions.push_back(argument.symbol);
  }
  cpu::HostCompiler compiler;
  const auto compiled = compiler.compile(request);
  succeed(compiled);
  cpu::CpuLauncher launcher(limits, {.threads = 1});
  succeed(launcher.prepare(0, {.arguments = instance.arguments, .seed = 1}));
  const auto loaded = launcher.load(-1, *compiled, instance.launches, instance.arguments);
  succeed(loaded);
  TimeRequest once = {.workload = 0, .samples = 2, .cold = false};
  once.launches_per_sample = 1;
  const auto report = launcher.time(loaded->handle, once);
  succeed(report);
  return report->samples_ms.back();
}

struct Answer {
  double time_ms = 0;
  char fault[512] = "";
};

/// Runs in a child process, whose crash affects no other process. The answer is a single write,
/// which a pipe transfers atomically.
[[noreturn]] void answer_and_end(int descriptor, const KernelInstance& instance,
                                 const KernelSource& source, const Device& limits) {
  Answer answer;
  try {
    answer.time_ms = run_on_one_thread(instance, source, limits);
  } catch (const std::exception& error) {
    std::string(error.what()).copy(answer.fault, sizeof answer.fault - 1);
  }
  const ssize_t written = write(descriptor, &answer, sizeof answer);
  _exit(written == sizeof answer ? 0 : 1);
}

double in_own_process(const KernelInstance& instance, const KernelSource& source,
                      const Device& limits) {
  int ends[2];
  if (pipe(ends) != 0) throw UnavailableError("cannot create a pipe for the host's baseline");
  const pid_t child = fork();
  if (child < 0) throw UnavailableError("cannot start a process for the host's baseline");
  if (child == 0) {
    close(ends[0]);
    answer_and_end(ends[1], instance, source, limits);
  }
  close(ends[1]);
  Answer answer;
  ssize_t got = 0;
  do {
    got = read(ends[0], &answer, sizeof answer);
  } while (got < 0 && errno == EINTR);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (got != sizeof answer) throw UnavailableError("the process of the host's baseline was lost");
  if (answer.fault[0] != '\0') throw UnavailableError(answer.fault);
  return answer.time_ms;
}

}  // namespace

std::optional<HostBaseline> measure_host(const LoadedSpace& loaded, const Device& limits) {
  const std::optional<KernelBinding> bound = largest_problem(loaded.space, limits);
  if (!bound) return std::nullopt;
  const KernelTemplate& reference = bound->kernel();
  const KernelInstance instance = bound->instantiate(reference.default_configuration);
  return HostBaseline{
      .problem = bound->problem(),
      .kernel = reference.name,
      .compiler = cpu::HostCompiler().version(),
      .time_ms = in_own_process(instance, loaded.sources.at(reference.name), limits),
      .metrics = bound->metrics(reference.default_configuration)};
}

std::string host_text(const HostBaseline& host, const TuningSummary& summary) {
  const double per_ms = work_of(host.metrics) / host.time_ms;
  const auto flops = host.metrics.find("flops");
  std::string text = "\nhost, one thread: " + host.kernel + "'s loop on " + key(host.problem) +
                     " in " + format_time(host.time_ms);
  if (flops != host.metrics.end()) {
    text += ", " + format_rate(flops->second / (host.time_ms * 1e-3), "FLOP/s");
  }
  text += " (" + host.compiler + ")\n";
  for (const ProblemSummary& problem : summary.problems) {
    if (!problem.best()) continue;
    const double best_per_ms =
        work_of(problem.best()->metrics) / problem.best()->measurement.median_ms;
    text += "  " + problem.best()->kernel + " on " + key(problem.problem) + ": " +
            times(best_per_ms / per_ms) + " as much per second\n";
  }
  return text;
}

}  // namespace smemtune::cli
