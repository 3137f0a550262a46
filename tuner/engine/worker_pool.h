#pragma once

#include "tuner/engine/messages.h"
#include "tuner/engine/worker_command.h"
#include "tuner/engine/worker_host.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// What workers run on.
struct DeviceGreeting {
  std::deque<Device> devices;  ///< As WorkerCommand::devices; more where hosts have come.
  std::string compiler;        ///< Version, from a compile worker.
  std::string compiler_sha256;
};

/// How many spare device workers a unit has at most: each has a context, which takes about half a
/// GiB of the device's memory, of which they leave all but a thirty-second.
std::size_t most_spares(const Device& device);

/// Numbers what workers were asked for; never used twice in a pool.
using Ticket = std::uint64_t;

/// What came of something that workers were asked for.
struct WorkerEvent {
  enum class Kind {
    compiled,     ///< `compiled` holds a module, or why there is none, of each request.
    replied,      ///< `reply` is the device worker's.
    device_lost,  ///< The device worker has ended before it replied; `death` says how.
    unit_gone,    ///< `unit` is used no more; `death.message` says why.
    host_lost,    ///< The same, for as long as its host is away.
    note,         ///< `note` is for people.
  };
  Kind kind = Kind::compiled;
  Ticket ticket = 0;
  std::size_t unit = 0;
  std::uint64_t generation = 0;  ///< Of the device worker that this is about.
  bool not_begun = false;        ///< A device worker was lost that had not begun with this yet.
  std::vector<Outcome<Module>> compiled = {};
  bool compiler_lost = false;  ///< `compiled` says how its worker ended.
  bool not_compiled = false;   ///< The worker's host was lost: `compiled` is empty.
  Frame reply = {};
  WorkerDeath death = {};
  std::string note = {};
};

/// Compile workers, and a device worker for each unit (one board). Units are numbered from 0, in
/// the order of the command; one that fails for good is gone, and the others go on. Ended workers
/// are started again at once, and what they were compiling becomes a failure (or is tried again,
/// once, when something else has killed them). A worker of a host that is far
/// (WorkerHost::is_far()) is asked for a second thing while it is at the first. A unit whose worker
/// was lost has a spare from then on, which has greeted and holds no data, and takes the place of
/// the next one that is lost; it has another one, up to most_spares(), whenever none was ready.
/// Workers of a host that is lost are away until it is back; a host that comes later than the
/// others brings its units and compile workers along. Nothing here waits but the constructor and
/// wait(). Belongs to one thread, whose end is the workers' end too.
class WorkerPool {
 public:
  /// Starts the workers and waits for the greetings of the first compile worker and of the device
  /// workers, unless it is known what those run on. Throws UnavailableError with what they said
  /// when they cannot start. When `stop` is set meanwhile, greetings are missing.
  explicit WorkerPool(WorkerCommand command, const std::atomic<bool>* stop = nullptr);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  const DeviceGreeting& greeting() const { return greeting_; }
  std::size_t units() const { return units_.size(); }  ///< Also those that are gone.
  /// Whether it can be used now...
  bool has_unit(std::size_t unit) const { return !units_[unit]->gone && !units_[unit]->away; }
  /// ... and whether it can or may come back.
  bool may_have_unit(std::size_t unit) const { return !units_[unit]->gone; }

  /// Whether a compile worker could take a request now, when so many wait: one that is at work
  /// already where more wait than there are workers, and each will have another anyway.
  bool can_compile(std::size_t waiting) { return next_compiler(waiting > compilers_) != nullptr; }

  /// In one go. REQUIRES: can_compile(), and requests of one program.
  Ticket compile(CompileBatch batch);

  /// Compile workers that are not gone for good.
  std::size_t compilers() const { return compilers_; }

  /// Names of other hosts: where a compile worker is at work, and those that are away.
  std::vector<std::string> compiling_hosts() const;
  std::vector<std::string> hosts_away() const;

  /// Whether the unit's worker has greeted and is not answering a request...
  bool device_is_idle(std::size_t unit) const;

  /// ... or could be asked for something now all the same.
  bool device_has_room(std::size_t unit) const { return has_room(*units_[unit]); }

  /// Which of all device workers started so far the unit's is, from 1: what was prepared or kept on
  /// an earlier one is gone.
  std::uint64_t device_generation(std::size_t unit) const { return units_[unit]->generation; }

  /// Sees to it that the unit's worker can read the file.
  void provide(std::size_t unit, const DataFile& file) { host_of(*units_[unit]).provide(file); }

  /// What the unit is asked next may need all of its memory: it has no spare until it is prepared.
  void end_spares(std::size_t unit);

  /// `modules`: those that the request names. REQUIRES: device_has_room(unit). What is asked of one
  /// that is not idle must be asked again where its worker is lost.
  Ticket ask_device(std::size_t unit, MessageType type, std::vector<std::uint8_t> payload,
                    std::span<const Module> modules, double deadline_s);

  /// Ends the unit's worker and starts another.
  void restart_device(std::size_t unit);

  /// Goes on without the unit. Throws UnavailableError with `why` when it is the last.
  void give_up_unit(std::size_t unit, const std::string& why);

  /// Waits until something has come of a request, at most so long. Throws UnavailableError when a
  /// worker cannot be replaced or says that the machine is broken (the last device worker, that is:
  /// of several, its unit is gone), InputError when it says that
  /// what the user gave is wrong.
  std::vector<WorkerEvent> wait(double timeout_s);

  /// Workers that ended before they were told to.
  std::uint64_t deaths() const { return deaths_; }

  /// For tests and messages: the processes of the device workers, then those of the compile
  /// workers, then the spares.
  std::vector<pid_t> process_ids() const;

 private:
  struct Asked {
    Ticket ticket = 0;
    CompileBatch batch = {};  ///< What is compiled, to try it again.
    int attempts = 0;         ///< That failed.
    bool ahead = false;       ///< While the worker was at another one.
  };
  struct Worker {
    bool is_device = false;
    std::size_t unit = 0;      ///< Of a device worker.
    std::size_t host = 0;      ///< Of WorkerCommand::hosts.
    bool gone = false;         ///< It is not replaced any more.
    bool away = false;         ///< Its host is.
    std::uint32_t number = 0;  ///< Under which its host knows the process.
    bool greeted = false;
    bool condemned = false;    ///< What it sends is not looked at any more: its end will be told.
    bool has_started = false;  ///< It, or one before it, has greeted.
    std::deque<Asked> asked = {};      ///< In this order: it is at the first.
    std::array<bool, 2> in_line = {};  ///< Of WorkerPool::lines_.
    std::uint64_t generation = 0;
    std::optional<Broken> broken = std::nullopt;
    bool was_spare = false;  ///< Until it took its place.
    struct Spare {
      std::uint32_t number = 0;
      bool greeted = false;
    };
    std::vector<Spare> spares = {};  ///< Of a device worker.
    std::size_t spares_wanted = 0;
    std::size_t most_spares = SIZE_MAX;  ///< More have not started.
    bool needs_room = false;             ///< No spare is started until it is prepared.
  };

  WorkerHost& host_of(const Worker& worker) const { return *command_.hosts[worker.host].host; }
  std::string place_of(const Worker& worker) const;
  std::uint32_t start_process(Worker& worker);
  void add_unit(std::size_t host);
  void add_compilers(std::size_t host, int count);
  void start(Worker& worker);
  void replace(Worker& worker);
  void start_spares(Worker& worker);
  void take_spare(Worker& worker, Worker::Spare& spare, const HostEvent& event);
  void end_spares(Worker& worker);
  void drop(Worker& worker);
  void send_compile(const Worker& worker, const Asked& asked);
  void ask(const Worker& worker, Ticket ticket, MessageType type, std::vector<std::uint8_t> payload,
           std::span<const Module> modules, double deadline_s);
  bool has_room(const Worker& worker) const;
  void note_room(Worker& worker);
  Worker* next_compiler(bool ahead);
  void give_back(Worker& worker);
  void give_all_back(Worker& worker, std::vector<WorkerEvent>& events);
  void take(const HostEvent& event, std::vector<WorkerEvent>& events);
  void take(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events);
  void greet(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events);
  void reply(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events);
  void lose(Worker& worker, WorkerDeath death, std::vector<WorkerEvent>& events);
  void lose_compiler(Worker& worker, const WorkerDeath& death, std::vector<WorkerEvent>& events);
  /// Throws UnavailableError with `why` unless others can do its work. `phase_number`: of what it
  /// was doing.
  void give_up(Worker& worker, const std::string& why, std::vector<WorkerEvent>& events,
               int phase_number = 0);
  void give_up_compilers(std::size_t host, std::vector<WorkerEvent>& events);
  void host_down(std::size_t host, const std::string& why, std::vector<WorkerEvent>& events);
  void host_up(std::size_t host, std::vector<WorkerEvent>& events);
  void join(std::size_t host, std::vector<WorkerEvent>& events);
  void throw_where_nobody_comes_back() const;

  WorkerCommand command_;
  DeviceGreeting greeting_;
  std::deque<Worker> workers_;  ///< None is ever removed.
  std::vector<Worker*> units_;  ///< The device workers.
  std::size_t compilers_ = 0;   ///< That are not gone.
  /// Compile workers that are asked for nothing, and those that are for one thing and could be for
  /// another; and some of which that does not hold any more.
  std::array<std::deque<Worker*>, 2> lines_;
  std::vector<int> compiling_;                  ///< How many requests, on each host.
  std::map<std::uint32_t, Worker*> by_number_;  ///< Also of spares and of those being ended.
  std::vector<WorkerEvent> early_events_;       ///< Of the next wait().
  std::string last_loss_;                       ///< Why a host was lost.
  std::uint32_t last_number_ = 0;
  Ticket last_ticket_ = 0;
  std::uint64_t generations_ = 0;
  std::uint64_t deaths_ = 0;
  int failed_starts_ = 0;  ///< One after another.
};

}  // namespace smemtune
