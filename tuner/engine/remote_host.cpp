#include "tuner/engine/remote_host.h"

#include "tuner/core/error.h"
#include "tuner/core/input_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <unistd.h>
#include <utility>

namespace smemtune {

namespace {

constexpr std::string_view kFirstWord = "smemtune-host ";
// Limit of what login scripts may print before the first line.
constexpr std::size_t kMostFirstBytes = 65536;
// After this many failed calls nothing waits for the host, though it is called again.
constexpr int kVainCalls = 5;
constexpr double kLongestPause_s = 60;
constexpr double kCarrierPatience_s = 5;

}  // namespace

std::string host_line(const std::string& version) {
  return std::string(kFirstWord) + version + " " + std::to_string(kWireVersion);
}

RemoteHost::RemoteHost(HostAddress address) : address_(std::move(address)) { call(); }

RemoteHost::~RemoteHost() {
  hang_up();
  if (carrier_) carrier_->end_gently(kCarrierPatience_s);
}

bool RemoteHost::is_given_up() const {
  return state_ == State::refused || failed_calls_ >= kVainCalls;
}

void RemoteHost::call() {
  state_ = State::calling;
  first_bytes_.clear();
  act_at_ = in_seconds(address_.connect_timeout_s);
  try {
    carrier_ = std::make_unique<WorkerProcess>(address_.carrier, 0, WorkerProcess::Kind::carrier);
  } catch (const UnavailableError& error) {
    first_bytes_ = error.what();
    act_at_ = Clock::now();  // take() reports it.
  }
}

void RemoteHost::hang_up() {
  link_.reset();
  if (carrier_) carrier_->hang_up();
}

void RemoteHost::start(std::uint32_t worker, const WorkerStart& start) {
  if (!link_) return;
  link_->send(
      {.type = MessageType::start_worker, .sequence = 0, .payload = pack(start), .worker = worker});
}

void RemoteHost::send(const Frame& frame, std::span<const Module> modules) {
  if (!link_) return;
  for (const Module& module : modules) provide(module);
  link_->send(frame);
  drop_modules();
}

void RemoteHost::provide(const Module& module) {
  if (modules_.emplace(module->number, module).second) link_->send(image_frame(*module));
}

/// Drops the images of modules that no longer exist here, once they may be about half of all.
void RemoteHost::drop_modules() {
  constexpr std::size_t kFew = 64;
  if (modules_.size() < kFew + 2 * modules_needed_) return;
  std::vector<std::uint64_t> dropped;
  for (const auto& [number, module] : modules_) {
    if (module.expired()) dropped.push_back(number);
  }
  for (const std::uint64_t number : dropped) modules_.erase(number);
  modules_needed_ = modules_.size();
  link_->send({.type = MessageType::drop_modules, .sequence = 0, .payload = pack(dropped)});
}

void RemoteHost::provide(const DataFile& file) {
  constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
  if (!link_ || provided_.contains(file.sha256)) return;
  try {
    InputFile input(file.path);
    FilePiece piece = {.sha256 = file.sha256, .bytes = {}};
    while (!piece.last) {
      piece.bytes.resize(kPieceBytes);
      piece.bytes.resize(
          input.read({reinterpret_cast<char*>(piece.bytes.data()), piece.bytes.size()}));
      piece.last = piece.bytes.size() < kPieceBytes;
      link_->send({.type = MessageType::file, .sequence = 0, .payload = pack(piece)});
    }
  } catch (const InputError&) {
    return;  // Whoever reads the file reports the error.
  }
  provided_.insert(file.sha256);
}

void RemoteHost::end(std::uint32_t worker, WorkerDeath::Cause cause, const std::string& message) {
  if (!link_) return;
  WorkerDeath death;
  death.cause = cause;
  death.message = message;
  link_->send(
      {.type = MessageType::end_worker, .sequence = 0, .payload = pack(death), .worker = worker});
}

void RemoteHost::add_polled(std::vector<pollfd>& polled) const {
  if (!carrier_) return;
  const bool writes = link_ && link_->wants_to_write();
  polled.push_back({.fd = carrier_->socket(),
                    .events = static_cast<short>(POLLIN | (writes ? POLLOUT : 0)),
                    .revents = 0});
  polled.push_back({.fd = carrier_->log_descriptor(), .events = POLLIN, .revents = 0});
}

WorkerHost::Clock::time_point RemoteHost::wake_at() const {
  switch (state_) {
    case State::up:
      return link_->lost_at();
    case State::refused:
      return Clock::time_point::max();
    default:
      return act_at_;
  }
}

void RemoteHost::take(std::span<const pollfd> polled, std::vector<HostEvent>& events) {
  if (state_ == State::refused) return;
  if (state_ == State::waiting) {
    if (Clock::now() >= act_at_) call();
    return;
  }
  if (!carrier_) {
    lose(first_bytes_, events);
    return;
  }
  if (polled.size() == 2) {
    if (polled[1].revents != 0) carrier_->read_log();
    if (link_ && (polled[0].revents & POLLOUT) != 0) link_->write();
    if ((polled[0].revents & ~POLLOUT) != 0) {
      try {
        read(events);
      } catch (const WireError& error) {
        lose(std::string("it sent ") + error.what(), events);
      }
    }
  }
  const Clock::time_point now = Clock::now();
  if (state_ == State::up && now >= link_->lost_at()) {
    char text[64];
    std::snprintf(text, sizeof text, "not heard from for %.3g s", address_.silence_s);
    lose(text, events);
  } else if ((state_ == State::calling || state_ == State::greeting) && now >= act_at_) {
    lose("no answer after " + std::to_string(std::lround(address_.connect_timeout_s)) + " s",
         events);
  }
}

/// Starts the link behind the agent's first line.
void RemoteHost::read_first_line() {
  std::array<char, 4096> buffer = {};
  const ssize_t size = ::read(carrier_->socket(), buffer.data(), buffer.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) throw UnavailableError("");
  first_bytes_.append(buffer.data(), static_cast<std::size_t>(size));
  std::size_t begin = 0;
  if (!first_bytes_.starts_with(kFirstWord)) {
    begin = first_bytes_.find("\n" + std::string(kFirstWord));
    if (begin == std::string::npos) {
      if (first_bytes_.size() > kMostFirstBytes) throw WireError("something other than a greeting");
      return;
    }
    ++begin;
  }
  const std::size_t end = first_bytes_.find('\n', begin);
  if (end == std::string::npos) return;
  const std::string line = first_bytes_.substr(begin, end - begin);
  const std::string ours = host_line(address_.version);
  if (line != ours) {
    const auto its = [](const std::string& text) {  // `0.2.0 2`
      const std::string rest = text.substr(kFirstWord.size());
      const std::size_t space = rest.find(' ');
      return rest.substr(0, space) + " (messages " +
             (space == std::string::npos ? "?" : rest.substr(space + 1)) + ")";
    };
    throw InputError("it has smemtune " + its(line) + ", this host has " + its(ours) +
                     ": the versions must be the same");
  }
  link_ = std::make_unique<FrameLink>(carrier_->socket(), carrier_->socket(), address_.silence_s);
  link_->append({reinterpret_cast<const std::uint8_t*>(first_bytes_.data()) + end + 1,
                 first_bytes_.size() - end - 1});
  link_->send({.type = MessageType::welcome, .sequence = 0, .payload = pack(address_.welcome)});
  state_ = State::greeting;
}

void RemoteHost::read(std::vector<HostEvent>& events) {
  if (!link_) {
    try {
      read_first_line();
    } catch (const UnavailableError&) {
      const WorkerDeath death = carrier_->end(1);
      lose("it does not answer: " + address_.carrier.front() + " " + death.text(), events);
      return;
    } catch (const InputError& error) {
      lose(error.what(), events);
      state_ = State::refused;
      return;
    }
    if (!link_) return;
  }
  std::vector<Frame> frames;
  const bool open = link_->read(frames);
  for (Frame& frame : frames) {
    take(std::move(frame), events);
    if (!link_) return;
  }
  if (open) return;
  const WorkerDeath death = carrier_->end(1);
  lose("the link to it has ended: " + address_.carrier.front() + " " + death.text(), events);
}

void RemoteHost::take(Frame frame, std::vector<HostEvent>& events) {
  if (state_ == State::greeting) {
    if (frame.type == MessageType::broken) {
      lose(unpack<Broken>(frame.payload).message, events);
      return;
    }
    if (frame.type != MessageType::host_hello) throw WireError("no greeting");
    hello_ = unpack<HostHello>(frame.payload);
    state_ = State::up;
    failed_calls_ = 0;
    events.push_back({.kind = HostEvent::Kind::up});
    return;
  }
  HostEvent event = {.worker = frame.worker};
  if (frame.type == MessageType::worker_ended) {
    event.kind = HostEvent::Kind::ended;
    event.death = unpack<WorkerDeath>(frame.payload);
  } else if (frame.type == MessageType::note) {
    event.kind = HostEvent::Kind::note;
    event.text = unpack<std::string>(frame.payload);
  } else {
    event.frame = std::move(frame);
  }
  events.push_back(std::move(event));
}

void RemoteHost::lose(const std::string& why, std::vector<HostEvent>& events) {
  link_.reset();
  provided_.clear();
  modules_.clear();
  modules_needed_ = 0;
  std::string text = why;
  if (carrier_) {
    const std::string log = carrier_->end(0).log;
    if (!log.empty() && text.find(log) == std::string::npos) text += "; it printed: " + log;
  }
  carrier_.reset();
  while (text.ends_with('\n')) text.pop_back();
  ++failed_calls_;
  state_ = State::waiting;
  act_at_ = in_seconds(std::min(kLongestPause_s, address_.pause_s * std::exp2(failed_calls_ - 1)));
  events.push_back({.kind = HostEvent::Kind::down, .text = std::move(text)});
}

}  // namespace smemtune
