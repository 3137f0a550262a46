#pragma once

#include "tuner/core/expression.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// Compiles a condition. Names that `scope` does not have, and that call no function, become words
/// of it. Returns nullopt for what is no expression.
std::optional<Expression> compile_condition(const std::string& text, Scope& scope);

/// A list of expressions of a kernel whose space file is not at hand, such as its constraints, compiled
/// once for all its configurations, the problems of its space and all devices.
class StoredExpressions {
 public:
  StoredExpressions() = default;  ///< No expression.

  /// `texts`: as in the space file. The values of `configuration` and `problem` say which names
  /// stand for words; another name that no device has (device_names()) is a word itself.
  StoredExpressions(const std::vector<std::string>& texts, const Configuration& configuration,
                    const Problem& problem);

  std::size_t count() const { return expressions_.size(); }

  /// Returns the value of each; nullopt for one that is no expression, or has no value.
  std::vector<std::optional<std::int64_t>> values(const Configuration& configuration,
                                                  const Problem& problem,
                                                  const Bindings& device) const;

  /// Returns whether all hold. One that has no value does not.
  bool hold(const Configuration& configuration, const Problem& problem,
            const Bindings& device) const;

 private:
  std::map<std::string, std::size_t> slots_;
  std::vector<std::optional<Expression>> expressions_;
};

}  // namespace smemtune
