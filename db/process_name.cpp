#include "db/process_name.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace smemtune::db {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Field 22 of /proc/self/stat, clock ticks since the boot.
std::string start_ticks() {
  const std::string stat = first_line("/proc/self/stat");
  // Field 2, the program's name, stands in parentheses and may hold anything.
  std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  return field;
}

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

}  // namespace

std::string this_process() {
  return boot_id() + "/" + std::to_string(getpid()) + "/" + start_ticks();
}

bool went_down_with_machine(const std::string& process) {
  const std::size_t end = process.find('/');
  return end != std::string::npos && process.substr(0, end) != boot_id();
}

}  // namespace smemtune::db
