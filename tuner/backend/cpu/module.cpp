#include "tuner/backend/cpu/module.h"

#include "tuner/backend/cpu/child_process.h"
#include "tuner/core/machine_fault.h"
#include "tuner/core/reasons.h"
#include "tuner/core/temporary_folder.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <dlfcn.h>
#include <filesystem>
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
  for (std::size_t done = 0; done < shared_object.size();) {
    const ssize_t count = write(file, shared_object.data() + done, shared_object.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = errno;
      close(file);
      throw_system_error("writing a kernel to memory", error);
    }
    done += static_cast<std::size_t>(count);
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

}  // namespace smemtune::cpu
