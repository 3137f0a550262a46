#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace smemtune {

class InputFile;

/// Returns the SHA-256 (FIPS 180-4) of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

/// Returns the SHA-256 of the rest of the file, from where it has been read to. Throws InputError
/// if it cannot be read.
std::string sha256(InputFile& file);

/// Returns the CRC-32 of IEEE 802.3 (reflected, polynomial 0xEDB88320).
std::uint32_t crc32(std::span<const std::uint8_t> bytes);

/// Returns element `index` of the seed's stream of random 64-bit numbers. Elements are computed
/// from their index, so they can be had one by one and in parallel (SplitMix64's finalizer, Steele
/// et al. 2014).
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace smemtune
