#include "tuner/backend/compiler.h"

#include <algorithm>

namespace smemtune {

const CompiledEntry* CompiledKernel::entry(const std::string& name_expression) const {
  const auto found = std::find_if(
      entries.begin(), entries.end(),
      [&name_expression](const CompiledEntry& e) { return e.name_expression == name_expression; });
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace smemtune
