#include "tuner/backend/fresh_data.h"

#include "tuner/backend/element_rule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace smemtune {
namespace {

bool is_drawn(const Init& init) {
  return init.kind == Init::Kind::uniform || init.kind == Init::Kind::normal ||
         init.kind == Init::Kind::permutation;
}

bool reads(const Argument& argument, const std::string& name) {
  return std::ranges::any_of(
      argument.reads, [&](const Argument& read) { return read.name == name || reads(read, name); });
}

/// Returns `value` with other low bits. A subnormal number stays as it is: it has no bits to spare.
template <typename Bits, typename Float>
Float with_noise(Float value, Bits noise, const Redraw& how) {
  const auto noisy = std::bit_cast<Float>(std::bit_cast<Bits>(value) ^ noise);
  const bool fits = std::isnormal(value) && noisy >= how.low && noisy <= how.high;
  return fits ? noisy : value;
}

template <typename Bits, typename Float>
void add_noise(const Redraw& how, Bits kept, std::int64_t begin, std::int64_t end,
               std::uint8_t* to) {
  for (std::int64_t i = begin; i < end; ++i) {
    Float value = 0;
    std::memcpy(&value, to + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    const Bits noise = noise_bits(how.noise, static_cast<std::uint64_t>(i)) & kept;
    value = with_noise(value, noise, how);
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
  }
}

}  // namespace

bool can_redraw(const Argument& argument, const std::vector<Argument>& all) {
  return argument.is_buffer() && !argument.in_constant_memory() && is_drawn(argument.init) &&
         !argument.is_scratch() && std::ranges::none_of(all, [&](const Argument& other) {
           return reads(other, argument.name);
         });
}

Redraw redraw_for(const Argument& argument, std::uint64_t key) {
  Redraw how;
  const auto count = static_cast<std::uint64_t>(argument.elements());
  if (key == 0 || count == 0) return how;
  const std::uint64_t bits = stream_of(argument, key);
  how.offset = static_cast<std::int64_t>(bits % count);
  // For shorter types a kernel could hold a table of all values.
  if (argument.type < ScalarType::float32 || argument.begins_as) return how;
  how.noise = static_cast<std::uint32_t>(bits >> 32) | 1u;
  if (argument.init.kind == Init::Kind::uniform) {
    how.low = std::min(argument.init.a, argument.init.b);
    how.high = std::max(argument.init.a, argument.init.b);
  }
  return how;
}

void redraw(std::span<const std::uint8_t> from, ScalarType type, const Redraw& how,
            std::int64_t begin, std::int64_t end, std::uint8_t* to) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  const std::int64_t count = static_cast<std::int64_t>(from.size()) / size;
  const auto copy = [&](std::int64_t first, std::int64_t last, std::int64_t shift) {
    if (first >= last) return;
    std::memcpy(to + first * size, from.data() + (first + shift) * size,
                static_cast<std::size_t>((last - first) * size));
  };
  const std::int64_t wraps = count - how.offset;
  copy(begin, std::min(end, wraps), how.offset);
  copy(std::max(begin, wraps), end, how.offset - count);
  if (how.noise == 0) return;
  if (type == ScalarType::float32) {
    add_noise<std::uint32_t, float>(how, kFloatNoise, begin, end, to);
  } else {
    add_noise<std::uint64_t, double>(how, kDoubleNoise, begin, end, to);
  }
}

void apply_mask(std::uint64_t mask, std::uint64_t begin, std::span<std::uint8_t> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = random_bits(mask, (begin + i) / 8);
    for (std::size_t k = 0; k < std::min<std::size_t>(8, bytes.size() - i); ++k) {
      bytes[i + k] ^= static_cast<std::uint8_t>(word >> (8 * k));
    }
  }
}

std::uint64_t unforeseeable() {
  thread_local std::mt19937_64 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return engine() | 1u;
}

}  // namespace smemtune
