#pragma once

#include "tuner/core/hash.h"
#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// Timed launches get data that no kernel has seen before. A kernel that recognizes known data, or
// that tells launches whose output is compared from the others, therefore gains nothing.

namespace smemtune {

/// Describes how a buffer's contents are drawn anew from its initial ones: the elements are rotated
/// by some places, and floating-point elements get other low bits. Elements that were drawn
/// independently keep their distribution, and a permutation remains one.
struct Redraw {
  std::int64_t offset = 0;  ///< Element i becomes the initial element (i + offset) % n...
  std::uint32_t noise = 0;  ///< ... with other low bits, if this is not 0...
  double low = -std::numeric_limits<double>::infinity();  ///< ... unless these leave this range.
  double high = std::numeric_limits<double>::infinity();
};

/// Returns true if other contents would do as well: no element depends on its index or on another
/// element, and no definition of another argument reads the buffer.
bool can_redraw(const Argument& argument, const std::vector<Argument>& all);

/// Returns the redraw of a buffer for a key, if the buffer can be redrawn; key 0 stands for its
/// initial contents.
Redraw redraw_for(const Argument& argument, std::uint64_t key);

/// Writes elements `begin` to `end` - 1 of the redrawn contents. `from` and `to` are whole buffers.
void redraw(std::span<const std::uint8_t> from, ScalarType type, const Redraw& how,
            std::int64_t begin, std::int64_t end, std::uint8_t* to);

/// Returns the random bits for the low bits of element `i`. device_kernels.cpp has the same
/// function.
constexpr std::uint32_t noise_bits(std::uint32_t noise, std::uint64_t i) {
  std::uint32_t x = (static_cast<std::uint32_t>(i) * 0x9E3779B1u) ^ noise;
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

/// Low mantissa bits that are drawn anew, of the 23 of a float and of the 52 of a double.
constexpr std::uint32_t kFloatNoise = 0xFFF;
constexpr std::uint64_t kDoubleNoise = 0xFFFFFFFF;

/// XORs `bytes`, which begin at a multiple of 8 of a buffer, with the stream of `mask`; a second
/// call undoes the first. The reference's answers to drawn data are kept in this form, because
/// kernels can read all of the memory.
void apply_mask(std::uint64_t mask, std::uint64_t begin, std::span<std::uint8_t> bytes);

/// Returns a number that no kernel can foresee; never 0.
std::uint64_t unforeseeable();

}  // namespace smemtune
