#include "tuner/engine/frame_link.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace smemtune {

namespace {

constexpr int kBeatsInSilence = 4;

void set_nonblocking(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) {
    throw WireError("a link's descriptor cannot be made non-blocking");
  }
}

}  // namespace

FrameLink::FrameLink(int in, int out, double silence_s)
    : in_(in),
      out_(out),
      silence_(
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(silence_s))) {
  set_nonblocking(in_);
  set_nonblocking(out_);
  // A broken link is an error of write() and must not end the process.
  struct sigaction before = {};
  sigaction(SIGPIPE, nullptr, &before);
  if (before.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
  // The heartbeat thread blocks all signals; they are left to the threads that handle them.
  sigset_t all;
  sigset_t kept;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &kept);
  heart_ = std::thread([this] { beat(); });
  pthread_sigmask(SIG_SETMASK, &kept, nullptr);
}

FrameLink::~FrameLink() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  end_.notify_one();
  heart_.join();
}

void FrameLink::beat() {
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, silence_ / kBeatsInSilence, [this] { return ends_; })) beat_locked();
}

void FrameLink::beat_locked() {
  // Waiting data proves that this end is alive as well as a heartbeat does.
  if (sent_ == outbox_.size()) {
    const std::vector<std::uint8_t> heartbeat =
        encode({.type = MessageType::heartbeat, .sequence = 0, .payload = {}});
    outbox_.insert(outbox_.end(), heartbeat.begin(), heartbeat.end());
  }
  write_locked();
}

void FrameLink::send(const Frame& frame) {
  const std::vector<std::uint8_t> bytes = encode_deflated(frame);
  const std::lock_guard lock(mutex_);
  outbox_.insert(outbox_.end(), bytes.begin(), bytes.end());
  write_locked();
}

void FrameLink::write() {
  const std::lock_guard lock(mutex_);
  write_locked();
}

bool FrameLink::wants_to_write() const {
  const std::lock_guard lock(mutex_);
  return sent_ < outbox_.size();
}

void FrameLink::write_locked() {
  while (sent_ < outbox_.size()) {
    const ssize_t size = ::write(out_, outbox_.data() + sent_, outbox_.size() - sent_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;  // Full, or the other end is gone, which read() finds.
    sent_ += static_cast<std::size_t>(size);
  }
  outbox_.clear();
  sent_ = 0;
}

bool FrameLink::read(std::vector<Frame>& frames) {
  std::array<std::uint8_t, 65536> buffer = {};
  bool open = true;
  bool anything = false;
  // This also finds frames in bytes that append() added.
  for (;;) {
    while (std::optional<Frame> frame = decoder_.next()) {
      if (frame->type != MessageType::heartbeat) frames.push_back(std::move(*frame));
    }
    const ssize_t size = ::read(in_, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      open = size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      break;
    }
    heard_at_ = Clock::now();
    anything = true;
    decoder_.append(std::span(buffer).first(static_cast<std::size_t>(size)));
  }
  // srun sends pieces of a kilobyte and lets TCP hold back all but the first (Nagle) until the
  // other side acknowledges it: after 40 ms, or with the first data that it sends itself.
  if (anything && decoder_.inside_frame()) {
    const std::lock_guard lock(mutex_);
    beat_locked();
  }
  return open;
}

}  // namespace smemtune
