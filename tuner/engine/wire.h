#pragma once

#include "tuner/core/error.h"
#include "tuner/core/fields.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/outcome.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace smemtune {

/// Thrown for bytes that are not a message. Their sender can no longer be trusted.
class WireError : public Error {
 public:
  using Error::Error;
};

/// Messages between parent and workers. Requests come from the parent; each is answered by one
/// reply with the same sequence number, with any number of `phase` messages before it.
enum class MessageType : std::uint16_t {
  hello = 1,  ///< A worker's first message.
  broken,     ///< Instead of hello or a reply: the worker cannot go on, and ends.
  phase,      ///< Announces what the worker is about to do.
  compile,    ///< A compile worker's request.
  compiled,   ///< A compile worker's reply.
  prepare,    ///< The device worker's requests and replies.
  prepared,
  evaluate,
  evaluated,
  sample_round,
  sampled,
  heartbeat,     ///< Sent by both ends of a link between hosts to show that they are alive.
  welcome,       ///< First message to another host (host_agent.h).
  host_hello,    ///< The other host's answer to `welcome`.
  start_worker,  ///< To another host: start a process with the frame's worker number.
  end_worker,    ///< To another host: kill the process.
  worker_ended,  ///< From a host: how the process ended.
  note,          ///< From a host: a line for people.
  file,          ///< To another host: part of a file that its workers will read.
  module,        ///< Before a request: a module's image, with its number as the sequence.
  drop_modules,  ///< To another host: numbers of modules that will not be used any more.
};
constexpr MessageType kLastMessageType = MessageType::drop_modules;

struct Frame {
  MessageType type = MessageType::hello;
  std::uint64_t sequence = 0;
  std::vector<std::uint8_t> payload;
  /// On a link that several workers share: the worker that sends or receives it.
  std::uint32_t worker = 0;
  /// In a request: after this time its worker is killed; 0: never.
  std::uint32_t deadline_ms = 0;

  bool operator==(const Frame&) const = default;
};

/// Bytes of a header: magic u32, version u16, type u16 (highest bit set: the payload is deflated,
/// behind its true length u32), payload length u32, sequence u64, worker u32, deadline u32, CRC-32
/// of the header's other bytes and the payload.
constexpr std::size_t kFrameHeaderBytes = 32;

/// Version of the header and of all messages: both ends of a link must have the same.
constexpr std::uint16_t kWireVersion = 10;

/// Returns the largest payload of a message: 256 MB if it may carry modules, else 16 MB.
std::size_t max_payload_bytes(MessageType type);

/// Returns the frame's bytes. Throws WireError when the payload is too large.
std::vector<std::uint8_t> encode(const Frame& frame);

/// Like encode(), but deflates large payloads where that makes them smaller: for a link on which
/// sending bytes takes longer than deflating them.
std::vector<std::uint8_t> encode_deflated(const Frame& frame);

/// Assembles frames from bytes as they arrive. Never holds more than one frame and the bytes
/// appended last, because a header that promises too much is refused before its payload arrives.
class FrameDecoder {
 public:
  void append(std::span<const std::uint8_t> bytes);

  /// Returns the next whole frame, or nullopt until more bytes arrive. Throws WireError.
  std::optional<Frame> next();

  /// Whether a frame has begun and not ended.
  bool inside_frame() const { return begin_ < buffer_.size(); }

 private:
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;
};

// The last enumerator of each enumeration that is sent, so that a reader refuses larger values.
constexpr ScalarType last_enumerator(ScalarType) { return ScalarType::float64; }
constexpr Role last_enumerator(Role) { return Role::scratch; }
constexpr MemorySpace last_enumerator(MemorySpace) { return MemorySpace::texture_2d; }
constexpr TextureReading::Address last_enumerator(TextureReading::Address) {
  return TextureReading::Address::mirror;
}
constexpr Init::Kind last_enumerator(Init::Kind) { return Init::Kind::full_range; }
constexpr DeviceKind last_enumerator(DeviceKind) { return DeviceKind::cpu; }
constexpr Status last_enumerator(Status) { return Status::timeout; }
constexpr ComparedWith last_enumerator(ComparedWith) { return ComparedWith::only_itself; }

/// Writes values as bytes, in this machine's layout: both ends run the same version.
class Writer {
 public:
  template <typename... Ts>
  void operator()(const Ts&... values) {
    (put(values), ...);
  }

  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  void raw(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }

  template <typename T>
  requires(std::is_arithmetic_v<T>) void put(const T& value) { raw(&value, sizeof value); }

  template <typename T>
  requires(std::is_enum_v<T>) void put(const T& value) { put(static_cast<std::uint32_t>(value)); }

  void put_size(std::size_t size) { put(static_cast<std::uint64_t>(size)); }

  void put(const std::string& value) {
    put_size(value.size());
    raw(value.data(), value.size());
  }

  void put(const std::filesystem::path& value) { put(value.string()); }

  void put(const std::vector<std::uint8_t>& value) {
    put_size(value.size());
    raw(value.data(), value.size());
  }

  template <typename T>
  void put(const std::vector<T>& values) {
    put_size(values.size());
    for (const T& value : values) put(value);
  }

  template <typename T, std::size_t N>
  void put(const std::array<T, N>& values) {
    for (const T& value : values) put(value);
  }

  template <typename K, typename V, typename C>
  void put(const std::map<K, V, C>& values) {
    put_size(values.size());
    for (const auto& [name, value] : values) (*this)(name, value);
  }

  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }

  void put(const Value& value) {
    const bool is_word = std::holds_alternative<std::string>(value);
    put(is_word);
    if (is_word) {
      put(std::get<std::string>(value));
    } else {
      put(std::get<std::int64_t>(value));
    }
  }

  template <typename T>
  void put(const T& value) requires requires(Writer& writer, const T& described) {
    fields(writer, described);
  }
  { fields(*this, value); }

  std::vector<std::uint8_t> bytes_;
};

/// Reads what Writer wrote. Every read is checked against the bytes left, and every enumerator and
/// flag against its range; no memory is allocated for a size before its elements have been read.
/// Throws WireError.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  template <typename... Ts>
  void operator()(Ts&... values) {
    (get(values), ...);
  }

  /// Throws WireError when bytes are left.
  void finish() const;

 private:
  void raw(void* data, std::size_t size);

  template <typename T>
  requires(std::is_arithmetic_v<T>) void get(T& value) { raw(&value, sizeof value); }

  void get(bool& value);

  template <typename T>
  requires(std::is_enum_v<T>) void get(T& value) {
    std::uint32_t number = 0;
    get(number);
    check_enumerator(number, static_cast<std::uint32_t>(last_enumerator(T{})));
    value = static_cast<T>(number);
  }

  static void check_enumerator(std::uint32_t number, std::uint32_t last);

  /// Reads a number of elements, each of which takes at least one byte.
  std::size_t get_size();

  void get(std::string& value);
  void get(std::filesystem::path& value);
  void get(std::vector<std::uint8_t>& value);

  template <typename T>
  void get(std::vector<T>& values) {
    const std::size_t size = get_size();
    values.clear();
    for (std::size_t i = 0; i < size; ++i) {
      T value{};
      get(value);
      values.push_back(std::move(value));
    }
  }

  template <typename T, std::size_t N>
  void get(std::array<T, N>& values) {
    for (T& value : values) get(value);
  }

  template <typename K, typename V, typename C>
  void get(std::map<K, V, C>& values) {
    const std::size_t size = get_size();
    values.clear();
    for (std::size_t i = 0; i < size; ++i) {
      K name{};
      V value{};
      (*this)(name, value);
      values.insert_or_assign(std::move(name), std::move(value));
    }
  }

  template <typename T>
  void get(std::optional<T>& value) {
    bool has_value = false;
    get(has_value);
    value.reset();
    if (has_value) get(value.emplace());
  }

  void get(Value& value);

  template <typename T>
  void get(T& value) requires requires(Reader& reader, T& described) {
    fields(reader, described);
  }
  {
    // Recursive types nest no deeper than a space file can express.
    constexpr int kMostLevels = 100;
    if (++level_ > kMostLevels) throw WireError("a message that is nested too deep");
    fields(*this, value);
    --level_;
  }

  std::span<const std::uint8_t> left_;
  int level_ = 0;
};

/// Returns a message as a payload.
template <typename Message>
std::vector<std::uint8_t> pack(const Message& message) {
  Writer writer;
  writer(message);
  return writer.take();
}

/// Returns the message in a payload. Throws WireError unless it is one, to its last byte.
template <typename Message>
Message unpack(std::span<const std::uint8_t> payload) {
  Message message;
  Reader reader(payload);
  reader(message);
  reader.finish();
  return message;
}

}  // namespace smemtune
