#pragma once

#include "tuner/core/result.h"
#include "tuner/core/size_rules.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// A decision tree for a space on a device.
struct DeviceRules {
  std::string space;
  std::string device;
  std::vector<KernelConfiguration> variants;  ///< The configurations that the rules choose among.
  SizeRules rules;
  std::string notes;  ///< Lines for human readers: what the rules lose.
};

// Stored strings are data and never become code: names must be identifiers, otherwise the export is
// refused; all other text is escaped.

/// Returns a C++17 header: for each space the configurations, a constexpr function of nested ifs
/// over the sizes for each device, and select(device, problem), which answers for other devices
/// with the fallback of the first. Throws InputError naming the space and the name if a name is not
/// valid in C++, or if a name has sizes and words.
std::string export_rules_cpp(const std::vector<DeviceRules>& devices);

/// Returns the same as a module of Python, without imports: SPACE_select(device, **problem) returns
/// the kernel's name and a dictionary.
std::string export_rules_python(const std::vector<DeviceRules>& devices);

}  // namespace smemtune::db
