#pragma once

#include "tuner/core/error.h"

#include <string>
#include <string_view>

// Faults of the machine, for which no configuration is to blame: it lacks descriptors, processes,
// memory or space, or has killed a program that was needed. All callers use the rules given here.

namespace smemtune {

/// A fault of the machine. The work is tried again, after which the run ends; nothing is stored
/// about it.
class MachineError : public UnavailableError {
 public:
  using UnavailableError::UnavailableError;
};

/// Returns whether errno says that the machine lacks something.
bool is_shortage(int error_number);

/// Returns whether the messages of a program or of the dynamic linker report a shortage, or that a
/// subprocess was killed.
bool tells_of_shortage(std::string_view messages);

/// Throws `ACT: what errno means`: a MachineError for a shortage, otherwise an UnavailableError.
[[noreturn]] void throw_system_error(const std::string& act, int error_number);

}  // namespace smemtune
