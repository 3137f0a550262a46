#pragma once

#include "tuner/core/expression.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// Compiles a condition. Names that `scope` does not have, and that call no function, become words
/// of it. Returns nullopt for what is no expression.
std::optional<Expression> compile_condition(const std::string& text, Scope& scope);

/// A list of conditions of a kernel whose space file is not at hand, its constraints or those for
/// promising configurations, compiled once for all its configurations, the problems of its space and
/// all devices.
class KernelConditions {
 public:
  KernelConditions() = default;  ///< No condition.

  /// `texts`: as in the space file. The values of `configuration` and `problem` say which names
  /// stand for words; another name that no device has (device_names()) is a word itself.
  KernelConditions(const std::vector<std::string>& texts, const Configuration& configuration,
                   const Problem& problem);

  /// Returns whether all conditions hold. One that is no expression, or has no value, does not.
  bool hold(const Configuration& configuration, const Problem& problem,
            const Bindings& device) const;

 private:
  std::map<std::string, std::size_t> slots_;
  std::vector<std::optional<Expression>> expressions_;
};

}  // namespace smemtune
