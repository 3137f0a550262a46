#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace smemtune::cpu {

/// Returns the model's name from /proc/cpuinfo, or the architecture's if that gives none.
std::string processor_name();

/// Returns 0 if it is not known.
std::int64_t last_level_cache_bytes();

std::int64_t physical_memory_bytes();

/// Flushes `bytes` bytes from `begin` on from the caches of all cores to memory. Returns false if the
/// processor has no instruction for that.
bool flush_from_caches(const unsigned char* begin, std::size_t bytes);

}  // namespace smemtune::cpu
