#pragma once

#include "tuner/engine/messages.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/engine/worker_process.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace smemtune {

/// Numbers what workers were asked for; never used twice in a pool.
using Ticket = std::uint64_t;

/// What came of something that workers were asked for.
struct WorkerEvent {
  enum class Kind {
    compiled,     ///< `compiled` holds a module, or why there is none, of each request.
    replied,      ///< `reply` is the device worker's.
    device_lost,  ///< The device worker has ended before it replied; `death` says how.
  };
  Kind kind = Kind::compiled;
  Ticket ticket = 0;
  CompiledTogether compiled = {};
  bool compiler_lost = false;  ///< `compiled` says how its worker ended.
  Frame reply = {};
  WorkerDeath death = {};
};

/// Compile workers, and a device worker. Ended ones are started again at once, and what they were
/// compiling becomes a failure (or is tried again, once, when something else has killed them).
/// Nothing here waits but the constructor and wait(). Belongs to one thread.
class WorkerPool {
 public:
  /// Throws UnavailableError when workers cannot start.
  explicit WorkerPool(WorkerCommand command);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  const DeviceGreeting& greeting() const { return greeting_; }
  bool has_device() const { return !command_.device.empty(); }

  /// Compile workers that could take a request now.
  std::size_t idle_compilers() const;

  /// In one go. REQUIRES: idle_compilers() > 0, and requests of one program.
  Ticket compile(CompileBatch batch);

  std::size_t compilers() const;

  /// Whether the device worker has greeted and is not answering a request.
  bool device_is_idle() const;

  /// Counts the device workers started so far: what was prepared or kept on an earlier one is gone.
  std::uint64_t device_generation() const { return device_generation_; }

  /// REQUIRES: device_is_idle().
  Ticket ask_device(MessageType type, std::vector<std::uint8_t> payload, double deadline_s);

  /// Ends the device worker and starts another.
  void restart_device();

  /// Waits until something has come of a request, at most so long. Throws UnavailableError when a
  /// worker cannot be replaced or says that the machine is broken, InputError when it says that
  /// what the user gave is wrong.
  std::vector<WorkerEvent> wait(double timeout_s);

  /// Workers that ended before they were told to.
  std::uint64_t deaths() const { return deaths_; }

  /// For tests and messages: the process of the device worker, then those of the compile workers.
  std::vector<pid_t> process_ids() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Worker {
    bool is_device = false;
    std::unique_ptr<WorkerProcess> process = nullptr;
    bool greeted = false;
    std::optional<Ticket> ticket = std::nullopt;  ///< What it is asked for.
    Clock::time_point deadline = {};              ///< Of the greeting or the reply.
    CompileBatch batch = {};                      ///< What is compiled, to try it again.
    int attempts = 0;
    Phase phase = {};
    std::optional<Broken> broken = std::nullopt;
  };

  void start(Worker& worker);
  void send_compile(Worker& worker);
  void collect(Worker& worker, std::vector<WorkerEvent>& events);
  void take(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events);
  void greet(Worker& worker, const Frame& frame);
  void reply(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events);
  void lose(Worker& worker, WorkerDeath::Cause cause, const std::string& message,
            std::vector<WorkerEvent>& events);
  void lose_compiler(Worker& worker, const WorkerDeath& death, std::vector<WorkerEvent>& events);
  void enforce_deadlines(std::vector<WorkerEvent>& events);
  int poll_timeout_ms(double timeout_s) const;

  WorkerCommand command_;
  DeviceGreeting greeting_;
  std::vector<Worker> workers_;  ///< The device worker first, where there is one.
  Ticket last_ticket_ = 0;
  std::uint64_t device_generation_ = 0;
  std::uint64_t deaths_ = 0;
  int failed_starts_ = 0;  ///< One after another.
};

}  // namespace smemtune
