#pragma once

#include <dlfcn.h>

namespace smemtune {

/// Looks for a function of a library that dlopen() has opened. Returns false, and makes `function` null,
/// if the library has none of this name.
template <typename Function>
bool find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace smemtune
