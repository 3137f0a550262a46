#include "tuner/engine/wire.h"

#include "tuner/core/hash.h"

#include <cstring>
#include <new>
#include <zlib.h>

namespace smemtune {

std::size_t max_payload_bytes(MessageType type) {
  constexpr std::size_t kMegabyte = 1024 * 1024;
  switch (type) {
    case MessageType::compiled:
    case MessageType::prepare:
    case MessageType::evaluate:
    case MessageType::module:
      return 256 * kMegabyte;
    default:
      return 16 * kMegabyte;
  }
}

namespace {

constexpr std::uint32_t kMagic = 0x4D545753;  // "SWTM" in memory.
constexpr std::size_t kCrcOffset = 28;
constexpr std::uint16_t kDeflated = 0x8000;

/// Smaller payloads fit into the first pieces that a carrier sends.
constexpr std::size_t kDeflatedFrom = 1024;

template <typename T>
void store(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <typename T>
T load(const std::uint8_t* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Checksum of a whole frame except the checksum field.
std::uint32_t checksum(std::span<const std::uint8_t> frame) {
  std::array<std::uint8_t, 8> sums{};
  store(sums.data(), crc32(frame.first(kCrcOffset)));
  store(sums.data() + 4, crc32(frame.subspan(kFrameHeaderBytes)));
  return crc32(sums);
}

void refuse_too_large(const Frame& frame) {
  if (frame.payload.size() > max_payload_bytes(frame.type)) {
    throw WireError("a message of " + std::to_string(frame.payload.size()) + " bytes, at most " +
                    std::to_string(max_payload_bytes(frame.type)) + " can be sent");
  }
}

std::vector<std::uint8_t> encode_as(const Frame& frame, std::uint16_t flags,
                                    std::span<const std::uint8_t> payload) {
  std::vector<std::uint8_t> bytes(kFrameHeaderBytes);
  bytes.reserve(kFrameHeaderBytes + payload.size());
  store(bytes.data(), kMagic);
  store(bytes.data() + 4, kWireVersion);
  store(bytes.data() + 6,
        static_cast<std::uint16_t>(static_cast<std::uint16_t>(frame.type) | flags));
  store(bytes.data() + 8, static_cast<std::uint32_t>(payload.size()));
  store(bytes.data() + 12, frame.sequence);
  store(bytes.data() + 20, frame.worker);
  store(bytes.data() + 24, frame.deadline_ms);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  store(bytes.data() + kCrcOffset, checksum(bytes));
  return bytes;
}

/// Inflates a payload. `bytes`: its length and the deflated bytes. Throws WireError when they are
/// invalid or the payload is larger than `limit` bytes.
std::vector<std::uint8_t> inflated(std::span<const std::uint8_t> bytes, std::size_t limit) {
  constexpr std::size_t kMostShrunk = 1032;  // No deflated byte can stand for more.
  const std::size_t length = bytes.size() < 4 ? 0 : load<std::uint32_t>(bytes.data());
  if (length == 0 || length > limit || length / kMostShrunk > bytes.size()) {
    throw WireError("a deflated message that says it has " + std::to_string(length) + " bytes");
  }
  std::vector<std::uint8_t> payload(length);
  auto size = static_cast<uLongf>(length);
  const int status =
      uncompress(payload.data(), &size, bytes.data() + 4, static_cast<uLong>(bytes.size() - 4));
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_OK || size != length) throw WireError("a message that cannot be inflated");
  return payload;
}

}  // namespace

std::vector<std::uint8_t> encode(const Frame& frame) {
  refuse_too_large(frame);
  return encode_as(frame, 0, frame.payload);
}

std::vector<std::uint8_t> encode_deflated(const Frame& frame) {
  refuse_too_large(frame);
  const std::size_t length = frame.payload.size();
  if (length < kDeflatedFrom) return encode(frame);
  auto size = compressBound(static_cast<uLong>(length));
  std::vector<std::uint8_t> payload(4 + size);
  store(payload.data(), static_cast<std::uint32_t>(length));
  const int status = compress2(payload.data() + 4, &size, frame.payload.data(),
                               static_cast<uLong>(length), Z_BEST_SPEED);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_OK || 4 + size >= length) return encode(frame);
  return encode_as(frame, kDeflated, std::span(payload).first(4 + size));
}

void FrameDecoder::append(std::span<const std::uint8_t> bytes) {
  if (begin_ > 0) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<Frame> FrameDecoder::next() {
  const std::span<const std::uint8_t> bytes = std::span(buffer_).subspan(begin_);
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  if (load<std::uint32_t>(bytes.data()) != kMagic) throw WireError("no message: wrong first bytes");
  if (load<std::uint16_t>(bytes.data() + 4) != kWireVersion) {
    throw WireError("a message of another version");
  }
  const auto type_and_flag = load<std::uint16_t>(bytes.data() + 6);
  const auto type = static_cast<std::uint16_t>(type_and_flag & ~kDeflated);
  if (type < static_cast<std::uint16_t>(MessageType::hello) ||
      type > static_cast<std::uint16_t>(kLastMessageType)) {
    throw WireError("a message of unknown type " + std::to_string(type));
  }
  const std::size_t length = load<std::uint32_t>(bytes.data() + 8);
  if (length > max_payload_bytes(static_cast<MessageType>(type))) {
    throw WireError("a message of " + std::to_string(length) + " bytes, at most " +
                    std::to_string(max_payload_bytes(static_cast<MessageType>(type))) +
                    " are allowed");
  }
  if (bytes.size() < kFrameHeaderBytes + length) return std::nullopt;
  const std::span<const std::uint8_t> whole = bytes.first(kFrameHeaderBytes + length);
  if (load<std::uint32_t>(bytes.data() + kCrcOffset) != checksum(whole)) {
    throw WireError("a message with a wrong checksum");
  }
  const std::span<const std::uint8_t> payload = whole.subspan(kFrameHeaderBytes);
  begin_ += whole.size();
  return Frame{.type = static_cast<MessageType>(type),
               .sequence = load<std::uint64_t>(bytes.data() + 12),
               .payload = (type_and_flag & kDeflated) != 0
                              ? inflated(payload, max_payload_bytes(static_cast<MessageType>(type)))
                              : std::vector(payload.begin(), payload.end()),
               .worker = load<std::uint32_t>(bytes.data() + 20),
               .deadline_ms = load<std::uint32_t>(bytes.data() + 24)};
}

void Reader::raw(void* data, std::size_t size) {
  if (size > left_.size()) throw WireError("a message that ends too early");
  if (size > 0) std::memcpy(data, left_.data(), size);
  left_ = left_.subspan(size);
}

void Reader::finish() const {
  if (!left_.empty()) {
    throw WireError("a message with " + std::to_string(left_.size()) + " bytes too many");
  }
}

void Reader::get(bool& value) {
  std::uint8_t byte = 0;
  get(byte);
  if (byte > 1) throw WireError("a flag that is " + std::to_string(byte));
  value = byte == 1;
}

void Reader::check_enumerator(std::uint32_t number, std::uint32_t last) {
  if (number > last) {
    throw WireError("an enumerator " + std::to_string(number) + ", the last is " +
                    std::to_string(last));
  }
}

std::size_t Reader::get_size() {
  std::uint64_t size = 0;
  get(size);
  if (size > left_.size()) throw WireError("a message that claims more than it holds");
  return static_cast<std::size_t>(size);
}

void Reader::get(std::string& value) {
  value.resize(get_size());
  raw(value.data(), value.size());
}

void Reader::get(std::filesystem::path& value) {
  std::string text;
  get(text);
  value = text;
}

void Reader::get(std::vector<std::uint8_t>& value) {
  value.resize(get_size());
  raw(value.data(), value.size());
}

void Reader::get(Value& value) {
  bool is_word = false;
  get(is_word);
  if (is_word) {
    std::string word;
    get(word);
    value = std::move(word);
  } else {
    std::int64_t number = 0;
    get(number);
    value = number;
  }
}

}  // namespace smemtune
