#pragma once

#include "db/code_names.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace smemtune::db {

/// Returns C++ with what the constraints of several spaces call, for namespace smemtune; a program
/// may have it more than once.
const char* constraint_functions();

/// Returns the definitions of a struct `Limits` with the limits of a device that constraints name,
/// and of `runs(Kernel, const Parameters&, const Problem&, const Limits&)`, which returns whether a
/// kernel's constraints hold. One that cannot be C++, as it has an operator that C++ lacks or a name
/// that nothing has, does not hold.
///
/// `constraints`: those of each kernel, by its enumerator. `words`: all words of problems and
/// parameters, some of which are types.
class ConstraintsCode {
 public:
  ConstraintsCode(const BindingsStruct& problem, const BindingsStruct& parameters,
                  const std::map<std::string, std::vector<std::string>>& constraints,
                  const std::set<std::string>& words);

  const std::string& definitions() const { return definitions_; }

  /// Returns the value of `Limits` for a device, given device_names().
  std::string limits(const Bindings& device) const;

 private:
  std::set<std::string> limits_;  ///< Names of those that constraints use.
  std::string definitions_;
};

}  // namespace smemtune::db
