#pragma once

#include "db/code_names.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace smemtune::db {

/// Returns the C++ functions, in namespace smemtune, that constraints and size_ratio() call; a program
/// may have the text more than once.
std::string constraint_functions();

/// Writes a struct `Limits` with the limits of a device that conditions name, and a function for each
/// condition that takes (Kernel, const Parameters&, const Problem&, const Limits&) and returns
/// whether all its expressions hold. One that cannot be C++, as it has an operator that C++ lacks or
/// a name that nothing has, does not hold.
class ConstraintsCode {
 public:
  struct Condition {
    std::string function;
    std::string comment;
    std::map<std::string, std::vector<std::string>> of_kernels;  ///< Texts, by enumerator.
  };

  ConstraintsCode(const BindingsStruct& problem, const BindingsStruct& parameters,
                  const std::vector<Condition>& conditions);

  const std::string& definitions() const { return definitions_; }

  /// Returns the value of `Limits` for a device, given device_names().
  std::string limits(const Bindings& device) const;

 private:
  std::set<std::string> limits_;  ///< Names of those that constraints use.
  std::string definitions_;
};

}  // namespace smemtune::db
