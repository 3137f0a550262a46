#pragma once

#include "tuner/engine/messages.h"
#include "tuner/engine/worker_host.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Identifies a request to the workers; never reused in a pool.
using Ticket = std::uint64_t;

/// The spare processes of a device worker. A spare has greeted and holds no data, and takes the
/// place of the worker when that is lost.
class Spares {
 public:
  struct Spare {
    std::uint32_t number = 0;
    bool greeted = false;
  };

  /// Takes a spare for a worker that was lost, one that has greeted if there is one. Otherwise one
  /// more is wanted from now on, up to `most`.
  std::optional<Spare> take(std::size_t most);

  /// Returns true if another one is to be started.
  bool lacks_one() const { return !needs_room_ && spares_.size() < std::min(wanted_, most_); }
  void add(std::uint32_t number) { spares_.push_back({.number = number}); }

  /// Returns the spare with this number; null if there is none.
  Spare* find(std::uint32_t number);

  /// Removes one that failed, as where there is no memory for another context. No more are started
  /// than are left.
  void fail(std::uint32_t number);
  void limit() { most_ = spares_.size(); }

  /// Removes and returns all.
  std::vector<Spare> release() { return std::exchange(spares_, {}); }
  const std::vector<Spare>& all() const { return spares_; }

  /// None starts until the device is prepared, which may need all of its memory.
  void set_needs_room(bool needs_room) { needs_room_ = needs_room; }

 private:
  std::vector<Spare> spares_;
  std::size_t wanted_ = 0;
  std::size_t most_ = SIZE_MAX;
  bool needs_room_ = false;
};

/// A compile or device worker of a pool: its process, which may be replaced, and what it was asked.
struct WorkerSlot {
  enum class Presence {
    here,
    away,  ///< Its host is away.
    gone,  ///< It is no longer replaced.
  };
  struct Asked {
    Ticket ticket = 0;
    CompileBatch batch = {};  ///< The requests of a compile worker, for trying again.
    int attempts = 0;         ///< Number of failed attempts.
    bool ahead = false;       ///< True if sent while the worker was busy with another request.
  };

  bool is_device = false;
  std::size_t unit = 0;  ///< For a device worker.
  std::size_t host = 0;  ///< Index in WorkerCommand::hosts.
  Presence presence = Presence::here;
  std::uint32_t number = 0;  ///< Number of its process on its host.
  bool greeted = false;
  bool condemned = false;        ///< True if its messages are ignored until its end is reported.
  bool has_started = false;      ///< True if it or a predecessor has greeted.
  bool was_spare = false;        ///< True if it was a spare before.
  std::deque<Asked> asked = {};  ///< Sorted by when they were sent; it works on the first.
  std::uint64_t generation = 0;
  std::optional<Broken> broken = std::nullopt;
  Spares spares = {};                ///< For a device worker.
  std::array<bool, 2> in_line = {};  ///< True for each line of FreeCompilers that it is in.

  bool gone() const { return presence == Presence::gone; }
  bool away() const { return presence == Presence::away; }
  /// Returns true if it can be sent requests.
  bool is_there() const { return presence == Presence::here && greeted && !condemned; }
  const char* name() const { return is_device ? "device worker" : "compile worker"; }
};

/// The compile workers that can be sent a request, in the order in which they became free.
class FreeCompilers {
 public:
  /// The most requests that a worker is sent at a time: one, and one ahead.
  static constexpr std::size_t kMostAsked = 2;

  /// Puts a worker in line that has room for a request.
  void add(WorkerSlot& worker);

  /// Returns an idle worker, or with `ahead` also one that is at a request and takes another; null
  /// if there is none. `has_room`: whether a worker that was added still has room.
  template <typename HasRoom>
  WorkerSlot* next(bool ahead, const HasRoom& has_room) {
    for (std::size_t asked = 0; asked < (ahead ? kMostAsked : 1); ++asked) {
      std::deque<WorkerSlot*>& line = lines_[asked];
      for (; !line.empty(); line.pop_front()) {
        WorkerSlot& worker = *line.front();
        if (has_room(worker) && worker.asked.size() == asked) return &worker;
        worker.in_line[asked] = false;
      }
    }
    return nullptr;
  }

 private:
  /// Lines by the number of requests that their workers have, as of when they were added.
  std::array<std::deque<WorkerSlot*>, kMostAsked> lines_;
};

/// The workers of a host that was away when the others began.
struct HostJoin {
  int compile_workers = 0;
  std::uint64_t compile_address_space = 0;
  std::vector<std::vector<std::string>> devices = {};  ///< See WorkerCommand; of the same model.
  std::vector<Device> known_devices = {};
  std::string note = {};  ///< For people: what the host has, and what of that is used.
};

/// A host and its number of compile workers.
struct HostShare {
  std::string name;  ///< For people; empty: this machine.
  std::shared_ptr<WorkerHost> host;
  int compile_workers = 0;
  std::uint64_t compile_address_space = 0;  ///< See WorkerCommand.
  /// Called once a host that was away at first can be reached.
  std::function<HostJoin()> join = {};
};

/// How to start the worker processes: this executable again, with these arguments.
struct WorkerCommand {
  std::vector<std::string> compile;  ///< Command line of a compile worker; [0] is the executable's
                                     ///< path.
  /// Command lines of the device workers, one for each unit, all of one model; empty when none is
  /// needed.
  std::vector<std::vector<std::string>> devices;
  /// The devices of these workers, if known: compiling then begins before the workers have greeted.
  /// Empty: wait for their greetings.
  std::vector<Device> known_devices = {};
  /// Hosts of the workers; empty: this machine.
  std::vector<HostShare> hosts = {};
  std::vector<std::size_t> device_hosts = {};  ///< For each device, the index of its host in
                                               ///< `hosts`.
  int compile_workers = 1;                     ///< When there are no `hosts`.
  /// Address space of a compile worker, in bytes; 0: no limit, as for sanitizer builds, which
  /// reserve terabytes.
  std::uint64_t compile_address_space = 0;
  /// The compiler of the workers, if known: none is started before start_all(). REQUIRES: the
  /// devices are known, too, and there are no `hosts`.
  std::optional<CompilerHello> known_compiler = std::nullopt;
  double compile_timeout_s = 120;  ///< A compile worker is killed when one compile takes longer.
  double hello_timeout_s = 60;     ///< For a device worker's start: driver, context.
};

/// The devices and the compiler of a pool's workers.
struct DeviceGreeting {
  std::deque<Device> devices;  ///< Devices of the command, and those of hosts that have joined.
  std::string compiler;        ///< Version, from a compile worker.
  std::string compiler_sha256;
};

/// Returns the maximum number of spare device workers of a unit: each has a context, which takes
/// about half a GiB of the device's memory; together they take at most a thirty-second of it.
std::size_t most_spares(const Device& device);

/// The outcome of a request, or another event of the pool.
struct WorkerEvent {
  enum class Kind {
    compiled,     ///< `compiled` holds a module or a failure for each request.
    replied,      ///< `reply` is the device worker's.
    device_lost,  ///< The device worker has ended before it replied; `death` says how.
    unit_gone,    ///< `unit` is used no more; `death.message` says why.
    host_lost,    ///< The same, for as long as the unit's host is away.
    note,         ///< `note` is for people.
  };
  Kind kind = Kind::compiled;
  Ticket ticket = 0;
  std::size_t unit = 0;
  std::uint64_t generation = 0;  ///< Generation of the device worker concerned.
  bool not_begun = false;        ///< True if the lost device worker had not begun with this request
                                 ///< yet.
  std::vector<Outcome<Module>> compiled = {};
  bool compiler_lost = false;  ///< True if `compiled` says how the worker ended.
  bool not_compiled = false;   ///< True if the worker's host was lost; `compiled` is empty.
  Frame reply = {};
  WorkerDeath death = {};
  std::string note = {};
};

/// A pool of compile workers, and of a device worker for each unit (one board). Units are numbered
/// from 0, in the order of the command; a unit that fails for good is gone, and the others go on.
/// Ended workers are restarted at once, and what they were compiling becomes a failure (or is tried
/// again, once, when something else has killed them). A worker of a distant host
/// (WorkerHost::is_far()) is sent a second request while it works on the first. A unit whose worker
/// was lost has a spare from then on, which has greeted and holds no data, and takes the place of
/// the next worker that is lost; whenever no spare was ready, one more is kept, up to
/// most_spares(). Workers of a host that is lost are away until it is back; a host that joins later
/// brings its units and compile workers along. Nothing here waits but the constructor and wait(). A
/// pool belongs to one thread, and its workers end with that thread.
class WorkerPool {
 public:
  /// Starts the workers and waits for the greetings of the first compile worker and of the device
  /// workers, unless their devices are known; does neither if the compiler is known. Throws UnavailableError with the workers' message
  /// when they cannot start. When `stop` is set meanwhile, greetings are missing.
  explicit WorkerPool(WorkerCommand command, const std::atomic<bool>* stop = nullptr);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  /// Starts the workers if the constructor has not.
  void start_all();

  const DeviceGreeting& greeting() const { return greeting_; }
  std::size_t units() const { return units_.size(); }  ///< Includes those that are gone.
  /// Whether the unit can be used now.
  bool has_unit(std::size_t unit) const { return units_[unit]->presence == Worker::Presence::here; }
  /// Whether the unit can be used now or may come back.
  bool may_have_unit(std::size_t unit) const { return !units_[unit]->gone(); }

  /// Whether a compile worker could take a request now, when `waiting` requests wait. A busy worker
  /// can be sent one ahead only if more wait than there are workers, so that each gets another
  /// anyway.
  bool can_compile(std::size_t waiting) { return next_compiler(waiting > compilers_) != nullptr; }

  /// Compiles the requests together. REQUIRES: can_compile(), and requests of one program.
  Ticket compile(CompileBatch batch);

  /// Number of compile workers that are not gone for good.
  std::size_t compilers() const { return compilers_; }

  /// Names of other hosts: those where a compile worker is busy, and those that are away.
  std::vector<std::string> compiling_hosts() const;
  std::vector<std::string> hosts_away() const;

  /// Whether the unit's worker has greeted and is not answering a request.
  bool device_is_idle(std::size_t unit) const;

  /// Whether the unit's worker could be sent a request now, idle or not.
  bool device_has_room(std::size_t unit) const { return has_room(*units_[unit]); }

  /// The number, from 1, of the unit's worker among all device workers started so far: what was
  /// prepared or kept on an earlier one is gone.
  std::uint64_t device_generation(std::size_t unit) const { return units_[unit]->generation; }

  /// Makes the file readable for the unit's worker.
  void provide(std::size_t unit, const DataFile& file) { host_of(*units_[unit]).provide(file); }

  /// Ends the unit's spares until it is prepared, because the next request may need all of its
  /// memory.
  void end_spares(std::size_t unit);

  /// Sends a request. `modules`: those that it names. REQUIRES: device_has_room(unit). A request to
  /// a worker that is not idle must be repeated if the worker is lost.
  Ticket ask_device(std::size_t unit, MessageType type, std::vector<std::uint8_t> payload,
                    std::span<const Module> modules, double deadline_s);

  /// Ends the unit's worker and starts another.
  void restart_device(std::size_t unit);

  /// Goes on without the unit. Throws UnavailableError with `why` when it is the last.
  void give_up_unit(std::size_t unit, const std::string& why);

  /// Waits for events, at most `timeout_s`. Throws UnavailableError when a worker cannot be
  /// replaced or reports that the machine is broken (for a device worker only if it is the last:
  /// otherwise its unit is gone), and InputError when it reports that the user's input is wrong.
  std::vector<WorkerEvent> wait(double timeout_s);

  /// Number of workers that ended before they were told to.
  std::uint64_t deaths() const { return deaths_; }

  /// For tests and messages: returns the process ids of the device workers, then of the compile
  /// workers, then of the spares.
  std::vector<pid_t> process_ids() const;

 private:
  using Worker = WorkerSlot;

  WorkerHost& host_of(const Worker& worker) const { return *command_.hosts[worker.host].host; }
  std::string place_of(const Worker& worker) const;
  std::uint32_t start_process(Worker& worker);
  void add_unit(std::size_t host);
  void add_compilers(std::size_t host, int count);
  void start(Worker& worker);
  void replace(Worker& worker);
  void start_spares(Worker& worker);
  void take_spare(Worker& worker, Spares::Spare& spare, const HostEvent& event);
  void end_spares(Worker& worker);
  void drop(Worker& worker);
  void send_compile(const Worker& worker, const Worker::Asked& asked);
  void ask(const Worker& worker, Ticket ticket, MessageType type, std::vector<std::uint8_t> payload,
           std::span<const Module> modules, double deadline_s);
  bool has_room(const Worker& worker) const;
  void note_room(Worker& worker);
  Worker* next_compiler(bool ahead) {
    return free_.next(ahead, [this](const Worker& worker) { return has_room(worker); });
  }
  void give_back(Worker& worker);
  void give_all_back(Worker& worker, std::vector<WorkerEvent>& events);
  void take(const HostEvent& event, std::vector<WorkerEvent>& events);
  void take(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events);
  void greet(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events);
  void reply(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events);
  void lose(Worker& worker, WorkerDeath death, std::vector<WorkerEvent>& events);
  void lose_compiler(Worker& worker, const WorkerDeath& death, std::vector<WorkerEvent>& events);
  /// Throws UnavailableError with `why` unless other workers can do its work. `phase_number`: that
  /// of its last phase.
  void give_up(Worker& worker, const std::string& why, std::vector<WorkerEvent>& events,
               int phase_number = 0);
  void give_up_compilers(std::size_t host, std::vector<WorkerEvent>& events);
  void host_down(std::size_t host, const std::string& why, std::vector<WorkerEvent>& events);
  void host_up(std::size_t host, std::vector<WorkerEvent>& events);
  void join(std::size_t host, std::vector<WorkerEvent>& events);
  void throw_where_nobody_comes_back() const;

  WorkerCommand command_;
  DeviceGreeting greeting_;
  std::deque<Worker> workers_;  ///< Elements are never removed.
  std::vector<Worker*> units_;  ///< The device workers.
  std::size_t compilers_ = 0;   ///< Number of compile workers that are not gone.
  FreeCompilers free_;
  std::vector<int> compiling_;                  ///< Number of requests being compiled, by host.
  std::map<std::uint32_t, Worker*> by_number_;  ///< Includes spares and workers being ended.
  std::vector<WorkerEvent> early_events_;       ///< Events for the next wait().
  std::string last_loss_;                       ///< Why a host was lost.
  std::uint32_t last_number_ = 0;
  Ticket last_ticket_ = 0;
  std::uint64_t generations_ = 0;
  std::uint64_t deaths_ = 0;
  int failed_starts_ = 0;  ///< Consecutive failures.
  bool has_started_ = false;
};

}  // namespace smemtune
