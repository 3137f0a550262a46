#include "tuner/engine/worker_pool.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <poll.h>

namespace smemtune {

namespace {

// A worker whose socket is closed is given so long to end by itself, so that it can be said how it
// ended; a process that holds a GPU takes a while.
constexpr double kEndPatience_s = 5;
constexpr double kGoodbyePatience_s = 2;
// How often a stop is looked at.
constexpr double kLook_s = 0.2;
// Something else may kill a worker while it starts; more often than this in a row is not an
// accident.
constexpr int kMaxFailedStarts = 3;
// What something else has killed, or the machine had no room for, is compiled so often.
constexpr int kMaxAttempts = 2;

std::chrono::steady_clock::duration seconds(double s) {
  // Beyond a day nobody waits, and a clock's ticks would overflow.
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::clamp(s, 0.0, 86400.0)));
}

// Descriptors of a worker that are polled: its socket and log, and those of its spare.
constexpr std::size_t kPolled = 4;

const char* name_of(bool is_device) { return is_device ? "device worker" : "compile worker"; }

std::string stuck_text(bool is_device) {
  return std::string("the ") + name_of(is_device) +
         " cannot be ended: the driver does not let it go";
}

}  // namespace

WorkerPool::WorkerPool(WorkerCommand command, const std::atomic<bool>* stop)
    : command_(std::move(command)) {
  for (std::size_t i = 0; i < units(); ++i) workers_.push_back(Worker{.is_device = true});
  greeting_.devices = command_.known_devices;
  greeting_.devices.resize(units());
  const int compilers = command_.compile.empty() ? 0 : std::max(1, command_.compile_workers);
  for (int i = 0; i < compilers; ++i) workers_.push_back(Worker{});
  for (Worker& worker : workers_) start(worker);
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
  while (!all_greeted() && (stop == nullptr || !*stop)) wait(kLook_s);
}

WorkerPool::~WorkerPool() {
  for (Worker& worker : workers_) {
    // A device worker gives its memory back in order; what compiles may be killed at any time.
    if (worker.process && worker.is_device && !worker.ticket) {
      worker.process->end_gently(kGoodbyePatience_s);
    }
    worker.process.reset();
    worker.spare.process.reset();
  }
}

std::size_t WorkerPool::idle_compilers() const {
  return static_cast<std::size_t>(std::ranges::count_if(workers_, [](const Worker& worker) {
    return !worker.is_device && worker.greeted && !worker.ticket;
  }));
}

std::size_t WorkerPool::compilers() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(workers_, [](const Worker& worker) { return !worker.is_device; }));
}

bool WorkerPool::device_is_idle(std::size_t unit) const {
  const Worker& device = workers_[unit];
  return !device.gone && device.greeted && !device.ticket;
}

std::vector<pid_t> WorkerPool::process_ids() const {
  std::vector<pid_t> ids;
  for (const Worker& worker : workers_) {
    if (worker.process) ids.push_back(worker.process->pid());
  }
  for (const Worker& worker : workers_) {
    if (worker.spare.process) ids.push_back(worker.spare.process->pid());
  }
  return ids;
}

void WorkerPool::start(Worker& worker) {
  worker.process.reset();
  worker.greeted = false;
  worker.phase = Phase{};
  worker.broken.reset();
  worker.deadline = Clock::now() + seconds(command_.hello_timeout_s);
  if (worker.is_device) {
    worker.was_lost = worker.generation > 0;
    worker.generation = ++generations_;
    worker.was_spare = worker.spare.process != nullptr;
    if (worker.was_spare) {
      worker.process = std::move(worker.spare.process);
      worker.greeted = worker.spare.greeted;
      worker.deadline = worker.spare.deadline;
      return;
    }
    worker.process = std::make_unique<WorkerProcess>(command_.devices[unit_of(worker)], 0);
  } else {
    worker.process =
        std::make_unique<WorkerProcess>(command_.compile, command_.compile_address_space);
  }
}

void WorkerPool::start_spare(Worker& worker) {
  if (!worker.was_lost || worker.spare.has_failed || worker.spare.process) return;
  worker.spare.greeted = false;
  worker.spare.deadline = Clock::now() + seconds(command_.hello_timeout_s);
  worker.spare.process = std::make_unique<WorkerProcess>(command_.devices[unit_of(worker)], 0);
}

void WorkerPool::collect_spare(Worker& worker) {
  Worker::Spare& spare = worker.spare;
  std::vector<Frame> frames;
  bool open = true;
  try {
    open = spare.process->read(frames);
    for (const Frame& frame : frames) {
      spare.greeted =
          frame.type == MessageType::hello &&
          unpack<DeviceHello>(frame.payload).device == greeting_.devices[unit_of(worker)];
      open = open && spare.greeted;
    }
  } catch (const WireError&) {
    open = false;
  }
  if (!open) lose_spare(worker);
}

/// For example where there is no memory for another context.
void WorkerPool::lose_spare(Worker& worker) {
  worker.spare.process.reset();
  worker.spare.has_failed = true;
}

void WorkerPool::send_compile(Worker& worker) {
  ++worker.attempts;
  worker.deadline = Clock::now() + seconds(command_.compile_timeout_s);
  worker.process->send(
      {.type = MessageType::compile, .sequence = *worker.ticket, .payload = pack(worker.batch)});
}

Ticket WorkerPool::compile(CompileBatch batch) {
  const auto idle = std::ranges::find_if(workers_, [](const Worker& worker) {
    return !worker.is_device && worker.greeted && !worker.ticket;
  });
  idle->ticket = ++last_ticket_;
  idle->batch = std::move(batch);
  idle->attempts = 0;
  send_compile(*idle);
  return last_ticket_;
}

Ticket WorkerPool::ask_device(std::size_t unit, MessageType type, std::vector<std::uint8_t> payload,
                              double deadline_s) {
  Worker& device = workers_[unit];
  // Its buffers may need all of the memory.
  if (type == MessageType::prepare) device.spare.process.reset();
  device.ticket = ++last_ticket_;
  device.phase = Phase{};
  device.deadline = Clock::now() + seconds(deadline_s);
  device.process->send({.type = type, .sequence = last_ticket_, .payload = std::move(payload)});
  return last_ticket_;
}

void WorkerPool::restart_device(std::size_t unit) {
  Worker& device = workers_[unit];
  if (device.gone) return;
  ++deaths_;
  device.ticket.reset();
  if (device.process->end(0).cause == WorkerDeath::Cause::stuck) {
    give_up(device, stuck_text(true), early_events_);
  } else {
    start(device);
  }
}

void WorkerPool::give_up_unit(std::size_t unit, const std::string& why) {
  give_up(workers_[unit], why, early_events_);
}

void WorkerPool::give_up(Worker& worker, const std::string& why, std::vector<WorkerEvent>& events) {
  const auto left = std::ranges::count_if(
      workers_, [](const Worker& other) { return other.is_device && !other.gone; });
  if (!worker.is_device || !worker.has_started || left == 1) throw UnavailableError(why);
  worker.gone = true;
  worker.process.reset();
  worker.spare.process.reset();
  WorkerEvent event = {.kind = WorkerEvent::Kind::unit_gone,
                       .ticket = worker.ticket.value_or(0),
                       .unit = unit_of(worker)};
  event.death.message = why;
  event.death.phase_number = worker.phase.number;
  events.push_back(std::move(event));
  worker.ticket.reset();
}

int WorkerPool::poll_timeout_ms(double timeout_s) const {
  Clock::time_point until = Clock::now() + seconds(timeout_s);
  for (const Worker& worker : workers_) {
    if (worker.gone) continue;
    if (!worker.greeted || worker.ticket) until = std::min(until, worker.deadline);
    if (worker.spare.process && !worker.spare.greeted) {
      until = std::min(until, worker.spare.deadline);
    }
  }
  const double left_ms = std::chrono::duration<double, std::milli>(until - Clock::now()).count();
  return static_cast<int>(std::ceil(std::max(0.0, left_ms)));
}

std::vector<WorkerEvent> WorkerPool::wait(double timeout_s) {
  std::vector<WorkerEvent> events = std::exchange(early_events_, {});
  if (!events.empty()) return events;
  std::vector<pollfd> polled;
  constexpr pollfd kNeverReady = {.fd = -1, .events = 0, .revents = 0};
  for (const Worker& worker : workers_) {
    if (worker.gone) {
      polled.resize(polled.size() + kPolled, kNeverReady);
      continue;
    }
    const short wanted =
        static_cast<short>(POLLIN | (worker.process->wants_to_write() ? POLLOUT : 0));
    polled.push_back({.fd = worker.process->socket(), .events = wanted, .revents = 0});
    polled.push_back({.fd = worker.process->log_descriptor(), .events = POLLIN, .revents = 0});
    const auto& spare = worker.spare.process;
    polled.push_back(spare ? pollfd{.fd = spare->socket(), .events = POLLIN, .revents = 0}
                           : kNeverReady);
    polled.push_back(spare ? pollfd{.fd = spare->log_descriptor(), .events = POLLIN, .revents = 0}
                           : kNeverReady);
  }
  const int ready = poll(polled.data(), polled.size(), poll_timeout_ms(timeout_s));
  if (ready < 0 && errno != EINTR) {
    throw UnavailableError(std::string("waiting for workers: ") + std::strerror(errno));
  }
  if (ready > 0) {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const pollfd* const its = &polled[kPolled * i];
      // A spare first: it may take the worker's place in a moment.
      if (its[3].revents != 0) workers_[i].spare.process->read_log();
      if (its[2].revents != 0) collect_spare(workers_[i]);
      if (its[1].revents != 0) workers_[i].process->read_log();
      if ((its[0].revents & POLLOUT) != 0) workers_[i].process->write();
      if ((its[0].revents & ~POLLOUT) != 0) collect(workers_[i], events);
    }
  }
  enforce_deadlines(events);
  return events;
}

void WorkerPool::collect(Worker& worker, std::vector<WorkerEvent>& events) {
  std::vector<Frame> frames;
  bool open = true;
  try {
    open = worker.process->read(frames);
    for (const Frame& frame : frames) {
      take(worker, frame, events);
      if (worker.gone) return;
    }
  } catch (const WireError& error) {
    lose(worker, WorkerDeath::Cause::protocol, error.what(), events);
    return;
  }
  if (!open) lose(worker, WorkerDeath::Cause::ended, "", events);
}

void WorkerPool::take(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events) {
  if (frame.type == MessageType::broken) {
    // It ends now; lose() tells what it said.
    worker.broken = unpack<Broken>(frame.payload);
    return;
  }
  if (!worker.greeted) {
    greet(worker, frame, events);
    return;
  }
  if (!worker.ticket || frame.sequence != *worker.ticket) {
    throw WireError("an answer to no question");
  }
  if (frame.type == MessageType::phase) {
    worker.phase = unpack<Phase>(frame.payload);
    return;
  }
  reply(worker, frame, events);
}

void WorkerPool::greet(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events) {
  if (frame.type != MessageType::hello) throw WireError("no greeting");
  if (worker.is_device) {
    Device device = unpack<DeviceHello>(frame.payload).device;
    Device& known = greeting_.devices[unit_of(worker)];
    const bool is_first = known.name.empty();
    if (!is_first && device != known) {
      give_up(worker,
              "the device worker found another device: " + device.name + " " + device.uuid +
                  " instead of " + known.name + " " + known.uuid,
              events);
      return;
    }
    known = std::move(device);
  } else {
    const auto hello = unpack<CompilerHello>(frame.payload);
    greeting_.compiler = hello.version;
    greeting_.compiler_sha256 = hello.sha256;
  }
  worker.greeted = true;
  worker.has_started = true;
  failed_starts_ = 0;
  if (!worker.is_device && worker.ticket) send_compile(worker);
}

void WorkerPool::reply(Worker& worker, const Frame& frame, std::vector<WorkerEvent>& events) {
  WorkerEvent event = {.ticket = *worker.ticket};
  if (worker.is_device) {
    event.kind = WorkerEvent::Kind::replied;
    event.generation = worker.generation;
    event.reply = frame;
    if (frame.type == MessageType::prepared) start_spare(worker);
  } else {
    if (frame.type != MessageType::compiled) throw WireError("no module");
    auto compiled = unpack<CompileReply>(frame.payload);
    check(compiled, worker.batch);
    event.compiled = outcomes_of(std::move(compiled));
  }
  worker.ticket.reset();
  events.push_back(std::move(event));
}

void WorkerPool::lose(Worker& worker, WorkerDeath::Cause cause, const std::string& message,
                      std::vector<WorkerEvent>& events) {
  ++deaths_;
  WorkerDeath death = worker.process->end(cause == WorkerDeath::Cause::ended ? kEndPatience_s : 0);
  if (death.cause == WorkerDeath::Cause::stuck) {
    give_up(worker, stuck_text(worker.is_device), events);
    return;
  }
  if (!worker.greeted && worker.was_spare) {  // It says nothing of one that starts by itself.
    lose_spare(worker);
    start(worker);
    return;
  }
  death.cause = cause;
  death.message = message;
  death.phase = worker.phase.name;
  death.phase_number = worker.phase.number;
  if (worker.broken) {
    // A compiler that is broken is broken for every variant, and so is a worker that cannot start.
    if (worker.broken->input) throw InputError(worker.broken->message);
    death.shortage = worker.broken->shortage;
    const bool try_again = death.shortage && worker.greeted && worker.attempts < kMaxAttempts;
    if (!worker.greeted || (!worker.is_device && !try_again)) {
      give_up(worker, worker.broken->message, events);
      return;
    }
    death.message = worker.broken->message;
  }
  if (!worker.greeted && (!death.from_outside() || ++failed_starts_ > kMaxFailedStarts)) {
    give_up(worker,
            std::string("a ") + name_of(worker.is_device) + " does not start: " + death.text(),
            events);
    return;
  }
  if (!worker.is_device) {
    lose_compiler(worker, death, events);
  } else if (worker.ticket) {
    events.push_back({.kind = WorkerEvent::Kind::device_lost,
                      .ticket = *worker.ticket,
                      .generation = worker.generation,
                      .death = death});
    worker.ticket.reset();
  }
  start(worker);
}

void WorkerPool::lose_compiler(Worker& worker, const WorkerDeath& death,
                               std::vector<WorkerEvent>& events) {
  if (!worker.ticket) return;
  const bool try_again = !worker.greeted || ((death.from_outside() || death.shortage) &&
                                             worker.attempts < kMaxAttempts);
  if (try_again) return;  // Sent when the next worker has greeted.
  const bool overdue = death.cause == WorkerDeath::Cause::deadline;
  const Failure lost =
      overdue
          ? failure({Status::compile, "compile_timeout"},
                    "compiling took longer than " +
                        std::to_string(static_cast<int>(command_.compile_timeout_s)) +
                        " s and was ended")
          : failure({Status::compile, "crash"}, "the compiler's process was lost: " + death.text());
  events.push_back({.kind = WorkerEvent::Kind::compiled,
                    .ticket = *worker.ticket,
                    .compiled = CompiledTogether(worker.batch.requests.size(), lost),
                    .compiler_lost = true});
  worker.ticket.reset();
}

void WorkerPool::enforce_deadlines(std::vector<WorkerEvent>& events) {
  const Clock::time_point now = Clock::now();
  for (Worker& worker : workers_) {
    if (worker.spare.process && !worker.spare.greeted && now >= worker.spare.deadline) {
      lose_spare(worker);
    }
    if (!worker.gone && (!worker.greeted || worker.ticket) && now >= worker.deadline) {
      lose(worker, WorkerDeath::Cause::deadline, "", events);
    }
  }
}

}  // namespace smemtune
