#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace smemtune {

/// Returns how many cores this process may use, at least 1: those of its affinity mask, but no more
/// than the quotas of its control groups (version 2) allow.
unsigned usable_cores();

/// Returns how many bytes of memory this process and its children may use together: the machine's
/// memory, but no more than its control groups (of either version) allow.
std::uint64_t usable_memory_bytes();

/// Returns the cores that a control group's `cpu.max` allows, rounded up: 2 for `150000 100000`;
/// nullopt for `max` and for text that is not a quota.
std::optional<unsigned> cores_of_quota(const std::string& cpu_max);

}  // namespace smemtune
