#pragma once

#include "tuner/core/kernel_template.h"
#include "tuner/engine/module.h"
#include "tuner/engine/running_clock.h"
#include "tuner/engine/wire.h"
#include "tuner/engine/worker_process.h"

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
  std::vector<std::string> words;   ///< Command line; [0] is the executable's path on that host.
  std::uint64_t address_space = 0;  ///< Bytes; 0: no limit.
  double hello_timeout_s = 60;
  /// True if it is given a moment to end by itself, because it holds memory of a GPU.
  bool ends_in_order = false;
  /// A device's lock_name(), to be locked on that host for as long as the link to it lives, however
  /// long getting the lock takes. Empty: nothing.
  std::string lock = {};

  bool operator==(const WorkerStart&) const = default;
};

/// An event of a host or of one of its workers.
struct HostEvent {
  enum class Kind {
    message,  ///< A worker has sent `frame`.
    ended,    ///< A worker has ended, as `death` says.
    note,     ///< `text` is for people.
    down,     ///< The host and all its workers are lost; `text` says why. It is called again.
    up,       ///< It is there again, without workers.
  };
  Kind kind = Kind::message;
  std::uint32_t worker = 0;
  Frame frame = {};
  WorkerDeath death = {};
  std::string text = {};
};

/// A machine where worker processes run: starts and ends them, carries messages between them and
/// the parent, and kills those whose answer is overdue; time during which this process was stopped
/// does not count (RunningClock). Worker numbers are never reused. Nothing here waits, except for
/// the end of a process that was killed.
class WorkerHost {
 public:
  using Clock = RunningClock;

  WorkerHost() = default;
  WorkerHost(const WorkerHost&) = delete;
  WorkerHost& operator=(const WorkerHost&) = delete;
  virtual ~WorkerHost() = default;

  /// Whether workers can be started now.
  virtual bool is_up() const { return true; }

  /// Whether so many calls have failed that nothing should wait for the host.
  virtual bool is_given_up() const { return false; }

  /// Starts a worker. Throws UnavailableError when a failure is known at once; otherwise `ended`
  /// reports it.
  virtual void start(std::uint32_t worker, const WorkerStart& start) = 0;

  /// Sends a request to the worker `frame.worker`, if it exists, once it has answered the earlier
  /// ones; its next message other than a phase ends the deadline. `modules`: those whose images the
  /// request needs.
  virtual void send(const Frame& frame, std::span<const Module> modules) = 0;

  /// Notes that a worker of this host has compiled the module, so that its image is there.
  virtual void has_compiled(const Module&) {}

  /// Makes the file readable for workers before they are sent anything else.
  virtual void provide(const DataFile&) {}

  /// Kills the worker; `ended` reports it, with this cause and message.
  virtual void end(std::uint32_t worker, WorkerDeath::Cause cause, const std::string& message) = 0;

  /// Asks all workers to end without waiting for it: the destructor waits.
  virtual void hang_up() {}

  /// Adds the descriptors to poll. Nothing else may be called between this and take().
  virtual void add_polled(std::vector<pollfd>& polled) const = 0;

  /// Time until which polling may wait at most.
  virtual Clock::time_point wake_at() const = 0;

  /// Takes the events that have arrived. `polled`: the added descriptors, polled.
  virtual void take(std::span<const pollfd> polled, std::vector<HostEvent>& events) = 0;

  /// Whether messages take so long that a worker should be sent its next request while it works on
  /// one.
  virtual bool is_far() const { return false; }

  /// Returns -1 when the worker is not a process of this machine.
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
    std::optional<Clock::time_point> deadline;  ///< For the greeting or the answer.
    Phase phase = {};                           ///< Its last reported phase.
    bool is_busy = false;
    bool ends_in_order = false;
    std::deque<Request> waiting = {};  ///< Requests that it has not been sent yet.
  };

  static void ask(Worker& worker, const Request& request);
  void read(std::uint32_t number, Worker& worker, std::vector<HostEvent>& events);

  std::map<std::uint32_t, Worker> workers_;
  std::vector<HostEvent> ended_;  ///< Reported by the next take().
};

/// Returns the time `s` seconds from now, at most a day.
WorkerHost::Clock::time_point in_seconds(double s);

/// Polls until then. If nothing has arrived, no descriptor has events. Throws UnavailableError.
void poll_until(std::vector<pollfd>& polled, WorkerHost::Clock::time_point until);

/// Returns the events of each host; waits for the first one until then.
std::vector<std::vector<HostEvent>> take_from(const std::vector<WorkerHost*>& hosts,
                                              WorkerHost::Clock::time_point until);

}  // namespace smemtune
