// Takes any bytes from a worker, or to one: they are whole frames with a message each, or a
// WireError says why not.

#include "tuner/engine/messages.h"
#include "tuner/engine/wire.h"

#include <cstdint>
#include <span>

using namespace smemtune;

namespace {

/// Checks that a message that can be read is written as the same bytes.
template <typename Message>
void read(std::span<const std::uint8_t> payload) {
  try {
    const auto message = unpack<Message>(payload);
    if (pack(unpack<Message>(pack(message))) != pack(message)) std::abort();
  } catch (const WireError&) {
  }
}

void read_all(std::span<const std::uint8_t> payload) {
  read<CompilerHello>(payload);
  read<Device>(payload);
  read<Broken>(payload);
  read<Phase>(payload);
  read<CompileBatch>(payload);
  read<CompileReply>(payload);
  read<PrepareRequest>(payload);
  read<PrepareReply>(payload);
  read<EvaluateRequest>(payload);
  read<EvaluateReply>(payload);
  read<SampleRoundRequest>(payload);
  read<SampleRoundReply>(payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FrameDecoder decoder;
  try {
    for (std::size_t at = 0; at < size; at += 16) {
      decoder.append({data + at, std::min<std::size_t>(16, size - at)});
      while (const auto frame = decoder.next()) read_all(frame->payload);
    }
  } catch (const WireError&) {
  }
  read_all({data, size});  // Reads the payload without the checksum, which no mutation keeps valid.
  return 0;
}
