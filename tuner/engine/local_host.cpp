#include "tuner/core/error.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/worker_host.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <poll.h>
#include <utility>

namespace smemtune {

namespace {

// Time that a worker whose socket is closed has to end by itself, so that the cause of its end can
// be reported; a process that holds a GPU takes a while.
constexpr double kEndPatience_s = 5;
constexpr double kGoodbyePatience_s = 2;

// Descriptors polled for each worker: its socket and its log.
constexpr std::size_t kPolled = 2;

/// Removes phase messages and keeps the last one, to be reported when the worker has ended.
void take_phases(std::vector<Frame>& frames, Phase& phase) {
  for (const Frame& frame : frames) {
    if (frame.type == MessageType::phase) phase = unpack<Phase>(frame.payload);
  }
  std::erase_if(frames, [](const Frame& frame) { return frame.type == MessageType::phase; });
}

double milliseconds_until(WorkerHost::Clock::time_point until) {
  return std::max(
      0.0, std::chrono::duration<double, std::milli>(until - WorkerHost::Clock::now()).count());
}

/// Returns the timeout for poll(), at most the clock's longest wait.
int wait_ms(WorkerHost::Clock::time_point until) {
  constexpr std::chrono::duration<double, std::milli> kMost = WorkerHost::Clock::kLongestWait;
  return static_cast<int>(std::ceil(std::min(kMost.count(), milliseconds_until(until))));
}

}  // namespace

WorkerHost::Clock::time_point in_seconds(double s) {
  // No wait is longer than a day; a larger number could overflow the clock's ticks.
  return WorkerHost::Clock::now() + std::chrono::duration_cast<WorkerHost::Clock::duration>(
                                        std::chrono::duration<double>(std::clamp(s, 0.0, 86400.0)));
}

void poll_until(std::vector<pollfd>& polled, WorkerHost::Clock::time_point until) {
  int ready = 0;
  do {
    ready = poll(polled.data(), polled.size(), wait_ms(until));
    if (ready < 0 && errno != EINTR) {
      throw UnavailableError(std::string("waiting for workers: ") + std::strerror(errno));
    }
  } while (ready == 0 && WorkerHost::Clock::now() < until);
  if (ready > 0) return;
  for (pollfd& descriptor : polled) descriptor.revents = 0;
}

std::vector<std::vector<HostEvent>> take_from(const std::vector<WorkerHost*>& hosts,
                                              WorkerHost::Clock::time_point until) {
  std::vector<pollfd> polled;
  std::vector<std::size_t> ends;
  for (const WorkerHost* const host : hosts) {
    host->add_polled(polled);
    ends.push_back(polled.size());
  }
  poll_until(polled, until);
  std::vector<std::vector<HostEvent>> events(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    hosts[i]->take(std::span(polled).subspan(begin, ends[i] - begin), events[i]);
  }
  return events;
}

LocalHost::~LocalHost() {
  // Device workers give their memory back in order; compile workers may be killed at any time, and
  // so may device workers that have not greeted yet: they hold no data, and would end only after
  // they have created their context.
  const auto ends_in_order = [](const Worker& worker) {
    return worker.ends_in_order && !worker.is_busy && !worker.deadline;
  };
  for (auto& [number, worker] : workers_) {
    if (ends_in_order(worker)) {
      worker.process->hang_up();
    } else {
      worker.process->kill_now();  // All at once: each takes a few milliseconds to end.
    }
  }
  const Clock::time_point until = in_seconds(kGoodbyePatience_s);
  for (auto& [number, worker] : workers_) {
    if (ends_in_order(worker)) worker.process->end_gently(1e-3 * milliseconds_until(until));
    worker.process.reset();
  }
}

void LocalHost::start(std::uint32_t worker, const WorkerStart& start) {
  workers_[worker] = {.process = std::make_unique<WorkerProcess>(start.words, start.address_space),
                      .deadline = in_seconds(start.hello_timeout_s),
                      .is_busy = false,
                      .ends_in_order = start.ends_in_order};
}

void LocalHost::send(const Frame& frame, std::span<const Module> modules) {
  const auto found = workers_.find(frame.worker);
  if (found == workers_.end()) return;
  Request request = {.frame = frame, .modules = {modules.begin(), modules.end()}};
  if (found->second.is_busy) {
    found->second.waiting.push_back(std::move(request));
  } else {
    ask(found->second, request);
  }
}

void LocalHost::ask(Worker& worker, const Request& request) {
  if (request.frame.deadline_ms > 0) {
    worker.deadline = in_seconds(1e-3 * request.frame.deadline_ms);
  }
  worker.is_busy = true;
  worker.phase = Phase{};
  for (const Module& module : request.modules) worker.process->send(image_frame(*module));
  worker.process->send(request.frame);
}

void LocalHost::end(std::uint32_t worker, WorkerDeath::Cause cause, const std::string& message) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  WorkerDeath death =
      found->second.process->end(cause == WorkerDeath::Cause::ended ? kEndPatience_s : 0);
  if (death.cause != WorkerDeath::Cause::stuck) {
    death.cause = cause;
    death.message = message;
  }
  death.phase = found->second.phase.name;
  death.phase_number = found->second.phase.number;
  ended_.push_back({.kind = HostEvent::Kind::ended, .worker = worker, .death = std::move(death)});
  workers_.erase(found);
}

void LocalHost::add_polled(std::vector<pollfd>& polled) const {
  for (const auto& [number, worker] : workers_) {
    const short wanted =
        static_cast<short>(POLLIN | (worker.process->wants_to_write() ? POLLOUT : 0));
    polled.push_back({.fd = worker.process->socket(), .events = wanted, .revents = 0});
    polled.push_back({.fd = worker.process->log_descriptor(), .events = POLLIN, .revents = 0});
  }
}

WorkerHost::Clock::time_point LocalHost::wake_at() const {
  if (!ended_.empty()) return Clock::now();
  Clock::time_point at = Clock::time_point::max();
  for (const auto& [number, worker] : workers_) {
    if (worker.deadline) at = std::min(at, *worker.deadline);
  }
  return at;
}

void LocalHost::take(std::span<const pollfd> polled, std::vector<HostEvent>& events) {
  std::vector<std::uint32_t> numbers;
  for (const auto& [number, worker] : workers_) numbers.push_back(number);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Worker& worker = workers_.at(numbers[i]);
    const pollfd* const its = &polled[kPolled * i];
    if (its[1].revents != 0) worker.process->read_log();
    if ((its[0].revents & POLLOUT) != 0) worker.process->write();
    if ((its[0].revents & ~POLLOUT) != 0) read(numbers[i], worker, events);
  }
  const Clock::time_point now = Clock::now();
  for (const std::uint32_t number : numbers) {
    const auto found = workers_.find(number);
    if (found == workers_.end() || !found->second.deadline || now < *found->second.deadline) {
      continue;
    }
    end(number, WorkerDeath::Cause::deadline, "");
  }
  for (HostEvent& event : std::exchange(ended_, {})) events.push_back(std::move(event));
}

void LocalHost::read(std::uint32_t number, Worker& worker, std::vector<HostEvent>& events) {
  std::vector<Frame> frames;
  bool open = true;
  std::string wrong;
  try {
    open = worker.process->read(frames);
  } catch (const WireError& error) {
    wrong = error.what();
  }
  // Messages that came before the garbage count.
  try {
    take_phases(frames, worker.phase);
  } catch (const WireError& error) {
    wrong = error.what();
    frames.clear();
  }
  for (Frame& frame : frames) {
    worker.deadline.reset();
    worker.is_busy = false;
    worker.phase = Phase{};
    frame.worker = number;
    events.push_back(
        {.kind = HostEvent::Kind::message, .worker = number, .frame = std::move(frame)});
  }
  if (wrong.empty() && open && !worker.is_busy && !worker.waiting.empty()) {
    ask(worker, worker.waiting.front());
    worker.waiting.pop_front();
  }
  if (!wrong.empty()) {
    end(number, WorkerDeath::Cause::protocol, wrong);
  } else if (!open) {
    end(number, WorkerDeath::Cause::ended, "");
  }
}

pid_t LocalHost::process_id(std::uint32_t worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? -1 : found->second.process->pid();
}

}  // namespace smemtune
