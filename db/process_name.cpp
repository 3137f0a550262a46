#include "db/process_name.h"

#include <algorithm>
#include <fstream>
#include <unistd.h>

namespace smemtune::db {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Field 22 of /proc/<pid>/stat, clock ticks since the boot; empty when there is no such process or
/// it is dead and only waits for its parent.
std::string start_ticks(const std::string& pid) {
  const std::string stat = first_line(("/proc/" + pid + "/stat").c_str());
  // Field 2, the program's name, stands in parentheses and may hold anything.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::string field;
  std::size_t at = name_end + 1;
  for (int number = 3; number <= 22; ++number) {
    at = stat.find_first_not_of(' ', at);
    if (at == std::string::npos) return {};
    const std::size_t end = std::min(stat.find(' ', at), stat.size());
    field = stat.substr(at, end - at);
    at = end;
    if (number == 3 && (field == "Z" || field == "X")) return {};
  }
  return field;
}

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

}  // namespace

std::string this_process() {
  const std::string pid = std::to_string(getpid());
  return boot_id() + "/" + pid + "/" + start_ticks(pid);
}

bool is_alive(const std::string& process) {
  const std::size_t first = process.find('/');
  const std::size_t second = process.find('/', first + 1);
  if (first == std::string::npos || second == std::string::npos) return false;
  const std::string pid = process.substr(first + 1, second - first - 1);
  const std::string ticks = process.substr(second + 1);
  if (pid.empty() || pid.find_first_not_of("0123456789") != std::string::npos) return false;
  return process.substr(0, first) == boot_id() && !ticks.empty() && start_ticks(pid) == ticks;
}

bool went_down_with_machine(const std::string& process) {
  const std::size_t end = process.find('/');
  return end != std::string::npos && process.substr(0, end) != boot_id();
}

}  // namespace smemtune::db
