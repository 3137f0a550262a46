#include "db/process_name.h"

#include "tuner/core/input_file.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <unistd.h>
#include <vector>

namespace smemtune::db {
namespace {

/// Returns field 22 of /proc/<pid>/stat, the start time in clock ticks since the boot; empty if
/// there is no such process, or it is a zombie.
std::string start_ticks(const std::string& pid) {
  const std::string stat = first_line_of_file("/proc/" + pid + "/stat");
  // Field 2, the program's name, is in parentheses and may contain any character.
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

std::string boot_id() { return first_line_of_file("/proc/sys/kernel/random/boot_id"); }

/// Returns true if the process belongs to another machine. Earlier versions wrote no host name;
/// their processes count as belonging to this machine, even from another boot.
bool is_elsewhere(const std::vector<std::string>& parts) {
  return parts.size() > 3 && parts[0] != boot_id() && parts[3] != host_name();
}

constexpr double kDay_s = 24 * 60 * 60;
constexpr double kSilence_s = 10 * kSignInterval_s;
constexpr std::size_t kHeard = 4;  // Index of the part with the time of the last sign of life.

}  // namespace

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string this_process() {
  const std::string pid = std::to_string(getpid());
  return boot_id() + "/" + pid + "/" + start_ticks(pid) + "/" + host_name();
}

std::string sign_of_life(double now_unix, const std::string& state) {
  const auto now_s = static_cast<std::int64_t>(now_unix);
  return this_process() + "/" + std::to_string(now_s) + "/" + state;
}

std::string state_of(const std::string& sign) {
  const std::vector<std::string> parts = split(sign, '/');
  if (parts.size() <= kHeard + 1) return "";
  return joined(std::span(parts).subspan(kHeard + 1), "/");
}

bool is_alive(const std::string& process) {
  const std::vector<std::string> parts = split(process, '/');
  if (parts.size() < 3) return false;
  const std::string& pid = parts[1];
  const std::string& ticks = parts[2];
  if (pid.empty() || pid.find_first_not_of("0123456789") != std::string::npos) return false;
  return parts[0] == boot_id() && !ticks.empty() && start_ticks(pid) == ticks;
}

bool may_be_alive(const std::string& process, double begun_s_ago, double now_unix) {
  const std::vector<std::string> parts = split(process, '/');
  if (!is_elsewhere(parts)) return is_alive(process);
  if (parts.size() <= kHeard) return begun_s_ago <= kDay_s;
  return now_unix - std::strtod(parts[kHeard].c_str(), nullptr) <= kSilence_s;
}

bool went_down_with_machine(const std::string& process, double begun_s_ago) {
  const std::vector<std::string> parts = split(process, '/');
  if (parts.size() < 3) return false;
  return is_elsewhere(parts) ? begun_s_ago > kDay_s : parts[0] != boot_id();
}

}  // namespace smemtune::db
