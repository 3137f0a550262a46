#pragma once

#include "tuner/init/parsed_source.h"
#include "tuner/source/kernel_file.h"

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

/// Returns the layouts of the structures and enumerations that a source defines.
TypeLayouts type_layouts(const ParsedSource& source);

/// Adds the enumerations of a source that have a name, and the numbers that the names in unscoped
/// ones stand for.
void add_enumerations(const ParsedSource& source, HostPart& host);

}  // namespace smemtune
