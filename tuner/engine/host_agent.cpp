#include "tuner/engine/host_agent.h"

#include "tuner/backend/npy_file.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/input_file.h"
#include "tuner/engine/device_lock.h"
#include "tuner/engine/frame_link.h"
#include "tuner/engine/remote_host.h"
#include "tuner/engine/worker_host.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <poll.h>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune {

namespace {

constexpr double kLockInterval_s = 0.5;

class HostAgent {
 public:
  HostAgent(double silence_s, const std::function<HostHello(const HostWelcome&)>& describe,
            const std::filesystem::path& files, int in, int out)
      : link_(in, out, silence_s), describe_(describe), files_(files), in_(in), out_(out) {}

  /// Returns when the parent is gone.
  void serve() {
    while (true) {
      std::vector<pollfd> polled;
      polled.push_back({.fd = in_, .events = POLLIN, .revents = 0});
      polled.push_back({.fd = link_.wants_to_write() ? out_ : -1, .events = POLLOUT, .revents = 0});
      workers_.add_polled(polled);
      poll_until(polled, wake_at());
      if (polled[1].revents != 0) link_.write();
      if (polled[0].revents != 0 && !read()) return;
      if (FrameLink::Clock::now() >= link_.lost_at()) {
        throw UnavailableError("nothing more was heard from the parent");
      }
      forward(std::span(polled).subspan(2));
      do_what_was_asked();
      start_what_waits();
    }
  }

 private:
  struct Waiting {
    std::uint32_t worker = 0;
    WorkerStart start;
    std::string said;
  };

  FrameLink::Clock::time_point wake_at() const {
    const FrameLink::Clock::time_point until = std::min(link_.lost_at(), workers_.wake_at());
    return waiting_.empty() ? until : std::min(until, in_seconds(kLockInterval_s));
  }

  /// Only queues the requests: the polled workers must still exist in forward().
  bool read() {
    std::vector<Frame> frames;
    const bool open = link_.read(frames);
    for (Frame& frame : frames) asked_.push_back(std::move(frame));
    return open;
  }

  void forward(std::span<const pollfd> polled) {
    std::vector<HostEvent> events;
    workers_.take(polled, events);
    for (const HostEvent& event : events) {
      if (event.kind == HostEvent::Kind::message) {
        if (event.frame.type == MessageType::compiled) keep_modules(event.frame);
        link_.send(event.frame);
      } else {
        tell_end(event.worker, event.death);
      }
    }
  }

  void do_what_was_asked() {
    for (const Frame& frame : std::exchange(asked_, {})) take(frame);
  }

  void start_what_waits() {
    for (Waiting& waiting : std::exchange(waiting_, {})) {
      const std::string why = lock(waiting.start.lock);
      if (why.empty()) {
        waiting.start.lock.clear();
        start(waiting.worker, std::move(waiting.start));
      } else {
        if (why != waiting.said) {
          link_.send({.type = MessageType::note,
                      .sequence = 0,
                      .payload = pack(std::string("waiting: ") + why)});
        }
        waiting.said = why;
        waiting_.push_back(std::move(waiting));
      }
    }
  }

  void take(const Frame& frame) {
    switch (frame.type) {
      case MessageType::welcome:
        welcome_ = unpack<HostWelcome>(frame.payload);
        try {
          link_.send({.type = MessageType::host_hello,
                      .sequence = 0,
                      .payload = pack(describe_(welcome_))});
        } catch (const Error& error) {
          Broken broken;
          broken.message = error.what();
          link_.send({.type = MessageType::broken, .sequence = 0, .payload = pack(broken)});
          throw;
        }
        return;
      case MessageType::file:
        keep(unpack<FilePiece>(frame.payload));
        return;
      case MessageType::start_worker:
        start(frame.worker, unpack<WorkerStart>(frame.payload));
        return;
      case MessageType::end_worker: {
        const auto death = unpack<WorkerDeath>(frame.payload);
        std::erase_if(waiting_, [&](const Waiting& one) { return one.worker == frame.worker; });
        workers_.end(frame.worker, death.cause, death.message);
        return;
      }
      case MessageType::module: {
        auto module = std::make_shared<NumberedModule>();
        module->image = frame.payload;
        module->number = frame.sequence;
        modules_.insert_or_assign(module->number, std::move(module));
        return;
      }
      case MessageType::drop_modules:
        for (const auto number : unpack<std::vector<std::uint64_t>>(frame.payload)) {
          modules_.erase(number);
        }
        return;
      default:
        workers_.send(frame, modules_for(frame));
    }
  }

  void keep(const FilePiece& piece) const {
    const bool is_name = piece.sha256.size() == 64 &&
                         piece.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_name) throw WireError("a file without a name");
    const std::filesystem::path part = files_ / (piece.sha256 + ".part");
    std::ofstream stream(part, std::ios::binary | std::ios::app);
    stream.write(reinterpret_cast<const char*>(piece.bytes.data()),
                 static_cast<std::streamsize>(piece.bytes.size()));
    stream.close();
    if (!stream) throw UnavailableError(part.string() + ": cannot be written");
    if (!piece.last) return;
    InputFile whole(part);
    // A file that has changed since the parent read it would not match the results.
    if (sha256(whole) == piece.sha256) {
      std::filesystem::rename(part, files_ / piece.sha256);
    } else {
      std::filesystem::remove(part);
    }
  }

  /// Keeps modules compiled here, so that those measured here need not come back.
  void keep_modules(const Frame& compiled) {
    try {
      for (auto& outcome : outcomes_of(unpack<CompileReply>(compiled.payload), compiled.sequence)) {
        if (outcome) modules_.insert_or_assign((*outcome)->number, *outcome);
      }
    } catch (const WireError&) {
      return;  // The parent reports the worker's error.
    }
  }

  std::vector<Module> modules_for(const Frame& request) const {
    std::vector<Module> modules;
    for (const std::uint64_t number : images_of(request)) {
      const auto found = modules_.find(number);
      if (found == modules_.end()) throw WireError("a request with a module that was not sent");
      modules.push_back(found->second);
    }
    return modules;
  }

  void start(std::uint32_t worker, WorkerStart start) {
    WorkerDeath death;
    death.cause = WorkerDeath::Cause::no_start;
    try {
      if (!start.lock.empty()) {
        death.message = lock(start.lock);
        if (!death.message.empty() && welcome_.waits) {
          waiting_.push_back({.worker = worker, .start = std::move(start), .said = ""});
          return;
        }
      }
      if (death.message.empty()) {
        workers_.start(worker, start);
        return;
      }
    } catch (const UnavailableError& error) {
      death.message = error.what();
    }
    tell_end(worker, death);
  }

  void tell_end(std::uint32_t worker, const WorkerDeath& death) {
    link_.send({.type = MessageType::worker_ended,
                .sequence = 0,
                .payload = pack(death),
                .worker = worker});
  }

  /// Takes the lock that a worker needs. Returns why it cannot be had now; empty if it is held.
  std::string lock(const std::string& name) {
    auto held = locks_.find(name);
    if (held != locks_.end()) return "";
    DeviceLock lock(lock_folder(), name);
    const LockHolder self = {
        .process_id = getpid(), .purpose = welcome_.purpose, .since = std::time(nullptr)};
    if (lock.try_lock(self)) {
      locks_.emplace(name, std::move(lock));
      return "";
    }
    const auto holder = lock.holder();
    return name + " is in use by another smemtune" + (holder ? ": " + to_text(*holder) : "");
  }

  FrameLink link_;
  const std::function<HostHello(const HostWelcome&)>& describe_;
  const std::filesystem::path& files_;
  int in_;
  int out_;
  HostWelcome welcome_;
  std::vector<Frame> asked_;
  std::map<std::uint64_t, Module> modules_;  ///< Modules by number; only their images matter.
  std::map<std::string, DeviceLock> locks_;
  std::vector<Waiting> waiting_;  ///< Workers that wait for locks.
  LocalHost workers_;             ///< Destroyed first, while the locks are held.
};

}  // namespace

int host_agent_main(const std::string& version, double silence_s,
                    const std::function<HostHello(const HostWelcome&)>& describe,
                    const std::filesystem::path& files, int in, int out) {
  constexpr int kBroken = 1;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread is started.
  setenv(kFilesVariable, files.c_str(), 1);
  // A batch system sends these to every process of a job; the parent decides how to react.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  const std::string line = host_line(version) + "\n";
  if (::write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return kBroken;
  try {
    HostAgent(silence_s, describe, files, in, out).serve();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "smemtune's agent: %s\n", error.what());
    return kBroken;
  }
}

}  // namespace smemtune
