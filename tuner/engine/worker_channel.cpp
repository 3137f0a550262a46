#include "tuner/engine/worker_channel.h"

#include "tuner/core/error.h"
#include "tuner/core/machine_fault.h"
#include "tuner/core/whole_file.h"
#include "tuner/engine/messages.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace smemtune {

std::optional<int> worker_descriptor() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread is started.
  const char* text = std::getenv(std::string(kWorkerVariable).c_str());
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 0 || number > 1 << 20) return std::nullopt;
  return static_cast<int>(number);
}

void lower_priority(int niceness) {
  errno = 0;
  if (nice(niceness) == -1 && errno != 0) throw_system_error("a lower priority", errno);
}

WorkerChannel::WorkerChannel(int descriptor) : descriptor_(descriptor) {
  const int flags = fcntl(descriptor, F_GETFD);
  if (flags < 0 || fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) != 0) {
    throw UnavailableError("a worker's descriptor " + std::to_string(descriptor) + ": " +
                           std::strerror(errno));
  }
}

std::optional<Frame> WorkerChannel::receive() {
  std::array<std::uint8_t, 65536> buffer = {};
  for (;;) {
    if (std::optional<Frame> frame = decoder_.next()) {
      sequence_ = frame->sequence;
      return frame;
    }
    const ssize_t size = read(descriptor_, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    decoder_.append(std::span(buffer).first(static_cast<std::size_t>(size)));
  }
}

void WorkerChannel::tell_phase(const std::string& name, int number) {
  send(MessageType::phase, Phase{.name = name, .number = number});
}

void WorkerChannel::write(const Frame& frame) const {
  const std::vector<std::uint8_t> bytes = encode(frame);
  if (write_all(descriptor_, bytes.data(), bytes.size())) return;
  throw WireError(std::string("the parent is gone: ") + std::strerror(errno));
}

int worker_main(const char* name, int descriptor,
                const std::function<void(WorkerChannel&)>& serve) {
  constexpr int kBroken = 1;
  try {
    WorkerChannel channel(descriptor);
    try {
      serve(channel);
      return 0;
    } catch (const WireError&) {
      throw;
    } catch (const Error& error) {
      channel.send(MessageType::broken,
                   Broken{.message = error.what(),
                          .input = dynamic_cast<const InputError*>(&error) != nullptr,
                          .shortage = dynamic_cast<const MachineError*>(&error) != nullptr});
      return kBroken;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return kBroken;
  }
}

}  // namespace smemtune
