#include "tuner/backend/cpu/processor.h"

#include <algorithm>
#include <fstream>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace smemtune::cpu {

std::string processor_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  utsname system = {};
  return uname(&system) == 0 ? system.machine : "CPU";
}

std::int64_t last_level_cache_bytes() {
  std::int64_t bytes = 0;
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE}) {
    bytes = std::max<std::int64_t>(bytes, sysconf(level));
  }
  return bytes;
}

std::int64_t physical_memory_bytes() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

bool flush_from_caches([[maybe_unused]] const unsigned char* begin,
                       [[maybe_unused]] std::size_t bytes) {
#ifdef __x86_64__
  constexpr std::size_t kLineBytes = 64;
  for (std::size_t i = 0; i < bytes; i += kLineBytes) _mm_clflush(begin + i);
  if (bytes > 0) _mm_clflush(begin + bytes - 1);
  _mm_mfence();
  return true;
#else
  return false;
#endif
}

}  // namespace smemtune::cpu
