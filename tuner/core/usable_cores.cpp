#include "tuner/core/usable_cores.h"

#include "tuner/core/input_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <vector>

namespace smemtune {

namespace {

/// Returns this process's control group, `/user.slice`; empty if there is none. `controller`:
/// `memory` and the like for version 1, empty for version 2.
std::string control_group(const std::string& controller) {
  std::ifstream groups("/proc/self/cgroup");  // `4:memory:/job_7`, `0::/user.slice`
  for (std::string line; std::getline(groups, line);) {
    const std::size_t begin = line.find(':') + 1;
    const std::size_t end = line.find(':', begin);
    if (end == std::string::npos) continue;
    if (line.substr(begin, end - begin) == controller) return line.substr(end + 1);
  }
  return "";
}

/// Returns the folders of this process's control group and of every group above it, whose limits
/// apply as well. In a container the process's own group may be the root.
std::vector<std::filesystem::path> control_groups(const std::string& controller = "") {
  const std::filesystem::path root =
      ("/sys/fs/cgroup" + (controller.empty() ? "" : "/" + controller));
  const std::filesystem::path group =
      root / std::filesystem::path(control_group(controller)).relative_path();
  std::vector<std::filesystem::path> groups;
  for (std::filesystem::path at = group; at.native().size() >= root.native().size();
       at = at.parent_path()) {
    groups.push_back(at);
  }
  return groups;
}

}  // namespace

std::optional<unsigned> cores_of_quota(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  double quota_us = 0;
  double period_us = 0;
  if (!(words >> quota_us >> period_us) || quota_us <= 0 || period_us <= 0) return std::nullopt;
  return static_cast<unsigned>(std::clamp(std::ceil(quota_us / period_us), 1.0, 1e6));
}

unsigned usable_cores() {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // Fails if there are more cores than the mask has bits; then the machine's count stands.
  if (sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) > 0) {
    cores = static_cast<unsigned>(CPU_COUNT(&mask));
  }
  for (const std::filesystem::path& group : control_groups()) {
    if (const auto most = cores_of_quota(first_line_of_file(group / "cpu.max")))
      cores = std::min(cores, *most);
  }
  return cores;
}

std::uint64_t usable_memory_bytes() {
  auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
               static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  const auto limit = [&bytes](const std::filesystem::path& file) {
    std::uint64_t most = 0;
    std::istringstream line(first_line_of_file(file));  // A number, or `max`.
    if (line >> most && most > 0) bytes = std::min(bytes, most);
  };
  for (const auto& group : control_groups()) limit(group / "memory.max");
  for (const auto& group : control_groups("memory")) limit(group / "memory.limit_in_bytes");
  return bytes;
}

}  // namespace smemtune
