#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace smemtune {

/// Bytes that are made, in parts, when they are first asked for. Several threads may ask at once.
class LateBytes {
 public:
  /// Sets `part` to the bytes from `begin` on, which is a multiple of 8. Is called once for each
  /// part, by several threads at once.
  using Make = std::function<void(std::size_t begin, std::span<std::uint8_t> part)>;

  LateBytes(std::size_t bytes, Make make);

  std::size_t size() const { return bytes_; }

  /// Returns all bytes, of which those from `begin` to `end` - 1 have been made.
  std::span<const std::uint8_t> with(std::size_t begin, std::size_t end) const;

 private:
  enum class State : std::uint8_t { none, in_work, made };

  void provide(std::size_t part) const;

  std::size_t bytes_;
  Make make_;
  std::unique_ptr<std::uint8_t[]> memory_;
  mutable std::vector<std::atomic<State>> states_;  ///< Of each part.
};

}  // namespace smemtune
