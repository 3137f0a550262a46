#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cpu {

/// The resources that code uses, itself and through the functions that it calls.
struct Uses {
  std::int64_t shared_bytes = 0;       ///< Size of its __shared__ variables, each aligned.
  std::vector<std::string> undefined;  ///< Names of functions and variables in other modules.
};

/// Follows the relocations of a relocatable ELF object, compiled with a section for each function
/// and variable, from the function `entry`. Throws UnavailableError for a file of another form.
Uses uses_of(std::span<const std::uint8_t> object, const std::string& entry);

}  // namespace smemtune::cpu
