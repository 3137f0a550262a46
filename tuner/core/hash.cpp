#include "tuner/core/hash.h"

#include <bit>
#include <cstddef>
#include <zlib.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace smemtune {

namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

constexpr std::size_t kBlockBytes = 64;

void add_block(State& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
           std::uint32_t{block[4 * i + 2]} << 8 | std::uint32_t{block[4 * i + 3]};
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t t1 = h + s1 + choice + kRoundConstants[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t t2 = s0 + majority;
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const State added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

#ifdef __x86_64__

/// Whether the processor has SHA's instructions, with those that they are used with.
bool has_sha_instructions() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kSse41 = 1u << 19;
  constexpr unsigned kSha = 1u << 29;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kSse41) != 0 &&
         __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

/// What add_block() does, for several blocks and about six times as fast.
__attribute__((target("sha,sse4.1"))) void add_blocks_by_instructions(State& state,
                                                                      const std::uint8_t* block,
                                                                      std::size_t blocks) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions want the words as f e b a and h g d c, the lowest first.
  auto [a, b, c, d, e, f, g, h] = state;
  const auto vector = [](std::uint32_t w3, std::uint32_t w2, std::uint32_t w1, std::uint32_t w0) {
    return _mm_set_epi32(static_cast<int>(w3), static_cast<int>(w2), static_cast<int>(w1),
                         static_cast<int>(w0));
  };
  __m128i abef = vector(a, b, e, f);
  __m128i cdgh = vector(c, d, g, h);
  for (; blocks > 0; --blocks, block += kBlockBytes) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const auto* words = reinterpret_cast<const __m128i*>(block) + i;
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(words), big_endian);
    }
    for (std::size_t i = 0; i < 16; ++i) {
      const auto* constants = reinterpret_cast<const __m128i*>(kRoundConstants.data()) + i;
      __m128i& its = w[i % 4];
      const __m128i sum = _mm_add_epi32(its, _mm_loadu_si128(constants));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      const __m128i last = w[(i + 3) % 4];
      const __m128i seven_back = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
      its = _mm_add_epi32(_mm_sha256msg1_epu32(its, w[(i + 1) % 4]), seven_back);
      its = _mm_sha256msg2_epu32(its, last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  alignas(16) std::array<std::uint32_t, 4> feba{};
  alignas(16) std::array<std::uint32_t, 4> hgdc{};
  _mm_store_si128(reinterpret_cast<__m128i*>(feba.data()), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(hgdc.data()), cdgh);
  state = {feba[3], feba[2], hgdc[3], hgdc[2], feba[1], feba[0], hgdc[1], hgdc[0]};
}

#endif

constexpr State kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/// Adds the whole blocks of `bytes` and gives what is left of them.
std::string_view add_blocks(State& state, std::string_view bytes) {
#ifdef __x86_64__
  static const bool is_quick = has_sha_instructions();
  if (is_quick) {
    const std::size_t blocks = bytes.size() / kBlockBytes;
    add_blocks_by_instructions(state, reinterpret_cast<const std::uint8_t*>(bytes.data()), blocks);
    return bytes.substr(blocks * kBlockBytes);
  }
#endif
  for (; bytes.size() >= kBlockBytes; bytes.remove_prefix(kBlockBytes)) {
    add_block(state, reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }
  return bytes;
}

/// The hash of all, when `rest` is what is left of so many bytes.
std::string finish(State& state, std::string_view rest, std::uint64_t bytes) {
  // The rest, a one bit, zeros, and the length in bits in the last eight bytes.
  std::array<std::uint8_t, 2 * kBlockBytes> tail{};
  for (std::size_t i = 0; i < rest.size(); ++i) tail[i] = static_cast<std::uint8_t>(rest[i]);
  tail[rest.size()] = 0x80;
  const std::size_t tail_bytes = rest.size() + 1 + 8 <= kBlockBytes ? kBlockBytes : tail.size();
  const std::uint64_t bits = bytes * 8;
  for (std::size_t i = 0; i < 8; ++i) {
    tail[tail_bytes - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
  for (std::size_t i = 0; i < tail_bytes; i += kBlockBytes) add_block(state, tail.data() + i);

  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[(word >> shift) & 15u];
  }
  return text;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  State state = kStart;
  const std::string_view rest = add_blocks(state, bytes);
  return finish(state, rest, bytes.size());
}

std::string sha256(std::istream& stream) {
  State state = kStart;
  std::string chunk(std::size_t{1} << 16, '\0');  // A multiple of a block.
  std::uint64_t bytes = 0;
  std::string_view rest;
  while (rest.empty()) {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    const auto count = static_cast<std::size_t>(stream.gcount());
    bytes += count;
    rest = add_blocks(state, std::string_view(chunk).substr(0, count));
    if (count < chunk.size()) break;
  }
  return finish(state, rest, bytes);
}

std::uint32_t crc32(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(::crc32_z(0, nullptr, 0), bytes.data(), bytes.size()));
}

}  // namespace smemtune
