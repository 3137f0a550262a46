#include "tuner/backend/cuda/cubin.h"

#include "tuner/core/error.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <string_view>

namespace smemtune::cuda {
namespace {

// Attributes of a section .nv.info.<kernel>: a format byte, an attribute byte, and either a 16-bit
// value or, for format 4, a 16-bit length and so many bytes.
constexpr std::uint8_t kFormatSized = 4;
constexpr std::uint8_t kAttributeMaxThreads = 5;  // EIATTR_MAX_THREADS: x, y, z of the bounds

template <typename T>
T read(std::span<const std::uint8_t> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    throw UnavailableError("the compiler's cubin is cut short: " + std::to_string(sizeof(T)) +
                           " bytes at " + std::to_string(offset) + " of " +
                           std::to_string(bytes.size()));
  }
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::span<const std::uint8_t> part(std::span<const std::uint8_t> bytes, std::uint64_t offset,
                                   std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) {
    throw UnavailableError("the compiler's cubin is cut short: " + std::to_string(size) +
                           " bytes at " + std::to_string(offset) + " of " +
                           std::to_string(bytes.size()));
  }
  return bytes.subspan(offset, size);
}

std::string_view text_at(std::span<const std::uint8_t> strings, std::uint64_t offset) {
  const auto rest = strings.subspan(std::min<std::uint64_t>(offset, strings.size()));
  const auto* const end =
      static_cast<const std::uint8_t*>(std::memchr(rest.data(), 0, rest.size()));
  const std::size_t length =
      end == nullptr ? rest.size() : static_cast<std::size_t>(end - rest.data());
  return {reinterpret_cast<const char*>(rest.data()), length};
}

// 0 where the kernel has no launch bounds.
int max_threads(std::span<const std::uint8_t> attributes) {
  std::uint64_t offset = 0;
  while (offset + 4 <= attributes.size()) {
    const auto format = attributes[offset];
    const auto attribute = attributes[offset + 1];
    const auto size = read<std::uint16_t>(attributes, offset + 2);
    if (format == kFormatSized && attribute == kAttributeMaxThreads && size >= 12) {
      return read<std::int32_t>(attributes, offset + 4) *
             read<std::int32_t>(attributes, offset + 8) *
             read<std::int32_t>(attributes, offset + 12);
    }
    offset += 4u + (format == kFormatSized ? size : 0u);
  }
  return 0;
}

}  // namespace

CubinFacts cubin_facts(std::span<const std::uint8_t> image) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    throw UnavailableError("the compiler's cubin is no 64-bit ELF");
  }
  const auto section = [&](std::uint64_t i) {
    return read<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const Elf64_Shdr names_section = section(header.e_shstrndx);
  const auto names = part(image, names_section.sh_offset, names_section.sh_size);

  CubinFacts facts;
  constexpr std::string_view kInfoPrefix = ".nv.info.";
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr found = section(i);
    const std::string_view name = text_at(names, found.sh_name);
    if (name == ".nv.constant3") facts.constant_bytes = static_cast<std::int64_t>(found.sh_size);
    if (!name.starts_with(kInfoPrefix)) continue;
    if (const int threads = max_threads(part(image, found.sh_offset, found.sh_size)); threads > 0) {
      facts.max_threads_per_block.emplace(name.substr(kInfoPrefix.size()), threads);
    }
  }
  return facts;
}

}  // namespace smemtune::cuda
