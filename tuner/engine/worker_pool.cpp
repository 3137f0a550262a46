#include "tuner/engine/worker_pool.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/engine/device_lock.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace smemtune {

namespace {

// How often a stop is checked for.
constexpr double kLook_s = 0.2;
// Something else may kill a worker while it starts; more failures in a row are not an accident.
constexpr int kMaxFailedStarts = 3;
// How often to compile a request whose worker was killed by something else or lacked resources.
constexpr int kMaxAttempts = 2;

std::string stuck_text(const WorkerSlot& worker) {
  return std::string("the ") + worker.name() + " cannot be ended: the driver holds it";
}

}  // namespace

std::optional<Spares::Spare> Spares::take(std::size_t most) {
  auto spare = std::ranges::find(spares_, true, &Spare::greeted);
  if (spare == spares_.end()) {
    if (wanted_ < most) ++wanted_;
    spare = spares_.begin();
  }
  if (spare == spares_.end()) return std::nullopt;
  const Spare taken = *spare;
  spares_.erase(spare);
  return taken;
}

Spares::Spare* Spares::find(std::uint32_t number) {
  const auto spare = std::ranges::find(spares_, number, &Spare::number);
  return spare == spares_.end() ? nullptr : &*spare;
}

void Spares::fail(std::uint32_t number) {
  std::erase_if(spares_, [&](const Spare& one) { return one.number == number; });
  limit();
}

void FreeCompilers::add(WorkerSlot& worker) {
  const std::size_t line = worker.asked.size();
  if (!std::exchange(worker.in_line[line], true)) lines_[line].push_back(&worker);
}

std::size_t most_spares(const Device& device) {
  constexpr std::int64_t kMemoryForEach = std::int64_t{16} << 30;
  constexpr std::int64_t kMost = 4;
  return static_cast<std::size_t>(
      std::clamp(device.memory_bytes / kMemoryForEach, std::int64_t{1}, kMost));
}

WorkerPool::WorkerPool(WorkerCommand command, const std::atomic<bool>* stop)
    : command_(std::move(command)) {
  if (command_.hosts.empty()) {
    const int compilers = command_.compile.empty() ? 0 : std::max(1, command_.compile_workers);
    command_.hosts = {{.name = "",
                       .host = std::make_shared<LocalHost>(),
                       .compile_workers = compilers,
                       .compile_address_space = command_.compile_address_space}};
  }
  compiling_.resize(command_.hosts.size());
  command_.device_hosts.resize(command_.devices.size());
  for (const std::size_t host : command_.device_hosts) add_unit(host);
  greeting_.devices.assign(command_.known_devices.begin(), command_.known_devices.end());
  greeting_.devices.resize(units());
  for (std::size_t host = 0; host < command_.hosts.size(); ++host) {
    add_compilers(host, command_.hosts[host].compile_workers);
  }
  if (command_.known_compiler) {
    greeting_.compiler = command_.known_compiler->version;
    greeting_.compiler_sha256 = command_.known_compiler->sha256;
    return;
  }
  start_all();
  const auto all_greeted = [this] {
    const bool devices =
        !command_.known_devices.empty() || std::ranges::all_of(workers_, [](const Worker& worker) {
          return !worker.is_device || worker.greeted;
        });
    const bool compiler =
        command_.compile.empty() || std::ranges::any_of(workers_, [](const Worker& worker) {
          return !worker.is_device && worker.greeted;
        });
    return devices && compiler;
  };
  std::vector<WorkerEvent> early;
  while (!all_greeted() && (stop == nullptr || !*stop)) {
    for (WorkerEvent& event : wait(kLook_s)) early.push_back(std::move(event));
  }
  early_events_ = std::move(early);
}

WorkerPool::~WorkerPool() {
  for (HostShare& share : command_.hosts) share.host->hang_up();
}

void WorkerPool::start_all() {
  if (std::exchange(has_started_, true)) return;
  for (Worker& worker : workers_) {
    if (host_of(worker).is_up()) {
      start(worker);
    } else {
      worker.presence = Worker::Presence::away;
    }
  }
}

void WorkerPool::add_unit(std::size_t host) {
  workers_.push_back(Worker{.is_device = true, .unit = units(), .host = host});
  units_.push_back(&workers_.back());
}

void WorkerPool::add_compilers(std::size_t host, int count) {
  for (int i = 0; i < count; ++i) workers_.push_back(Worker{.is_device = false, .host = host});
  compilers_ += static_cast<std::size_t>(count);
}

std::string WorkerPool::place_of(const Worker& worker) const {
  const std::string& name = command_.hosts[worker.host].name;
  return name.empty() ? "" : name + ": ";
}

bool WorkerPool::has_room(const Worker& worker) const {
  const std::size_t most = host_of(worker).is_far() ? FreeCompilers::kMostAsked : 1;
  return worker.is_there() && worker.asked.size() < most;
}

void WorkerPool::note_room(Worker& worker) {
  if (!worker.is_device && has_room(worker)) free_.add(worker);
}

std::vector<std::string> WorkerPool::compiling_hosts() const {
  std::vector<std::string> names;
  for (std::size_t host = 0; host < command_.hosts.size(); ++host) {
    const std::string& name = command_.hosts[host].name;
    if (compiling_[host] > 0 && !name.empty()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> WorkerPool::hosts_away() const {
  std::vector<std::string> names;
  for (const HostShare& share : command_.hosts) {
    if (!share.host->is_up()) names.push_back(share.name);
  }
  return names;
}

bool WorkerPool::device_is_idle(std::size_t unit) const {
  return units_[unit]->is_there() && units_[unit]->asked.empty();
}

std::vector<pid_t> WorkerPool::process_ids() const {
  std::vector<pid_t> ids;
  const auto add = [&](const Worker& worker, std::uint32_t number) {
    const pid_t id = number == 0 ? -1 : host_of(worker).process_id(number);
    if (id > 0) ids.push_back(id);
  };
  for (const Worker& worker : workers_) add(worker, worker.number);
  for (const Worker& worker : workers_) {
    for (const Spares::Spare& spare : worker.spares.all()) add(worker, spare.number);
  }
  return ids;
}

std::uint32_t WorkerPool::start_process(Worker& worker) {
  const HostShare& share = command_.hosts[worker.host];
  WorkerStart start = {.words = command_.compile,
                       .address_space = share.compile_address_space,
                       .hello_timeout_s = command_.hello_timeout_s};
  if (worker.is_device) {
    start.words = command_.devices[worker.unit];
    start.address_space = 0;
    start.ends_in_order = true;
    // The parent itself has locked the devices of its own host.
    if (!share.name.empty()) start.lock = lock_name(greeting_.devices[worker.unit]);
  }
  const std::uint32_t number = ++last_number_;
  share.host->start(number, start);
  by_number_[number] = &worker;
  return number;
}

void WorkerPool::start(Worker& worker) {
  worker.greeted = false;
  worker.condemned = false;
  worker.broken.reset();
  worker.was_spare = false;
  if (worker.is_device) worker.generation = ++generations_;
  worker.number = start_process(worker);
}

/// Replaces a lost device worker, by a spare if there is one.
void WorkerPool::replace(Worker& worker) {
  const auto spare = worker.spares.take(most_spares(greeting_.devices[worker.unit]));
  if (!spare) {
    start(worker);
    return;
  }
  worker.condemned = false;
  worker.broken.reset();
  worker.was_spare = true;
  worker.generation = ++generations_;
  worker.number = spare->number;
  worker.greeted = spare->greeted;
  if (worker.greeted) start_spares(worker);
}

/// Starts as many spares as are wanted. Called after the unit's own worker has started, which would
/// take longer otherwise.
void WorkerPool::start_spares(Worker& worker) {
  while (worker.spares.lacks_one()) worker.spares.add(start_process(worker));
}

/// Handles a spare's greeting or end.
void WorkerPool::take_spare(Worker& worker, Spares::Spare& spare, const HostEvent& event) {
  const bool greets =
      event.kind == HostEvent::Kind::message && event.frame.type == MessageType::hello;
  try {
    spare.greeted = greets && unpack<Device>(event.frame.payload) == greeting_.devices[worker.unit];
  } catch (const WireError&) {
    spare.greeted = false;
  }
  if (spare.greeted) return;
  worker.spares.fail(event.worker);
  if (event.kind != HostEvent::Kind::ended) {
    host_of(worker).end(event.worker, WorkerDeath::Cause::protocol, "");
  }
}

void WorkerPool::end_spares(Worker& worker) {
  for (const Spares::Spare& spare : worker.spares.release()) {
    host_of(worker).end(spare.number, WorkerDeath::Cause::protocol, "");
  }
}

void WorkerPool::end_spares(std::size_t unit) {
  units_[unit]->spares.set_needs_room(true);
  end_spares(*units_[unit]);
}

/// Ends the worker's processes, whose messages are ignored from then on.
void WorkerPool::drop(Worker& worker) {
  if (worker.number != 0) {
    host_of(worker).end(std::exchange(worker.number, 0), WorkerDeath::Cause::protocol, "");
  }
  end_spares(worker);
}

void WorkerPool::ask(const Worker& worker, Ticket ticket, MessageType type,
                     std::vector<std::uint8_t> payload, std::span<const Module> modules,
                     double deadline_s) {
  constexpr double kDay_s = 86400;
  const double deadline_ms = std::clamp(1e3 * deadline_s, 1.0, 1e3 * kDay_s);
  host_of(worker).send({.type = type,
                        .sequence = ticket,
                        .payload = std::move(payload),
                        .worker = worker.number,
                        .deadline_ms = static_cast<std::uint32_t>(std::ceil(deadline_ms))},
                       modules);
}

void WorkerPool::send_compile(const Worker& worker, const Worker::Asked& asked) {
  ask(worker, asked.ticket, MessageType::compile, pack(asked.batch), {},
      command_.compile_timeout_s);
}

Ticket WorkerPool::compile(CompileBatch batch) {
  Worker& worker = *next_compiler(/*ahead=*/true);
  worker.asked.push_back({.ticket = ++last_ticket_, .batch = std::move(batch)});
  ++compiling_[worker.host];
  send_compile(worker, worker.asked.back());
  note_room(worker);
  return last_ticket_;
}

/// Removes the first request, which is done or will not be done.
void WorkerPool::give_back(Worker& worker) {
  if (!worker.is_device) --compiling_[worker.host];
  worker.asked.pop_front();
}

/// Returns all requests of a compile worker as not compiled.
void WorkerPool::give_all_back(Worker& worker, std::vector<WorkerEvent>& events) {
  while (!worker.asked.empty()) {
    events.push_back({.ticket = worker.asked.front().ticket, .not_compiled = true});
    give_back(worker);
  }
}

Ticket WorkerPool::ask_device(std::size_t unit, MessageType type, std::vector<std::uint8_t> payload,
                              std::span<const Module> modules, double deadline_s) {
  Worker& device = *units_[unit];
  const bool ahead = !device.asked.empty();
  device.asked.push_back({.ticket = ++last_ticket_, .ahead = ahead});
  ask(device, last_ticket_, type, std::move(payload), modules, deadline_s);
  return last_ticket_;
}

void WorkerPool::restart_device(std::size_t unit) {
  Worker& device = *units_[unit];
  if (!has_unit(unit) || device.condemned) return;
  ++deaths_;
  device.asked.clear();
  host_of(device).end(std::exchange(device.number, 0), WorkerDeath::Cause::protocol, "");
  replace(device);
}

void WorkerPool::give_up_unit(std::size_t unit, const std::string& why) {
  give_up(*units_[unit], why, early_events_);
}

void WorkerPool::give_up(Worker& worker, const std::string& why, std::vector<WorkerEvent>& events,
                         int phase_number) {
  const bool one_host = command_.hosts.size() == 1;
  const auto can_do_its_work = [&](const Worker& other) {
    // Compilers of one host are broken together.
    return &other != &worker && other.is_device == worker.is_device && !other.gone() &&
           (worker.is_device || other.host != worker.host);
  };
  const bool is_needed = one_host && (!worker.is_device || !worker.has_started);
  if (is_needed || std::ranges::none_of(workers_, can_do_its_work)) {
    throw UnavailableError(place_of(worker) + why);
  }
  if (!worker.is_device) {
    events.push_back({.kind = WorkerEvent::Kind::note,
                      .note = "*** " + place_of(worker) + "nothing is compiled there: " + why});
    give_up_compilers(worker.host, events);
    return;
  }
  worker.presence = Worker::Presence::gone;
  drop(worker);
  WorkerEvent event = {.kind = WorkerEvent::Kind::unit_gone, .unit = worker.unit};
  event.death.message = place_of(worker) + why;
  event.death.phase_number = phase_number;
  events.push_back(std::move(event));
  worker.asked.clear();
}

void WorkerPool::give_up_compilers(std::size_t host, std::vector<WorkerEvent>& events) {
  for (Worker& compiler : workers_) {
    if (compiler.is_device || compiler.host != host || compiler.gone()) continue;
    compiler.presence = Worker::Presence::gone;
    --compilers_;
    drop(compiler);
    give_all_back(compiler, events);
  }
}

std::vector<WorkerEvent> WorkerPool::wait(double timeout_s) {
  std::vector<WorkerEvent> events = std::exchange(early_events_, {});
  if (!events.empty()) return events;
  WorkerHost::Clock::time_point until = in_seconds(timeout_s);
  std::vector<WorkerHost*> hosts;
  for (const HostShare& share : command_.hosts) {
    hosts.push_back(share.host.get());
    until = std::min(until, share.host->wake_at());
  }
  const std::vector<std::vector<HostEvent>> told = take_from(hosts, until);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    for (const HostEvent& event : told[i]) {
      if (event.kind == HostEvent::Kind::down) {
        host_down(i, event.text, events);
      } else if (event.kind == HostEvent::Kind::up) {
        host_up(i, events);
      } else if (event.kind == HostEvent::Kind::note) {
        events.push_back(
            {.kind = WorkerEvent::Kind::note, .note = command_.hosts[i].name + ": " + event.text});
      } else {
        take(event, events);
      }
    }
  }
  throw_where_nobody_comes_back();
  return events;
}

/// Handles a worker's message or its end.
void WorkerPool::take(const HostEvent& event, std::vector<WorkerEvent>& events) {
  const auto found = by_number_.find(event.worker);
  if (found == by_number_.end()) return;
  Worker& worker = *found->second;
  const bool has_ended = event.kind == HostEvent::Kind::ended;
  if (has_ended) by_number_.erase(found);
  const bool is_stuck = has_ended && event.death.cause == WorkerDeath::Cause::stuck;
  Spares::Spare* const spare = worker.spares.find(event.worker);
  if (is_stuck && !worker.gone()) {
    give_up(worker, stuck_text(worker), events, event.death.phase_number);
  } else if (spare != nullptr) {
    take_spare(worker, *spare, event);
  } else if (event.worker != worker.number) {
    return;  // From a worker that was told to end.
  } else if (has_ended) {
    lose(worker, event.death, events);
  } else if (!worker.condemned) {
    try {
      take(worker, event.frame, events);
    } catch (const WireError& error) {
      worker.condemned = true;
      host_of(worker).end(worker.number, WorkerDeath::Cause::protocol, error.what());
    }
  }
}

void WorkerPool::take(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events) {
  if (frame.type == MessageType::broken) {
    // The worker ends now; lose() reports the message.
    worker.broken = unpack<Broken>(frame.payload);
    return;
  }
  if (!worker.greeted) {
    greet(worker, frame, events);
    return;
  }
  if (worker.asked.empty() || frame.sequence != worker.asked.front().ticket) {
    throw WireError("an answer to no question");
  }
  reply(worker, frame, events);
}

void WorkerPool::greet(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events) {
  if (frame.type != MessageType::hello) throw WireError("no greeting");
  if (worker.is_device) {
    auto device = unpack<Device>(frame.payload);
    Device& known = greeting_.devices[worker.unit];
    const bool is_first = known.name.empty();
    Device as_known = device;
    as_known.memory_bytes = known.memory_bytes;  // A virtual machine's may change.
    if (!is_first && as_known != known) {
      give_up(worker,
              "the device worker found another device: " + device.name + " " + device.uuid +
                  " instead of " + known.name + " " + known.uuid,
              events);
      return;
    }
    known = std::move(device);
  } else {
    const auto hello = unpack<CompilerHello>(frame.payload);
    if (command_.known_compiler && hello != *command_.known_compiler) {
      throw UnavailableError("the compile worker found another compiler: " + hello.version +
                             " instead of " + command_.known_compiler->version);
    }
    greeting_.compiler = hello.version;
    greeting_.compiler_sha256 = hello.sha256;
  }
  worker.greeted = true;
  worker.has_started = true;
  failed_starts_ = 0;
  if (worker.is_device) {
    start_spares(worker);
    return;
  }
  for (const Worker::Asked& asked : worker.asked) send_compile(worker, asked);
  note_room(worker);
}

void WorkerPool::reply(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events) {
  const Worker::Asked& asked = worker.asked.front();
  WorkerEvent event = {.ticket = asked.ticket};
  if (worker.is_device) {
    event.kind = WorkerEvent::Kind::replied;
    event.generation = worker.generation;
    event.reply = frame;
    if (frame.type == MessageType::prepared) {
      worker.spares.set_needs_room(false);
      start_spares(worker);
    }
  } else {
    if (frame.type != MessageType::compiled) throw WireError("no module");
    auto compiled = unpack<CompileReply>(frame.payload);
    check(compiled, asked.batch);
    event.compiled = outcomes_of(std::move(compiled), asked.ticket);
    for (const Outcome<Module>& module : event.compiled) {
      if (module) host_of(worker).has_compiled(*module);
    }
  }
  give_back(worker);
  note_room(worker);
  events.push_back(std::move(event));
}

void WorkerPool::lose(Worker& worker, WorkerDeath death, std::vector<WorkerEvent>& events) {
  ++deaths_;
  worker.number = 0;
  if (!worker.greeted && worker.was_spare) {  // The loss of a spare does not count as a failed
                                              // start.
    worker.spares.limit();
    start(worker);
    return;
  }
  const bool was_at_work = worker.greeted && !worker.asked.empty();
  if (was_at_work) ++worker.asked.front().attempts;
  if (worker.broken) {
    // A broken compiler fails for every variant, and so does a worker that cannot start.
    if (worker.broken->input) throw InputError(worker.broken->message);
    death.shortage = worker.broken->shortage;
    const bool try_again = death.shortage && worker.greeted &&
                           (!was_at_work || worker.asked.front().attempts < kMaxAttempts);
    if (!worker.greeted || (!worker.is_device && !try_again)) {
      give_up(worker, worker.broken->message, events);
      return;
    }
    death.message = worker.broken->message;
  }
  if (!worker.greeted && (!death.from_outside() || ++failed_starts_ > kMaxFailedStarts)) {
    give_up(worker, std::string("a ") + worker.name() + " does not start: " + death.text(), events);
    return;
  }
  if (!worker.is_device) {
    lose_compiler(worker, death, events);
  } else if (!worker.asked.empty()) {
    const Worker::Asked& asked = worker.asked.front();
    events.push_back({.kind = WorkerEvent::Kind::device_lost,
                      .ticket = asked.ticket,
                      .generation = worker.generation,
                      .not_begun = asked.ahead && death.phase.empty(),
                      .death = death});
    worker.asked.clear();
  }
  if (worker.is_device) {
    replace(worker);
  } else {
    start(worker);
  }
}

void WorkerPool::lose_compiler(Worker& worker, const WorkerDeath& death,
                               std::vector<WorkerEvent>& events) {
  if (worker.asked.empty()) return;
  const Worker::Asked& asked = worker.asked.front();
  const bool try_again = !worker.greeted || ((death.from_outside() || death.shortage) &&
                                             asked.attempts < kMaxAttempts);
  if (try_again) return;  // Sent again when the next worker has greeted.
  const bool overdue = death.cause == WorkerDeath::Cause::deadline;
  const Failure lost =
      overdue
          ? failure({Status::compile, "compile_timeout"},
                    "compiling took longer than " +
                        std::to_string(static_cast<int>(command_.compile_timeout_s)) +
                        " s and was ended")
          : failure({Status::compile, "crash"}, "the compiler's process was lost: " + death.text());
  events.push_back({.kind = WorkerEvent::Kind::compiled,
                    .ticket = asked.ticket,
                    .compiled = std::vector<Outcome<Module>>(asked.batch.size(), lost),
                    .compiler_lost = true});
  give_back(worker);
}

void WorkerPool::host_down(std::size_t host, const std::string& why,
                           std::vector<WorkerEvent>& events) {
  last_loss_ = command_.hosts[host].name + ": " + why;
  bool was_in_use = false;
  for (Worker& worker : workers_) {
    if (worker.host != host || worker.presence != Worker::Presence::here) continue;
    was_in_use = true;
    worker.presence = Worker::Presence::away;
    by_number_.erase(worker.number);
    worker.number = 0;
    for (const Spares::Spare& spare : worker.spares.release()) {
      by_number_.erase(spare.number);
    }
    if (worker.is_device) {
      WorkerEvent event = {.kind = WorkerEvent::Kind::host_lost, .unit = worker.unit};
      event.death.message = last_loss_;
      events.push_back(std::move(event));
      worker.asked.clear();
    } else {
      give_all_back(worker, events);
    }
  }
  if (!was_in_use) return;
  ++deaths_;
  events.push_back({.kind = WorkerEvent::Kind::note,
                    .note = "*** going on without " + last_loss_ + "; it is tried again"});
}

void WorkerPool::host_up(std::size_t host, std::vector<WorkerEvent>& events) {
  if (command_.hosts[host].join) {
    join(host, events);
  } else {
    events.push_back(
        {.kind = WorkerEvent::Kind::note, .note = command_.hosts[host].name + " is back"});
  }
  for (Worker& worker : workers_) {
    if (worker.host != host || worker.gone()) continue;
    worker.presence = Worker::Presence::here;
    start(worker);
  }
}

/// Adds the workers of a host that was away when the others began.
void WorkerPool::join(std::size_t host, std::vector<WorkerEvent>& events) {
  HostShare& share = command_.hosts[host];
  HostJoin joined = std::exchange(share.join, {})();
  share.compile_workers = joined.compile_workers;
  share.compile_address_space = joined.compile_address_space;
  for (std::size_t i = 0; i < joined.devices.size(); ++i) {
    command_.devices.push_back(std::move(joined.devices[i]));
    greeting_.devices.push_back(std::move(joined.known_devices[i]));
    add_unit(host);
  }
  add_compilers(host, joined.compile_workers);
  events.push_back({.kind = WorkerEvent::Kind::note,
                    .note = share.name + " has joined: " + std::move(joined.note)});
}

void WorkerPool::throw_where_nobody_comes_back() const {
  const auto is_hoped_for = [this](const Worker& worker) {
    return !worker.gone() && !(worker.away() && host_of(worker).is_given_up());
  };
  for (const bool is_device : {true, false}) {
    const auto is_one = [&](const Worker& worker) { return worker.is_device == is_device; };
    if (std::ranges::none_of(workers_, is_one)) continue;
    if (std::ranges::any_of(workers_, [&](const Worker& worker) {
          return is_one(worker) && is_hoped_for(worker);
        })) {
      continue;
    }
    throw UnavailableError(std::string("no ") + Worker{.is_device = is_device}.name() +
                           " is left: " + last_loss_);
  }
}

}  // namespace smemtune
