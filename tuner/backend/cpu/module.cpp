#include "tuner/backend/cpu/module.h"

#include "tuner/backend/cpu/child_process.h"
#include "tuner/core/error.h"
#include "tuner/core/machine_fault.h"
#include "tuner/core/reasons.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/core/whole_file.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace smemtune::cpu {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kGapBytes = 256;
constexpr std::string_view kEntryPrefix = "smemtune_entry_";

}  // namespace

bool SharedLayout::reserve(abi::Slot& slot) {
  const std::lock_guard lock(mutex_);
  // Another OS thread may have been first.
  if (__atomic_load_n(&slot.offset, __ATOMIC_ACQUIRE) != 0) return true;
  const std::size_t count = count_.load(std::memory_order_relaxed);
  const std::size_t end =
      count == 0 ? kDynamicSharedBytes : variables_[count - 1].offset + variables_[count - 1].bytes;
  const std::size_t alignment = std::max<std::size_t>(slot.alignment, 16);
  const std::size_t offset = (end + kGapBytes + alignment - 1) / alignment * alignment;
  if (count == variables_.size() || offset + slot.bytes + kGapBytes > kSharedBytes) return false;
  variables_[count] = {.name = slot.name, .offset = offset, .bytes = slot.bytes};
  count_.store(count + 1, std::memory_order_release);
  __atomic_store_n(&slot.offset, offset, __ATOMIC_RELEASE);
  return true;
}

Outcome<std::shared_ptr<Module>> Module::load(std::span<const std::uint8_t> shared_object) {
  const int file = memfd_create("smemtune kernel", MFD_CLOEXEC);
  if (file < 0) throw_system_error("memfd_create", errno);
  if (!write_all(file, shared_object.data(), shared_object.size())) {
    const int error = errno;
    close(file);
    throw_system_error("writing a kernel to memory", error);
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const error = dlerror();
    const std::string text =
        std::string("the dynamic linker says: ") + (error == nullptr ? "nothing" : error);
    close(file);
    if (tells_of_shortage(text)) throw MachineError(text);
    return failure({Status::compile, "error"}, text);
  }
  return std::shared_ptr<Module>(new Module(file, handle));
}

Module::~Module() {
  dlclose(handle_);
  close(file_);
}

Module::Entry Module::entry(const std::string& lowered_name) const {
  return reinterpret_cast<Entry>(find(lowered_name));
}

long Module::parameter_bytes(const std::string& lowered_name, unsigned index) const {
  const std::string number =
      lowered_name.substr(std::min(kEntryPrefix.size(), lowered_name.size()));
  const auto function =
      reinterpret_cast<long (*)(unsigned)>(find("smemtune_parameter_bytes_" + number));
  return function == nullptr ? -1 : function(index);
}

Module::Symbol Module::symbol(const std::string& lowered_name) const {
  const auto function = reinterpret_cast<unsigned long (*)(void**)>(find(lowered_name));
  Symbol symbol;
  if (function != nullptr) symbol.bytes = function(&symbol.address);
  return symbol;
}

std::string Module::line_of(const void* place) const {
  Dl_info found = {};
  if (place == nullptr || dladdr(place, &found) == 0 || found.dli_fbase == nullptr) return {};
  // The place of the call itself, not of the code after it.
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(place) -
                                                 static_cast<const char*>(found.dli_fbase)) -
                      1;
  char address[32];
  std::snprintf(address, sizeof address, "0x%" PRIx64, offset);
  const std::string file = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_);
  const TemporaryFolder folder;
  const ChildResult answer = run_child({"addr2line", "-i", "-e", file, address}, folder.path());
  if (answer.status != 0) return {};
  // For inlined code the innermost place comes first; the user's is the first one in the sources.
  std::istringstream lines(answer.output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find(kSourcesPrefix);
    if (begin == std::string::npos) continue;
    line.erase(0, begin + std::string_view(kSourcesPrefix).size() + 1);
    line.erase(std::min(line.find(' '), line.size()));  // Without `(discriminator 2)`.
    const std::string source_line = fs::path(line).lexically_normal().string();
    if (!source_line.starts_with(kMainFile)) return source_line;
  }
  return {};
}

void* Module::find(const std::string& name) const { return dlsym(handle_, name.c_str()); }

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
