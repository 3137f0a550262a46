#pragma once

#include <cstdint>
#include <string>

namespace smemtune::cpu {

/// The model's name, from /proc/cpuinfo; the architecture's where it gives none.
std::string processor_name();

/// 0: not known.
std::int64_t last_level_cache_bytes();

std::int64_t physical_memory_bytes();

}  // namespace smemtune::cpu
