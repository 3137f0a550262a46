#pragma once

#include <cstddef>
#include <string>

namespace smemtune {

/// What a type of CUDA C++ is made of: `float4` is 4 of float.
struct Elements {
  std::string type;  ///< Empty: not known.
  int count = 1;
};

Elements elements_of(const std::string& type);

bool is_floating_name(const std::string& type);

/// Of one element of a type of elements; 0: it is none.
std::size_t scalar_bytes_of(const std::string& type);

}  // namespace smemtune
