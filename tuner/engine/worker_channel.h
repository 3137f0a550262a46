#pragma once

#include "tuner/engine/wire.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace smemtune {

/// Where a worker finds its end of the socket, and the variable that tells it so.
constexpr int kWorkerDescriptor = 3;
constexpr std::string_view kWorkerVariable = "SMEMTUNE_WORKER_DESCRIPTOR";

/// Where a worker process finds its requests and puts its replies.
struct WorkerDescriptors {
  int in = -1;
  int out = -1;
};

/// As the environment of a worker process has them; nullopt when this process is none.
std::optional<WorkerDescriptors> worker_descriptors();

/// The worker's end: waits for requests and answers them one by one.
class WorkerChannel {
 public:
  /// The descriptors are not passed on to programs that the worker starts.
  WorkerChannel(int in, int out);

  /// The next request; nullopt when the parent has closed its end. Throws WireError.
  std::optional<Frame> receive();

  /// Sends a message that belongs to the request received last.
  template <typename Message>
  void send(MessageType type, const Message& message) {
    write({.type = type, .sequence = sequence_, .payload = pack(message)});
  }

  /// Tells what is done now, in case it never ends.
  void tell_phase(const std::string& name, int number = 0);

 private:
  void write(const Frame& frame) const;

  int in_;
  int out_;
  FrameDecoder decoder_;
  std::uint64_t sequence_ = 0;
};

/// A worker's whole life: `serve` answers until the parent has closed its end; an Error is told the
/// parent, and ends it. Returns the exit status. `name`: as messages call it, `compile worker`.
int worker_main(const char* name, int in, int out,
                const std::function<void(WorkerChannel&)>& serve);

}  // namespace smemtune
