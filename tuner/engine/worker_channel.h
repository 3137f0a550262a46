#pragma once

#include "tuner/engine/wire.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace smemtune {

/// The descriptor of a worker's end of the socket, and the environment variable that names it.
constexpr int kWorkerDescriptor = 3;
constexpr std::string_view kWorkerVariable = "SMEMTUNE_WORKER_DESCRIPTOR";

/// Returns the descriptor in a worker's environment; nullopt when this process is no worker.
std::optional<int> worker_descriptor();

/// The worker's end: waits for requests and answers them one by one.
class WorkerChannel {
 public:
  /// The descriptor is not passed on to programs that the worker starts.
  explicit WorkerChannel(int descriptor);

  /// Returns the next request; nullopt when the parent has closed its end. Throws WireError.
  std::optional<Frame> receive();

  /// Sends a message that belongs to the last received request.
  template <typename Message>
  void send(MessageType type, const Message& message) {
    write({.type = type, .sequence = sequence_, .payload = pack(message)});
  }

  /// Reports what is done now, in case it never ends.
  void tell_phase(const std::string& name, int number = 0);

 private:
  void write(const Frame& frame) const;

  int descriptor_;
  FrameDecoder decoder_;
  std::uint64_t sequence_ = 0;
};

/// Has this process and the threads that it will start yield to others, from 1 to 19, the most.
/// Throws MachineError.
void lower_priority(int niceness);

/// Runs a worker: `serve` answers requests until the parent has closed its end; an Error is
/// reported to the parent and ends the worker. Returns the exit status. `name`: for messages, such
/// as `compile worker`.
int worker_main(const char* name, int descriptor, const std::function<void(WorkerChannel&)>& serve);

}  // namespace smemtune
