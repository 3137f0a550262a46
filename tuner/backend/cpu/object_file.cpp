#include "tuner/backend/cpu/object_file.h"

#include "tuner/core/error.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <set>
#include <string_view>

namespace smemtune::cpu {

namespace {

// Variables of abi::Slot: `smemtune::SharedVariable<T, Tag>::slot`, as the Itanium ABI spells it.
constexpr std::string_view kSlotPrefix = "_ZN8smemtune14SharedVariableI";

class ObjectFile {
 public:
  explicit ObjectFile(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    const auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_REL) {
      throw UnavailableError("the host compiler's output is not a 64-bit ELF object");
    }
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      names_ = sections_.at(section.sh_link);
      for (std::size_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
        symbols_.push_back(read<Elf64_Sym>(section.sh_offset + i * sizeof(Elf64_Sym)));
      }
    }
  }

  Uses uses_of(const std::string& entry) const {
    std::vector<std::size_t> open;  // Sections whose relocations are still to be followed.
    for (const Elf64_Sym& symbol : symbols_) {
      if (name(symbol) == entry) open.push_back(symbol.st_shndx);
    }
    if (open.empty()) throw UnavailableError("the host compiler's output lacks " + entry);

    Uses uses;
    std::vector<Elf64_Sym> slots;
    std::set<std::size_t> seen(open.begin(), open.end());
    while (!open.empty()) {
      const std::size_t from = open.back();
      open.pop_back();
      for (const Elf64_Sym& symbol : referenced(from)) {
        if (symbol.st_shndx == SHN_UNDEF) {
          const std::string undefined(name(symbol));
          if (!undefined.empty()) uses.undefined.push_back(undefined);
        } else if (symbol.st_shndx < sections_.size() && seen.insert(symbol.st_shndx).second) {
          open.push_back(symbol.st_shndx);
        }
      }
    }
    for (const Elf64_Sym& symbol : symbols_) {
      if (!name(symbol).starts_with(kSlotPrefix) || !seen.contains(symbol.st_shndx)) continue;
      slots.push_back(symbol);
    }
    uses.shared_bytes = shared_bytes(slots);
    return uses;
  }

 private:
  template <typename T>
  T read(std::size_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      throw UnavailableError("the host compiler's output is cut off");
    }
    T value = {};
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  std::string_view name(const Elf64_Sym& symbol) const {
    const std::size_t begin = names_.sh_offset + symbol.st_name;
    if (symbol.st_name == 0 || begin >= bytes_.size()) return {};
    const auto* const text = reinterpret_cast<const char*>(bytes_.data() + begin);
    return {text, ::strnlen(text, bytes_.size() - begin)};
  }

  std::vector<Elf64_Sym> referenced(std::size_t section) const {
    std::vector<Elf64_Sym> symbols;
    for (const Elf64_Shdr& relocations : sections_) {
      if (relocations.sh_type != SHT_RELA || relocations.sh_info != section) continue;
      for (std::size_t i = 0; i < relocations.sh_size / sizeof(Elf64_Rela); ++i) {
        const auto relocation = read<Elf64_Rela>(relocations.sh_offset + i * sizeof(Elf64_Rela));
        symbols.push_back(symbols_.at(ELF64_R_SYM(relocation.r_info)));
      }
    }
    return symbols;
  }

  std::int64_t shared_bytes(const std::vector<Elf64_Sym>& slots) const {
    struct Extent {
      std::uint64_t bytes = 0;
      std::uint64_t alignment = 1;
    };
    std::vector<Extent> extents;
    for (const Elf64_Sym& slot : slots) {
      extents.push_back(read<Extent>(sections_.at(slot.st_shndx).sh_offset + slot.st_value));
    }
    std::ranges::sort(extents, std::ranges::greater(), &Extent::alignment);
    std::uint64_t end = 0;
    for (const Extent& extent : extents) {
      if (extent.alignment > 1)
        end = (end + extent.alignment - 1) / extent.alignment * extent.alignment;
      end += extent.bytes;
    }
    return static_cast<std::int64_t>(end);
  }

  std::span<const std::uint8_t> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  Elf64_Shdr names_ = {};
};

}  // namespace

Uses uses_of(std::span<const std::uint8_t> object, const std::string& entry) {
  return ObjectFile(object).uses_of(entry);
}

}  // namespace smemtune::cpu
