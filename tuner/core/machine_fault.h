#pragma once

#include "tuner/core/error.h"

#include <string>
#include <string_view>

// What is the machine's fault and no configuration's: it lacks descriptors, processes, memory or
// space, or has killed a program that was needed. Decided here for everyone.

namespace smemtune {

/// The machine's fault. What was done is tried again, then the run ends; nothing is stored of it.
class MachineError : public UnavailableError {
 public:
  using UnavailableError::UnavailableError;
};

/// Whether errno says that the machine lacks something.
bool is_shortage(int error_number);

/// Whether a program, or the dynamic linker, says so, or that one of its own programs was killed.
bool tells_of_shortage(std::string_view messages);

/// `ACT: what errno means`. A MachineError for a shortage, else an UnavailableError.
[[noreturn]] void throw_system_error(const std::string& act, int error_number);

}  // namespace smemtune
