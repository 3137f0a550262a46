#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace smemtune {

/// How many cores this process may use, 1 at least: those of its affinity mask, but no more than
/// the quotas of its control groups (version 2) come to.
unsigned usable_cores();

/// How many bytes of memory this process and its children may use together: the machine's, but no
/// more than its control groups (of either version) allow.
std::uint64_t usable_memory_bytes();

/// What a control group's `cpu.max` comes to, rounded up: `150000 100000` is 2; nullopt for `max`
/// and for text that is not a quota.
std::optional<unsigned> cores_of_quota(const std::string& cpu_max);

}  // namespace smemtune
