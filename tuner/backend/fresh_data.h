#pragma once

#include "tuner/core/hash.h"
#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// Timed launches meet data that no kernel has seen: a kernel that knows them already, or is told
// apart from one whose output is compared, has nothing to gain from either.

namespace smemtune {

/// How a buffer's contents are drawn anew from its initial ones: they are turned by some places,
/// and floating ones get other low bits. Elements that were drawn independently keep their
/// distribution, and a permutation remains one.
struct Redraw {
  std::int64_t offset = 0;  ///< Element i is what element (i + offset) % n is at first...
  std::uint32_t noise = 0;  ///< ... with these low bits, where not 0...
  double low = -std::numeric_limits<double>::infinity();  ///< ... and where it stays in this range.
  double high = std::numeric_limits<double>::infinity();
};

/// Whether other contents do as well: no element depends on its place or on another one, and no
/// definition of another argument reads them.
bool can_redraw(const Argument& argument, const std::vector<Argument>& all);

/// What a buffer that can be redrawn becomes for a key; 0 stands for its initial contents.
Redraw redraw_for(const Argument& argument, std::uint64_t key);

/// Elements `begin` to below `end` of such contents. `from` and `to` are whole buffers.
void redraw(std::span<const std::uint8_t> from, ScalarType type, const Redraw& how,
            std::int64_t begin, std::int64_t end, std::uint8_t* to);

/// The bits that become the low ones of element `i`. device_kernels.cpp has it, too.
constexpr std::uint32_t noise_bits(std::uint32_t noise, std::uint64_t i) {
  std::uint32_t x = (static_cast<std::uint32_t>(i) * 0x9E3779B1u) ^ noise;
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

/// So many low bits of the 23 of a float are drawn anew, and of the 52 of a double.
constexpr std::uint32_t kFloatNoise = 0xFFF;
constexpr std::uint64_t kDoubleNoise = 0xFFFFFFFF;

/// XORs `bytes`, which begin at a multiple of 8 of a buffer, with the stream of `mask`: the answers
/// to such data are kept so, as kernels can read all of the memory. The same again undoes it.
void apply_mask(std::uint64_t mask, std::uint64_t begin, std::span<std::uint8_t> bytes);

/// A number that no kernel can foresee; never 0.
std::uint64_t unforeseeable();

}  // namespace smemtune
