// Measures how many GPUs one smemtune keeps busy: the real parent (search, race, compile queue,
// worker pool, database) and the real frames, with hosts that are processes of this program and
// answer for all of their workers as if they had compiled and measured.
//
//   smemtune_simulate --gpus 256 --cores 2500 --db /tmp/sim.sqlite
//
// The space is that of configs/add_one.json, with enough values for all GPUs.
//
// A measurement takes 0.5 s on average and a compile 2 s, or the times in the file of --times:
// lines with the milliseconds of a compile and of a measurement, recorded elsewhere. The ideal rate
// is that of GPUs that never wait. The parent's own processor time per result shows where it
// reaches its limit.

#include "db/result_store.h"
#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/core/result_log.h"
#include "tuner/engine/frame_link.h"
#include "tuner/engine/remote_host.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/engine/worker_pool.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <poll.h>
#include <queue>
#include <random>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace smemtune;  // NOLINT(google-build-using-namespace): a program, not a library.
using Clock = WorkerHost::Clock;

constexpr const char* kVersion = "simulated";
constexpr const char* kFarWord = "__far";
// Share of the time that the finals leave to the search.
constexpr double kSearchShare = 0.8;

struct Options {
  std::filesystem::path space = "configs/add_one.json";
  std::filesystem::path times;
  std::filesystem::path database;  ///< Empty if nothing is stored.
  std::string strategy = "random";
  int gpus = 256;
  int cores = 2500;
  int gpus_per_host = 8;
  int hosts = 0;
  std::string carrier;
  int module_kb = 32;
  double seconds = 30;
};

struct Times {
  double compile_ms = 2000;
  double measure_ms = 500;
};

std::vector<Times> read_times(const std::filesystem::path& file) {
  std::vector<Times> times;
  std::ifstream stream(file);
  for (Times line; stream >> line.compile_ms >> line.measure_ms;) times.push_back(line);
  if (times.empty()) times.emplace_back();
  return times;
}

Device simulated_gpu(const std::string& uuid) {
  Device device = h200_limits();
  device.uuid = uuid;
  return device;
}

/// A host whose workers are entries in a queue of answers.
class FarHost {
 public:
  FarHost(std::vector<Times> times, int module_kb)
      : times_(std::move(times)), image_(static_cast<std::size_t>(module_kb) * 1024) {
    // On a link it compresses to about a third of its bytes, as machine code does.
    std::mt19937 random(1);
    for (std::size_t i = 0; i < image_.size(); i += 3) {
      image_[i] = static_cast<std::uint8_t>(random());
    }
  }

  int serve() {
    const std::string line = host_line(kVersion) + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return 1;
    FrameLink link(STDIN_FILENO, STDOUT_FILENO, 8);
    for (;;) {
      const auto until = answers_.empty() ? in_seconds(2) : answers_.top().at;
      std::vector<pollfd> polled = {
          {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
          {.fd = link.wants_to_write() ? STDOUT_FILENO : -1, .events = POLLOUT, .revents = 0}};
      poll_until(polled, until);
      if (polled[1].revents != 0) link.write();
      std::vector<Frame> frames;
      if (polled[0].revents != 0 && !link.read(frames)) return 0;
      for (const Frame& frame : frames) answer(frame);
      while (!answers_.empty() && answers_.top().at <= Clock::now()) {
        link.send(answers_.top().frame);
        answers_.pop();
      }
    }
  }

 private:
  struct Answer {
    Clock::time_point at;
    Frame frame;
    bool operator<(const Answer& other) const { return at > other.at; }
  };

  /// Queues a reply, due `after_ms` after its worker has finished its earlier requests.
  template <typename Message>
  void reply(const Frame& to, MessageType type, const Message& message, double after_ms) {
    Clock::time_point& free_at = free_at_[to.worker];
    free_at =
        std::max(free_at, Clock::now()) + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double, std::milli>(after_ms));
    answers_.push({.at = free_at,
                   .frame = {.type = type,
                             .sequence = to.sequence,
                             .payload = pack(message),
                             .worker = to.worker}});
  }

  const Times& next_times() { return times_[next_++ % times_.size()]; }

  void answer(const Frame& frame) {
    switch (frame.type) {
      case MessageType::welcome: {
        HostHello hello;
        hello.cores = 1;
        reply(frame, MessageType::host_hello, hello, 0);
        return;
      }
      case MessageType::start_worker: {
        const auto start = unpack<WorkerStart>(frame.payload);
        if (start.words.size() > 1) {
          reply(frame, MessageType::hello, simulated_gpu(start.words[1]), 0);
        } else {
          reply(frame, MessageType::hello, CompilerHello{"simulated 1", std::string(64, '0')}, 0);
        }
        return;
      }
      case MessageType::compile:
        compile(frame);
        return;
      case MessageType::prepare:
        reply(frame, MessageType::prepared, PrepareReply{}, 0);
        return;
      case MessageType::evaluate:
        evaluate(frame);
        return;
      case MessageType::sample_round:
        sample(frame);
        return;
      default:
        return;
    }
  }

  void compile(const Frame& frame) {
    CompileReply compiled;
    double after_ms = 0;
    for (const CompileRequest& request : unpack<CompileBatch>(frame.payload)) {
      CompiledKernel module;
      for (const std::string& name : request.name_expressions) {
        CompiledEntry entry = {.name_expression = name,
                               .lowered_name = name,
                               .resources = {},
                               .code_sha256 = std::to_string(std::hash<std::string>{}(name))};
        entry.resources.registers_per_thread = 32;
        module.entries.push_back(std::move(entry));
      }
      for (const std::string& name : request.symbol_expressions) {
        module.symbols.push_back({.name_expression = name, .lowered_name = name});
      }
      module.image = image_;
      module.compile_ms = next_times().compile_ms;
      after_ms += module.compile_ms;
      compiled.answers.push_back({.module = static_cast<std::int32_t>(compiled.modules.size())});
      compiled.modules.push_back(std::move(module));
    }
    reply(frame, MessageType::compiled, compiled, after_ms);
  }

  void evaluate(const Frame& frame) {
    const auto request = unpack<EvaluateRequest>(frame.payload);
    const Part& part = request.job.parts.front();
    const std::string& name = part.launches.front().name_expression;
    const auto number = static_cast<double>(std::hash<std::string>{}(name) % 1000);
    EvaluateReply evaluated;
    evaluated.loaded.launches.resize(part.launches.size());
    for (LoadedKernel::Launch& launch : evaluated.loaded.launches) launch.blocks_per_sm = -1;
    evaluated.verify_ms = 1;
    const double time_ms = 1 + 1e-3 * number;
    if (request.screen_samples > 0) {
      evaluated.time.samples_ms.assign(static_cast<std::size_t>(request.screen_samples), time_ms);
    }
    const bool is_measured = request.screen_samples > 0;
    reply(frame, MessageType::evaluated, evaluated, is_measured ? next_times().measure_ms : 1);
  }

  void sample(const Frame& frame) {
    SampleRoundReply sampled;
    for (const RoundEntry& entry : unpack<SampleRoundRequest>(frame.payload)) {
      RoundSample sample;
      sample.time_ms = 1 + 0.1 * entry.slot;
      sampled.push_back(sample);
    }
    reply(frame, MessageType::sampled, sampled, 1);
  }

  std::vector<Times> times_;
  std::vector<std::uint8_t> image_;
  /// Time at which each worker has finished its requests.
  std::map<std::uint32_t, Clock::time_point> free_at_;
  std::size_t next_ = static_cast<std::size_t>(getpid());
  std::priority_queue<Answer> answers_;
};

/// A log that stores nothing.
class NoDatabase final : public ResultLog {
 public:
  void begin_attempt(const ResultKey&) override {}
  void record(const std::string&, const Result&) override {}
  int lost_attempts(const ResultKey&) override { return 0; }
  void close_attempts(const ResultKey&) override {}
  void in_transaction(const std::function<void()>& writes) override { writes(); }
  std::optional<Result> find(const ResultKey&) override { return std::nullopt; }
  std::vector<Configuration> known(const ResultKey&) override { return {}; }
  Bests bests(const Problem&, const std::map<std::string, std::string>&) override { return {}; }
};

std::shared_ptr<RemoteHost> far_host(const Options& options, const std::string& name) {
  std::vector<std::string> words;
  std::istringstream carrier(options.carrier);
  for (std::string word; carrier >> word;) {
    const std::size_t place = word.find('%');
    if (place != std::string::npos) word.replace(place, 1, name);
    words.push_back(word);
  }
  for (const std::string& word :
       {std::filesystem::read_symlink("/proc/self/exe").string(), std::string(kFarWord),
        options.times.empty() ? "" : std::filesystem::absolute(options.times).string(),
        std::to_string(options.module_kb)}) {
    words.push_back(word);
  }
  return std::make_shared<RemoteHost>(
      HostAddress{.name = name,
                  .carrier = std::move(words),
                  .version = kVersion,
                  .welcome = {.name = name, .limits_of = "", .purpose = "", .waits = true}});
}

WorkerCommand workers(const Options& options) {
  WorkerCommand command;
  command.compile = {"compile"};
  const int needed = (options.gpus + options.gpus_per_host - 1) / options.gpus_per_host;
  const int hosts = std::max(options.hosts, needed);
  for (int i = 0; i < hosts; ++i) {
    const std::string name = "node" + std::to_string(i + 1);
    const auto host = far_host(options, name);
    while (!host->is_up()) {
      std::vector<pollfd> polled;
      std::vector<HostEvent> events;
      host->add_polled(polled);
      poll(polled.data(), polled.size(), 100);
      host->take(polled, events);
    }
    command.hosts.push_back(
        {.name = name, .host = host, .compile_workers = std::max(1, options.cores / hosts)});
    for (int gpu = 0; gpu < options.gpus_per_host; ++gpu) {
      if (static_cast<int>(command.devices.size()) == options.gpus) break;
      const std::string uuid = "GPU-" + std::to_string(command.devices.size());
      command.devices.push_back({"device", uuid});
      command.known_devices.push_back(simulated_gpu(uuid));
      command.device_hosts.push_back(static_cast<std::size_t>(i));
    }
  }
  return command;
}

double cpu_s() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Results told while all devices had work: from the first results to the end of the search.
struct Rate {
  std::vector<double> told_s;
  double cpu_begin_s = 0;
  double cpu_end_s = 0;
};

/// Gives the space 98,304 configurations, one module each.
void give_values(Space& space) {
  space.verify.also.clear();
  for (Parameter& parameter : space.kernels.front().parameters) {
    if (parameter.name == "VEC") continue;
    parameter.values.clear();
    const bool is_threads = parameter.name == "THREADS";
    for (std::int64_t i = 1; i <= (is_threads ? 32 : 1024); ++i) {
      parameter.values.emplace_back(is_threads ? 32 * i : i);
    }
  }
}

void simulate(const Options& options) {
  LoadedSpace loaded = load_space(
      options.space, std::filesystem::absolute(options.space).parent_path().parent_path());
  give_values(loaded.space);
  TuningRequest request;
  request.space = &loaded.space;
  request.kernels = {&loaded.space.kernels.front()};
  request.sources = loaded.sources;
  request.problems = {loaded.space.problems.front()};
  request.options.strategy = options.strategy;
  request.options.early_loss = false;
  request.options.budget.max_seconds = options.seconds;

  WorkerPool pool(workers(options));
  std::unique_ptr<db::ResultStore> store;
  std::shared_ptr<ResultLog> log = std::make_shared<NoDatabase>();
  if (!options.database.empty()) {
    Run run;
    run.id = std::string(32, '1');
    run.space = loaded.space.name;
    run.space_sha256 = loaded.sha256;
    run.space_json = loaded.text;
    run.device = pool.greeting().devices.front();
    run.compiler = pool.greeting().compiler;
    run.tool_version = kVersion;
    run.host = "simulated";
    run.strategy = options.strategy;
    store = std::make_unique<db::ResultStore>(options.database);
    log = store->begin_run(run);
  }
  Rate rate;
  const Clock::time_point begin = Clock::now();
  Observer observer;
  observer.note = [](const std::string& note) { std::fprintf(stderr, "%s\n", note.c_str()); };
  observer.result = [&](const Result& result, bool) {
    if (!result.timed() || result.stage != Stage::screen) return;
    const double told_s = std::chrono::duration<double>(Clock::now() - begin).count();
    // Results told later were begun before this time, and no new work replaces them.
    if (told_s > kSearchShare * options.seconds) return;
    rate.told_s.push_back(told_s);
    // Every device has begun with its second configuration by now.
    if (rate.told_s.size() == static_cast<std::size_t>(2 * options.gpus)) {
      rate.cpu_begin_s = cpu_s();
    }
    rate.cpu_end_s = cpu_s();
  };
  const std::atomic<bool> stop = false;
  tune(request, pool, *log, observer, stop);

  const auto skipped = static_cast<std::size_t>(2 * options.gpus);
  if (rate.told_s.size() < 2 * skipped) {
    std::printf("too few results: %zu; run it for longer\n", rate.told_s.size());
    return;
  }
  const double from_s = rate.told_s[skipped - 1];
  const double last_s = rate.told_s.back();
  const auto results = static_cast<double>(rate.told_s.size() - skipped);
  double mean_ms = 0;
  const std::vector<Times> times = read_times(options.times);
  for (const Times& line : times) mean_ms += line.measure_ms / static_cast<double>(times.size());
  const double ideal = options.gpus / (1e-3 * mean_ms);
  const double got = results / (last_s - from_s);
  std::printf(
      "%4d GPUs, %5d cores: %.0f results in %.1f s, %.1f/s of %.1f/s: %.3f; parent %.3f ms "
      "of a core for a result, %.2f cores\n",
      options.gpus, options.cores, results, last_s - from_s, got, ideal, got / ideal,
      1e3 * (rate.cpu_end_s - rate.cpu_begin_s) / results,
      (rate.cpu_end_s - rate.cpu_begin_s) / (last_s - from_s));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == kFarWord) {
    return FarHost(read_times(argv[2]), std::stoi(argv[3])).serve();
  }
  Options options;
  CLI::App app("Tunes over simulated hosts, and says how busy the parent keeps them.");
  app.add_option("--space", options.space, "configs/add_one.json")->capture_default_str();
  app.add_option("--times", options.times, "Lines with compile_ms and measure_ms");
  app.add_option("--db", options.database, "Store the results here");
  app.add_option("--strategy", options.strategy, "Order of the search")->capture_default_str();
  app.add_option("--gpus", options.gpus, "GPUs of all hosts")->capture_default_str();
  app.add_option("--cores", options.cores, "Compile workers of all hosts")->capture_default_str();
  app.add_option("--gpus-per-host", options.gpus_per_host, "GPUs of a host")->capture_default_str();
  app.add_option("--hosts", options.hosts, "Hosts, where they are more than the GPUs need");
  app.add_option("--carrier", options.carrier,
                 "What starts a host and carries its messages; % is its name, node1 and so on");
  app.add_option("--module-kb", options.module_kb, "Size of a module")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Length of the run")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    simulate(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "smemtune_simulate: %s\n", error.what());
    return 1;
  }
}
