#include "tuner/core/machine_fault.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace smemtune {
namespace {

constexpr std::array kShortages = {EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT, EAGAIN};

}  // namespace

bool is_shortage(int error_number) {
  return std::ranges::find(kShortages, error_number) != kShortages.end();
}

bool tells_of_shortage(std::string_view messages) {
  const auto says = [&](std::string_view words) {
    return messages.find(words) != std::string_view::npos;
  };
  return std::ranges::any_of(kShortages, [&](int number) { return says(std::strerror(number)); }) ||
         // Messages of g++ and clang++ about a subprocess.
         says("Killed signal terminated program") || says("unable to execute command: Killed");
}

void throw_system_error(const std::string& act, int error_number) {
  const std::string text = act + ": " + std::strerror(error_number);
  if (is_shortage(error_number)) throw MachineError(text);
  throw UnavailableError(text);
}

}  // namespace smemtune
