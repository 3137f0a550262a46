#include "tuner/backend/cuda/cubin.h"

#include "tuner/backend/cuda/machine_code.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <elf.h>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune::cuda {
namespace {

// Attributes of a section .nv.info.<kernel>: a format byte, an attribute byte, and either a 16-bit
// value or, for format 4, a 16-bit length and as many bytes.
constexpr std::uint8_t kFormatSized = 4;
constexpr std::uint8_t kAttributeMaxThreads = 5;  // EIATTR_MAX_THREADS: x, y, z of the bounds

std::span<const std::uint8_t> part(std::span<const std::uint8_t> bytes, std::uint64_t offset,
                                   std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) {
    throw UnavailableError("the compiler's cubin is cut short: " + std::to_string(size) +
                           " bytes at " + std::to_string(offset) + " of " +
                           std::to_string(bytes.size()));
  }
  return bytes.subspan(offset, size);
}

template <typename T>
T read(std::span<const std::uint8_t> bytes, std::uint64_t offset) {
  T value = {};
  std::memcpy(&value, part(bytes, offset, sizeof(T)).data(), sizeof(T));
  return value;
}

std::string_view text_at(std::span<const std::uint8_t> strings, std::uint64_t offset) {
  const auto rest = strings.subspan(std::min<std::uint64_t>(offset, strings.size()));
  const auto* const end =
      static_cast<const std::uint8_t*>(std::memchr(rest.data(), 0, rest.size()));
  const std::size_t length =
      end == nullptr ? rest.size() : static_cast<std::size_t>(end - rest.data());
  return {reinterpret_cast<const char*>(rest.data()), length};
}

// Returns 0 if the kernel has no launch bounds.
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

std::string as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns a mangled name without the names of translation units in it, which hold the number of the
/// process that compiled: `_ZN25_INTERNAL_0_4_k_cu_5_12341xE` is the `x` of a file.
std::string without_unit(std::string_view name) {
  constexpr std::string_view kUnit = "_INTERNAL_";
  std::string text(name);
  for (std::size_t at = text.find(kUnit); at != std::string::npos; at = text.find(kUnit, at)) {
    std::size_t digits = at;
    while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9') --digits;
    std::size_t length = kUnit.size();
    std::from_chars(text.data() + digits, text.data() + at, length);
    text.erase(digits, at - digits + length);
    at = digits;
  }
  return text;
}

/// Lists names, places and sizes of the variables, in the order of their places.
std::string variables(std::span<const std::uint8_t> symbols,
                      std::span<const std::uint8_t> symbol_names) {
  std::vector<std::string> lines;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = read<Elf64_Sym>(symbols, at);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
    lines.push_back(std::to_string(symbol.st_value) + ' ' + std::to_string(symbol.st_size) + ' ' +
                    without_unit(text_at(symbol_names, symbol.st_name)) + '\n');
  }
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

/// Lists what the driver writes into a section when it loads the module: where, how, and of which
/// symbol, named or by its section and its place there.
std::string relocated(std::span<const std::uint8_t> entries, std::span<const std::uint8_t> symbols,
                      std::span<const std::uint8_t> symbol_names) {
  std::string text;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= entries.size(); at += sizeof(Elf64_Rela)) {
    const auto entry = read<Elf64_Rela>(entries, at);
    const auto symbol = read<Elf64_Sym>(symbols, ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym));
    for (const std::uint64_t number :
         {std::uint64_t{entry.r_offset}, std::uint64_t{ELF64_R_TYPE(entry.r_info)},
          static_cast<std::uint64_t>(entry.r_addend), std::uint64_t{symbol.st_shndx},
          std::uint64_t{symbol.st_value}}) {
      text += std::to_string(number) + ' ';
    }
    text += without_unit(text_at(symbol_names, symbol.st_name)) + '\n';
  }
  return text;
}

/// True for relocations of sections that only debuggers and profilers read: `.rela.debug_line`.
bool is_of_debugging(std::string_view relocations) {
  const std::string_view section =
      relocations.substr(std::min(relocations.find('.', 1), relocations.size()));
  return section.starts_with(".debug_") || section.starts_with(".nv_debug_");
}

}  // namespace

CubinFacts cubin_facts(std::span<const std::uint8_t> image, int capability) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    throw UnavailableError("the compiler's cubin is not a 64-bit ELF");
  }
  const auto section = [&](std::uint64_t i) {
    return read<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const Elf64_Shdr names_section = section(header.e_shstrndx);
  const auto names = part(image, names_section.sh_offset, names_section.sh_size);

  CubinFacts facts;
  constexpr std::string_view kInfoPrefix = ".nv.info.";
  constexpr std::string_view kTextPrefix = ".text.";
  constexpr std::string_view kConstantPrefix = ".nv.constant";
  constexpr std::string_view kGlobalPrefix = ".nv.global";
  constexpr std::string_view kSharedPrefix = ".nv.shared";
  bool is_relocated = false;
  bool is_understood = true;  // False if the driver relocates something unknown.
  std::string shared_by_all;  // Contents that any kernel's instructions may refer to.
  std::string loaded;         // Global variables, and what the driver relocates.
  std::map<std::string, std::string> codes;  // Keys are kernels.
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr found = section(i);
    const std::string_view name = text_at(names, found.sh_name);
    const auto content = found.sh_type == SHT_NOBITS ? std::span<const std::uint8_t>()
                                                     : part(image, found.sh_offset, found.sh_size);
    if (name == ".nv.constant3") facts.constant_bytes = static_cast<std::int64_t>(found.sh_size);
    if (name.starts_with(kTextPrefix)) {
      const std::string kernel(name.substr(kTextPrefix.size()));
      codes[kernel] += as_text(content);
      facts.code[kernel] = machine_code_facts(content, capability);
    } else if (name.starts_with(kInfoPrefix)) {
      if (const int threads = max_threads(content); threads > 0) {
        facts.max_threads_per_block.emplace(name.substr(kInfoPrefix.size()), threads);
      }
    } else if (found.sh_type == SHT_SYMTAB) {
      const Elf64_Shdr strings = section(found.sh_link);
      shared_by_all += variables(content, part(image, strings.sh_offset, strings.sh_size));
    } else if (name.starts_with(kConstantPrefix)) {
      // .nv.constant3 belongs to the module, .nv.constant2._Z1kv to a kernel.
      const std::size_t dot = name.find('.', kConstantPrefix.size());
      const std::string bank(name.substr(0, dot));
      std::string& owner =
          dot == name.npos ? shared_by_all : codes[std::string(name.substr(dot + 1))];
      owner += bank + std::to_string(found.sh_size) + as_text(content);
    } else if (name.starts_with(kGlobalPrefix)) {
      loaded += std::string(name) + std::to_string(found.sh_size) + as_text(content);
    } else if (name.starts_with(".rel") && !is_of_debugging(name)) {
      is_relocated = is_relocated || found.sh_size > 0;
      if (found.sh_type == SHT_RELA) {
        const Elf64_Shdr symbols = section(found.sh_link);
        const Elf64_Shdr strings = section(symbols.sh_link);
        loaded +=
            std::string(name) + relocated(content, part(image, symbols.sh_offset, symbols.sh_size),
                                          part(image, strings.sh_offset, strings.sh_size));
      } else if (found.sh_size > 0) {
        is_understood = false;
      }
    } else if ((found.sh_flags & SHF_ALLOC) != 0 && !name.starts_with(kSharedPrefix)) {
      is_understood = false;
    }
  }
  if (is_relocated) {
    if (!is_understood) return facts;
    shared_by_all += loaded;
    for (const auto& [name, code] : codes) shared_by_all += sha256(code);
  }
  const std::string common = sha256(shared_by_all);
  for (const auto& [name, code] : codes) facts.code_sha256.emplace(name, sha256(common + code));
  return facts;
}

}  // namespace smemtune::cuda
