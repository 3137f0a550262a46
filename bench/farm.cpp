// Compares the rate at which smemtune goes through a space with that of processes that only compile
// the same requests:
//
//   smemtune      a child with an empty cache and an empty database, as many compile workers as
//                 there are processes; each configuration counts when its result is told
//   compile only  processes with an NVRTC compiler each, without engine, cache or messages; each
//                 takes the next configuration that none has, in the order in which smemtune told
//                 them, and compiles it by itself; it counts when its cubin is there
//
//   smemtune_farm --space configs/convolution.json --kernel tiled --max-evaluations 400
//   smemtune_farm --space configs/convolution.json --kernel tiled --dry-run --device h200 ...
//
// Both sides compile the same requests, and both begin with the start of their processes: loading
// NVRTC counts. Smemtune's reference kernel, its screening and whatever else happens before the
// last result is told counts against it; the finals do not. Which side goes first changes from
// round to round.

#include "tuner/backend/cuda/devices.h"
#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/config/devices_file.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/measurement.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/engine/variant.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace smemtune;  // NOLINT(google-build-using-namespace): a program, not a library.
namespace fs = std::filesystem;

struct Options {
  fs::path space;
  std::string problem;  ///< Empty for the first problem.
  std::vector<std::string> kernels;
  std::string device;  ///< Empty for the first GPU, or for h200 in a dry run.
  fs::path smemtune =
      fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "tuner" / "cli" / "smemtune";
  fs::path keep;
  unsigned processes = std::max(1u, std::thread::hardware_concurrency());
  std::uint64_t max_evaluations = 0;  ///< 0 for all configurations.
  std::uint64_t seed = 1;
  int rounds = 2;  ///< The side that goes first in one round goes second in the next.
  bool dry_run = false;
};

/// Times that one side took for its configurations.
struct Took {
  double first_s = 0;  ///< Seconds from the start to the first configuration.
  double all_s = 0;    ///< Seconds from the start to the last configuration.
  double cpu_s = 0;    ///< Processor time of all its processes, to their end.
  std::size_t configurations = 0;
  /// Number of smemtune's progress lines, by what they wait for.
  std::map<std::string, int> waited_for;

  double per_s() const { return static_cast<double>(configurations) / all_s; }
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void throw_errno(const std::string& call) {
  throw Error(call + ": " + std::strerror(errno));
}

/// Waits for a child, adds its processor time (and that of all children it waited for) to `cpu_s`,
/// and returns its wait status.
int wait_for(pid_t child, double& cpu_s) {
  int status = 0;
  rusage usage = {};
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) throw_errno("wait4");
  }
  for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
    cpu_s += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return status;
}

/// The requests that smemtune would send to its compile workers.
class Requests {
 public:
  Requests(const LoadedSpace& loaded, const Problem& problem, const Device& device, bool dry_run)
      : device_(device) {
    const Space& space = loaded.space;
    set_.problems = {problem};
    if (!dry_run) add_further_problems(space);
    for (const KernelTemplate& kernel : space.kernels) {
      KernelOnProblems bound;
      for (const Problem& one : set_.problems) {
        bound.bound.emplace_back(space, kernel, one, device_);
      }
      bound.source = &loaded.sources.at(kernel.name);
      kernels_.push_back(std::move(bound));
    }
    for (const KernelOnProblems& kernel : kernels_) {
      const SearchSpace& points = kernel.bound.front().search_space();
      for (ConfigurationIndex i = 0; i < points.size(); ++i) {
        Configuration configuration = points.configuration(i);
        const std::string name = kernel.kernel().name + " " + key(configuration);
        candidates_[name] = {&kernel, std::move(configuration)};
      }
    }
  }

  /// Returns the requests for the configuration that smemtune calls `name` (`tiled
  /// ROWS=8,TILE=32`); empty if `name` is not a configuration, or if the configuration needs no
  /// compiler because it exceeds a limit.
  std::vector<CompileRequest> of(const std::string& name) const {
    const auto found = candidates_.find(name);
    if (found == candidates_.end()) return {};
    const auto& [kernel, configuration] = found->second;
    Outcome<Variant> variant = plan(*kernel, set_, configuration, device_);
    return variant ? std::move(variant->requests) : std::vector<CompileRequest>();
  }

 private:
  void add_further_problems(const Space& space) {
    const KernelTemplate& reference = *space.kernel(space.verify.reference);
    for (const Problem& further : space.verify.also) {
      const KernelBinding bound(space, reference, further, device_);
      if (!cannot_run(bound, reference.default_configuration, device_)) {
        set_.problems.push_back(further);
      }
    }
  }

  struct Candidate {
    const KernelOnProblems* kernel = nullptr;
    Configuration configuration;
  };
  Device device_;
  ProblemSet set_;
  std::vector<KernelOnProblems> kernels_;
  std::map<std::string, Candidate> candidates_;
};

/// The requests of one configuration.
using Work = std::vector<CompileRequest>;

// Smemtune.

std::vector<std::string> smemtune_words(const Options& options, const std::string& problem,
                                        const fs::path& database) {
  std::vector<std::string> words = {options.smemtune.string(),
                                    "--verbose",
                                    "--space",
                                    options.space.string(),
                                    "--problem",
                                    problem,
                                    "--db",
                                    database.string(),
                                    "--seed",
                                    std::to_string(options.seed),
                                    "--jobs",
                                    std::to_string(options.processes)};
  const auto add = [&words](const std::string& name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  };
  for (const std::string& kernel : options.kernels) add("--kernel", kernel);
  if (!options.device.empty()) add("--device", options.device);
  if (options.max_evaluations > 0) {
    add("--max-evaluations", std::to_string(options.max_evaluations));
  }
  if (options.dry_run) words.emplace_back("--dry-run");
  return words;
}

/// Runs in the child: becomes smemtune, with `output` as its stdout and `errors` as its stderr.
[[noreturn]] void become(const std::vector<std::string>& words, const fs::path& cache,
                         const fs::path& output, int errors) {
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0) _exit(127);
  setenv("SMEMTUNE_CACHE", cache.c_str(), 1);
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execv(pointers.front(), pointers.data());
  _exit(127);
}

/// Calls `take` with each line as it comes, until the writer closes its end.
void read_lines(int descriptor, const std::function<void(const std::string&)>& take) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t size = read(descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos;) {
      take(text.substr(begin, end - begin));
      begin = end + 1;
    }
    text.erase(0, begin);
  }
}

/// Returns `compiler` for `12/96 configurations, waiting for compiler, 0:05`; empty if the line
/// waits for nothing, or is not a progress line.
std::string awaited_in(const std::string& line) {
  constexpr std::string_view kMark = " configurations, ";
  constexpr std::string_view kWaiting = "waiting for ";
  if (line.find(kMark) == std::string::npos) return "";
  const std::size_t begin = line.find(kWaiting);
  if (begin == std::string::npos) return "";
  const std::size_t end = line.find(',', begin);
  return line.substr(begin + kWaiting.size(), end - begin - kWaiting.size());
}

/// Runs smemtune from empty caches. `work`: the requests that it compiled, in the order in which it
/// told the results.
Took run_smemtune(const Options& options, const std::string& problem, const Requests& requests,
                  std::vector<Work>& work) {
  const TemporaryFolder folder;
  const fs::path kept = options.keep.empty() ? folder.path() : options.keep;
  const fs::path database = kept / "farm.sqlite";
  fs::remove(database);
  const std::vector<std::string> words = smemtune_words(options, problem, database);
  std::array<int, 2> errors = {};
  if (pipe2(errors.data(), O_CLOEXEC) != 0) throw_errno("pipe2");
  const Clock::time_point start = Clock::now();
  const pid_t child = fork();
  if (child < 0) throw_errno("fork");
  if (child == 0) become(words, folder.path() / "cache", kept / "farm.txt", errors[1]);
  close(errors[1]);

  Took took;
  std::string last_words;
  std::map<std::string, bool> seen;  // Finals may report a configuration again.
  read_lines(errors[0], [&](const std::string& line) {
    const double now_s = seconds_since(start);
    const std::string name = line.substr(0, line.find(": "));
    Work asked = seen.contains(name) ? Work() : requests.of(name);
    if (asked.empty()) {
      last_words = line;
      if (const std::string awaited = awaited_in(line); !awaited.empty()) {
        ++took.waited_for[awaited];
      }
      return;
    }
    seen[name] = true;
    work.push_back(std::move(asked));
    if (took.configurations++ == 0) took.first_s = now_s;
    took.all_s = now_s;
  });
  close(errors[0]);
  const int status = wait_for(child, took.cpu_s);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || work.empty()) {
    throw Error(options.smemtune.string() + " did not succeed; its last words: " + last_words);
  }
  return took;
}

// Compile only.

/// State that the processes share, in memory that fork() does not copy.
struct Shared {
  std::atomic<std::size_t> next = 0;    ///< The first configuration that no process has taken.
  std::atomic<std::size_t> failed = 0;  ///< Number of requests that did not compile.
  std::atomic<double> first_s = 0;
  std::atomic<double> all_s = 0;
};
static_assert(std::atomic<double>::is_always_lock_free);

/// Runs in a child: compiles configurations until none is left.
[[noreturn]] void compile_all(const std::vector<Work>& work, Clock::time_point start,
                              Shared& shared) {
  try {
    cuda::NvrtcCompiler compiler;
    for (std::size_t i = 0; (i = shared.next++) < work.size();) {
      for (const CompileRequest& request : work[i]) {
        if (!compiler.compile(request)) ++shared.failed;
      }
      const double now_s = seconds_since(start);
      double unset = 0;
      shared.first_s.compare_exchange_strong(unset, now_s);
      double last_s = shared.all_s;
      while (last_s < now_s && !shared.all_s.compare_exchange_weak(last_s, now_s)) {
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "smemtune_farm: a compile process: %s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

Took compile_only(const std::vector<Work>& work, unsigned processes) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_errno("mmap");
  Shared& shared = *new (memory) Shared;
  const Clock::time_point start = Clock::now();
  std::vector<pid_t> children;
  for (unsigned i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child < 0) throw_errno("fork");
    if (child == 0) compile_all(work, start, shared);
    children.push_back(child);
  }
  Took took;
  took.configurations = work.size();
  bool succeeded = true;
  for (const pid_t child : children) succeeded &= wait_for(child, took.cpu_s) == 0;
  took.first_s = shared.first_s;
  took.all_s = shared.all_s;
  const std::size_t failed = shared.failed;
  munmap(memory, sizeof(Shared));
  if (!succeeded) throw Error("a compile process died");
  if (failed > 0) std::printf("  %zu requests did not compile\n", failed);
  return took;
}

// The comparison.

void print(const char* name, const Took& took) {
  const auto count = static_cast<double>(took.configurations);
  std::printf("  %-12s  %8.2f  %8.2f  %8.2f  %9.3f  %6.2f\n", name, took.per_s(), took.all_s,
              took.first_s, took.cpu_s / count, took.cpu_s / took.all_s);
  for (const auto& [what, lines] : took.waited_for) {
    std::printf("    waiting for %s in %d progress lines\n", what.c_str(), lines);
  }
}

Device chosen_device(const Options& options, const fs::path& share) {
  if (options.dry_run) {
    return find_device(load_devices(share / "configs" / "devices.json"), options.device);
  }
  const std::vector<Device> devices = cuda::cuda_devices();
  return devices.at(static_cast<std::size_t>(cuda::select_device(devices, options.device)));
}

void run(Options options) {
  const fs::path share = fs::absolute(options.space).parent_path().parent_path();
  const LoadedSpace loaded = load_space(options.space, share);
  if (options.dry_run && options.device.empty()) options.device = "h200";
  const Device device = chosen_device(options, share);
  const Problem problem = options.problem.empty() ? loaded.space.problems.front()
                                                  : parse_problem(loaded.space, options.problem);
  const Requests requests(loaded, problem, device, options.dry_run);
  if (!options.keep.empty()) fs::create_directories(options.keep);

  std::printf("%s  %s  for %s (%s)%s, %u processes, seed %llu\n", loaded.space.name.c_str(),
              key(problem).c_str(), device.name.c_str(), device.architecture.c_str(),
              options.dry_run ? ", dry run" : "", options.processes,
              static_cast<unsigned long long>(options.seed));
  std::printf("  %-12s  %8s  %8s  %8s  %9s  %6s\n", "", "per s", "seconds", "first", "CPU s each",
              "cores");
  std::vector<double> ratios;
  std::vector<double> cpu_ratios;
  std::vector<Work> work;
  for (int round = 0; round < options.rounds; ++round) {
    std::optional<Took> raw;
    if (round % 2 == 1) raw = compile_only(work, options.processes);
    work.clear();
    const Took ours = run_smemtune(options, key(problem), requests, work);
    if (!raw) raw = compile_only(work, options.processes);
    print("compile only", *raw);
    print("smemtune", ours);
    std::fflush(stdout);
    ratios.push_back(ours.per_s() / raw->per_s());
    cpu_ratios.push_back(raw->cpu_s / static_cast<double>(raw->configurations) /
                         (ours.cpu_s / static_cast<double>(ours.configurations)));
  }
  std::printf("  %zu configurations: smemtune / compile only %.3f in rate, %.3f in CPU time%s\n",
              work.size(), quantile(ratios, 0.5), quantile(cpu_ratios, 0.5),
              options.rounds > 1 ? ", medians of the rounds" : "");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("The rate of smemtune against that of processes that only compile", "smemtune_farm");
  app.add_option("--space", options.space, "Search space, a JSON file")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--problem", options.problem, "Problem, as NAME=VALUE,... [the file's first]");
  app.add_option("--kernel", options.kernels, "Only this kernel; may be repeated [all]");
  app.add_option("--device", options.device, "As smemtune has it [the first GPU; dry run: h200]");
  app.add_option("--smemtune", options.smemtune, "The program to measure")
      ->check(CLI::ExistingFile)
      ->capture_default_str();
  app.add_option("--processes", options.processes, "That compile, on either side")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--max-evaluations", options.max_evaluations, "Configurations [all]");
  app.add_option("--seed", options.seed, "Of smemtune's order")->capture_default_str();
  app.add_option("--rounds", options.rounds, "Times that both are run, in turns the first")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--keep", options.keep,
                 "Folder for the last round's database and output (farm.sqlite, farm.txt) [none]");
  app.add_flag("--dry-run", options.dry_run, "smemtune --dry-run: compiles, needs no GPU");
  CLI11_PARSE(app, argc, argv);
  try {
    run(std::move(options));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "smemtune_farm: %s\n", error.what());
    return 1;
  }
}
