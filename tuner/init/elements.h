#pragma once

#include <cstddef>
#include <string>

namespace smemtune {

/// The elements that a type of CUDA C++ is made of: `float4` is 4 of float.
struct Elements {
  std::string type;  ///< Empty when not known.
  int count = 1;
};

Elements elements_of(const std::string& type);

bool is_floating_name(const std::string& type);

/// Returns the bytes of one element of a type; 0 if it is no type of elements.
std::size_t scalar_bytes_of(const std::string& type);

}  // namespace smemtune
