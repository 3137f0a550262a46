#include "tuner/core/hash.h"

#include "tuner/core/input_file.h"

#include <cstddef>
#include <memory>
#include <openssl/evp.h>
#include <stdexcept>
#include <zlib.h>

namespace smemtune {

namespace {

class Sha256 {
 public:
  Sha256() {
    // Fetched once: looking up the implementation takes longer than hashing a line.
    static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    check(sha256 != nullptr && context_ != nullptr &&
          EVP_DigestInit_ex2(context_.get(), sha256, nullptr) == 1);
  }

  void add(std::string_view bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }

  std::string text() {
    std::array<std::uint8_t, 32> digest{};
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * digest.size());
    for (const unsigned byte : digest) {
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15u];
    }
    return text;
  }

 private:
  static void check(bool ok) {
    if (!ok) throw std::runtime_error("OpenSSL cannot compute a SHA-256 hash");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(),
                                                                   &EVP_MD_CTX_free};
};

}  // namespace

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.text();
}

std::string sha256(InputFile& file) {
  Sha256 hash;
  std::string piece(std::size_t{1} << 16, '\0');
  for (;;) {
    const std::size_t count = file.read(piece);
    hash.add(std::string_view(piece).substr(0, count));
    if (count < piece.size()) return hash.text();
  }
}

std::uint32_t crc32(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(::crc32_z(0, nullptr, 0), bytes.data(), bytes.size()));
}

}  // namespace smemtune
