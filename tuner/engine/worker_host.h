#pragma once

#include "tuner/core/kernel_template.h"
#include "tuner/engine/module.h"
#include "tuner/engine/running_clock.h"
#include "tuner/engine/wire.h"
#include "tuner/engine/worker_process.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// A worker process that a host is to start.
struct WorkerStart {
  std::vector<std::string> words;   ///< argv; [0] is the executable's path on that host.
  std::uint64_t address_space = 0;  ///< Bytes; 0: no limit.
  double hello_timeout_s = 60;
  /// Whether it is given a moment to end by itself, as one that holds memory of a GPU.
  bool ends_in_order = false;
  /// What must be locked on that host while the link to it lives, for as long as it takes: a
  /// device's lock_name(). Empty: nothing.
  std::string lock = {};

  bool operator==(const WorkerStart&) const = default;
};

/// What a host tells of its workers and itself.
struct HostEvent {
  enum class Kind {
    message,  ///< `frame` is a worker's.
    ended,    ///< A worker has ended, `death` says how.
    note,     ///< `text` is for people.
    down,     ///< The host and all its workers are lost; `text` says why. It is tried again.
    up,       ///< It is there again, without workers.
  };
  Kind kind = Kind::message;
  std::uint32_t worker = 0;
  Frame frame = {};
  WorkerDeath death = {};
  std::string text = {};
};

/// Where worker processes run: starts and ends them, carries what they and the parent say to each
/// other, and kills those whose answer is overdue: time during which this process was stopped does
/// not count (RunningClock). Workers have numbers that are never used twice.
/// Nothing here waits, but for a process to end that was killed.
class WorkerHost {
 public:
  using Clock = RunningClock;

  WorkerHost() = default;
  WorkerHost(const WorkerHost&) = delete;
  WorkerHost& operator=(const WorkerHost&) = delete;
  virtual ~WorkerHost() = default;

  /// Whether workers can be started now.
  virtual bool is_up() const { return true; }

  /// Whether it was tried so often in vain that nobody need wait for it.
  virtual bool is_given_up() const { return false; }

  /// Throws UnavailableError when that is known at once; else `ended` tells of it.
  virtual void start(std::uint32_t worker, const WorkerStart& start) = 0;

  /// To the worker `frame.worker`, if it is there, once it has answered what it was sent before;
  /// its next message but a phase ends the deadline. `modules`: those of which the request needs
  /// the images.
  virtual void send(const Frame& frame, std::span<const Module> modules) = 0;

  /// A worker of this host has compiled it: its image is there.
  virtual void has_compiled(const Module&) {}

  /// Sees to it that workers can read the file, before they are sent anything else.
  virtual void provide(const DataFile&) {}

  /// Kills the worker; `ended` tells of it, with this cause and message.
  virtual void end(std::uint32_t worker, WorkerDeath::Cause cause, const std::string& message) = 0;

  /// Asks all workers to end, and does not wait for it: the destructor does.
  virtual void hang_up() {}

  /// Adds what is to be polled. Between this and take() nothing else is asked for.
  virtual void add_polled(std::vector<pollfd>& polled) const = 0;

  /// Until when polling may wait at most.
  virtual Clock::time_point wake_at() const = 0;

  /// Takes what has come. `polled`: what was added, polled.
  virtual void take(std::span<const pollfd> polled, std::vector<HostEvent>& events) = 0;

  /// Whether a message takes so long that a worker is better sent its next request while it is at
  /// one.
  virtual bool is_far() const { return false; }

  /// -1 where the worker is not a process of this machine.
  virtual pid_t process_id(std::uint32_t worker) const = 0;
};

/// This machine.
class LocalHost final : public WorkerHost {
 public:
  ~LocalHost() override;

  void start(std::uint32_t worker, const WorkerStart& start) override;
  void send(const Frame& frame, std::span<const Module> modules) override;
  void end(std::uint32_t worker, WorkerDeath::Cause cause, const std::string& message) override;
  void add_polled(std::vector<pollfd>& polled) const override;
  Clock::time_point wake_at() const override;
  void take(std::span<const pollfd> polled, std::vector<HostEvent>& events) override;
  pid_t process_id(std::uint32_t worker) const override;

 private:
  struct Request {
    Frame frame;
    std::vector<Module> modules;
  };
  struct Worker {
    std::unique_ptr<WorkerProcess> process;
    std::optional<Clock::time_point> deadline;  ///< Of the greeting or the answer.
    Phase phase = {};                           ///< What it does, as it said last.
    bool is_busy = false;
    bool ends_in_order = false;
    std::deque<Request> waiting = {};  ///< For it to answer.
  };

  static void ask(Worker& worker, const Request& request);
  void read(std::uint32_t number, Worker& worker, std::vector<HostEvent>& events);

  std::map<std::uint32_t, Worker> workers_;
  std::vector<HostEvent> ended_;  ///< Told by the next take().
};

/// So many seconds from now, at most a day.
WorkerHost::Clock::time_point in_seconds(double s);

/// Polls until then. Where nothing has come, no descriptor has events. Throws UnavailableError.
void poll_until(std::vector<pollfd>& polled, WorkerHost::Clock::time_point until);

/// What each of the hosts has to tell, of which the first may come until then.
std::vector<std::vector<HostEvent>> take_from(const std::vector<WorkerHost*>& hosts,
                                              WorkerHost::Clock::time_point until);

}  // namespace smemtune
