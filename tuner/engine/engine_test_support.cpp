#include "tuner/engine/engine_test_support.h"

#include "tuner/core/device.h"
#include "tuner/core/ranking.h"
#include "tuner/engine/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace smemtune::test {

namespace {

ExpressionText text(const std::string& expression) { return {expression, "/test"}; }

ArgumentTemplate buffer(const std::string& name, Role role) {
  ArgumentTemplate argument;
  argument.name = name;
  argument.type = "float";
  argument.role = role;
  argument.shape = {text("N")};
  if (role == Role::input)
    argument.init = {.kind = Init::Kind::uniform, .a = -1, .b = 1, .file = {}};
  return argument;
}

ArgumentTemplate scalar(const std::string& name, const std::string& value) {
  ArgumentTemplate argument;
  argument.name = name;
  argument.type = "int";
  argument.value = text(value);
  return argument;
}

Parameter parameter(const std::string& name, const std::vector<std::int64_t>& values) {
  Parameter made = {.name = name, .values = {}};
  for (const std::int64_t value : values) made.values.emplace_back(value);
  return made;
}

KernelTemplate make_kernel(const std::string& name, std::vector<Parameter> parameters) {
  KernelTemplate kernel;
  kernel.name = name;
  kernel.source = name + ".cu";
  kernel.parameters = std::move(parameters);
  LaunchTemplate launch;
  launch.entry_name = name;
  launch.entry = name + "<";
  for (const Parameter& tunable : kernel.parameters) {
    kernel.default_configuration[tunable.name] = tunable.values.front();
    launch.template_arguments.push_back(text(tunable.name));
    launch.entry += tunable.name + ",";
  }
  launch.entry.back() = '>';
  launch.block = {text("64")};
  launch.grid = {text("ceil_div(N, 64)")};
  kernel.launches = {launch};
  kernel.arguments = {buffer("in", Role::input), buffer("out", Role::output), scalar("n", "N")};
  kernel.metrics = {{"bytes", text("8 * N")}};
  kernel.where = "/kernels/" + name;
  return kernel;
}

}  // namespace

std::string executable() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

WorkerCommand fake_workers(int compile_workers) {
  return {.compile = {executable(), kCompileWord},
          .devices = {{executable(), kDeviceWord}},
          .compile_workers = compile_workers};
}

void add_units(WorkerCommand& workers, int units) {
  for (int unit = 1; unit < units; ++unit) {
    workers.devices.push_back({executable(), kDeviceWord, std::to_string(unit)});
  }
}

FakeSpace::FakeSpace() {
  space.file = "fake.json";
  space.name = "fake";
  space.problems = {{{"N", std::int64_t{1000}}}};
  space.verify.reference = "naive";
  space.kernels = {
      make_kernel("naive", {parameter("BLOCK", {64})}),
      make_kernel("tiled", {parameter("TILE", {1, 2, 4, 8, 16}), parameter("ITEMS", {1, 2, 4})})};
  sources["naive"].files = {{"naive.cu", "kernel naive(BLOCK)\ntime_ns 9000\n"}};
  sources["tiled"].files = {
      {"tiled.cu",
       "kernel tiled(TILE, ITEMS)\ntime_ns 2000 + 100 * abs(TILE - 8) + 50 * abs(ITEMS - 2)\n"}};
  for (const char* name : {"naive", "tiled"}) add(name, "computes out[i] = in[i] + 1");
}

void FakeSpace::add(const std::string& kernel, const std::string& line) {
  sources.at(kernel).files.front().text += line + "\n";
}

KernelTemplate& FakeSpace::kernel(const std::string& name) {
  return *std::ranges::find(space.kernels, name, &KernelTemplate::name);
}

void FakeSpace::give_items(std::int64_t last) {
  for (Parameter& tunable : kernel("tiled").parameters) {
    if (tunable.name != "ITEMS") continue;
    tunable.values.clear();
    for (std::int64_t i = 1; i <= last; ++i) tunable.values.emplace_back(i);
  }
}

void MemoryLog::begin_attempt(const ResultKey& of) {
  if (of.kernel_hash.size() != 64) throw std::logic_error("no kernel hash");
  if (!in_transaction_) ++commits;
  const bool was_measured = std::ranges::any_of(records, [&](const Result& known) {
    return known.kernel == of.kernel && known.configuration == of.configuration && known.timed();
  });
  (was_measured ? finals : attempts).push_back({of.kernel, of.configuration});
  open.push_back({of.kernel, of.configuration});
}

void MemoryLog::record(const std::string& kernel_hash, const Result& result) {
  if (kernel_hash.size() != 64) throw std::logic_error("no kernel hash");
  if (!in_transaction_) ++commits;
  records.push_back(result);
  std::erase(lost, Attempt{result.kernel, result.configuration});
  std::erase(open, Attempt{result.kernel, result.configuration});
}

int MemoryLog::lost_attempts(const ResultKey& of) {
  return static_cast<int>(std::ranges::count(lost, Attempt{of.kernel, of.configuration}));
}

void MemoryLog::close_attempts(const ResultKey& of) {
  if (!in_transaction_) ++commits;
  std::erase(open, Attempt{of.kernel, of.configuration});
  std::erase(lost, Attempt{of.kernel, of.configuration});
}

void MemoryLog::in_transaction(const std::function<void()>& writes) {
  ++commits;
  in_transaction_ = true;
  writes();
  in_transaction_ = false;
}

std::optional<Result> MemoryLog::find(const ResultKey& of) {
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (record->kernel == of.kernel && record->problem == of.problem &&
        record->configuration == of.configuration) {
      return *record;
    }
  }
  return std::nullopt;
}

std::vector<Configuration> MemoryLog::known(const ResultKey& of) {
  std::vector<Configuration> known;
  for (const Result& record : records) {
    if (record.kernel != of.kernel || record.problem != of.problem) continue;
    if (std::ranges::find(known, record.configuration) == known.end()) {
      known.push_back(record.configuration);
    }
  }
  return known;
}

Bests MemoryLog::bests(const Problem& problem, const std::map<std::string, std::string>& hashes) {
  std::vector<RunResult> results;
  for (const Result& record : records) {
    const bool is_asked = record.problem == problem && hashes.contains(record.kernel);
    if (is_asked) results.push_back({&record});
  }
  Bests bests;
  for (const Result* best : best_of_each_kernel(results)) bests.kernels.push_back(*best);
  if (bests.kernels.empty() || !bests.kernels.front().chosen) return bests;
  for (const RunResult& one : results) {
    const Result* newest = last(one.result->kernel, key(one.result->configuration));
    if (one.result->tied && newest == one.result) bests.tied.push_back(*one.result);
  }
  std::ranges::stable_sort(bests.tied, {},
                           [](const Result& tied) { return tied.measurement.median_ms; });
  return bests;
}

const Result* MemoryLog::last(const std::string& kernel, const std::string& configuration) const {
  const Configuration wanted = parse_key(configuration);
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (record->kernel == kernel && record->configuration == wanted) return &*record;
  }
  return nullptr;
}

FakeRun::FakeRun(const FakeSpace& fake_space) : fake(fake_space) {
  request.space = &fake.space;
  for (const KernelTemplate& kernel : fake.space.kernels) request.kernels.push_back(&kernel);
  request.sources = fake.sources;
  request.problems = fake.space.problems;
  // The loop's promises hold for every strategy, and simulated times differ between runs.
  request.options.strategy = "random";
  observer.note = [this](const std::string& note) { notes.push_back(note); };
}

TuningSummary FakeRun::run() {
  if (!pool) pool = std::make_shared<WorkerPool>(workers);
  return tune(request, *pool, *log, observer, stop);
}

TuningSummary FakeRun::run_dry() {
  workers.devices.clear();
  if (!pool) pool = std::make_shared<WorkerPool>(workers);
  Device device = h200_limits();
  device.name = "elsewhere";
  return dry_run(request, device, *pool, observer, stop);
}

const Result& result_of(const ProblemSummary& summary, const std::string& kernel,
                        const std::string& configuration) {
  const Configuration wanted = parse_key(configuration);
  for (const Result& result : summary.results) {
    if (result.kernel == kernel && result.configuration == wanted) return result;
  }
  throw std::out_of_range("no result for " + kernel + " " + configuration);
}

FakeFolder::FakeFolder() { setenv("SMEMTUNE_FAKE_FOLDER", path().c_str(), 1); }

FakeFolder::~FakeFolder() { unsetenv("SMEMTUNE_FAKE_FOLDER"); }

void FakeFolder::let_happen() const { write("happened", ""); }

bool is_alive(int process_id) {
  std::ifstream stat("/proc/" + std::to_string(process_id) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return false;
  // The state follows the name, which is in parentheses and may hold anything.
  const auto end = line.rfind(") ");
  return end != std::string::npos && line[end + 2] != 'Z' && line[end + 2] != 'X';
}

bool eventually(const std::function<bool()>& holds) {
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > give_up_at) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace smemtune::test
