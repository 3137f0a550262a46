#pragma once

#include "tuner/source/source_items.h"

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// `struct Particle { float pos[3]; int id; };`
struct Structure {
  struct Member {
    std::string type;
    std::vector<std::string> extents;  ///< Of an array.
    bool is_pointer = false;
  };
  std::string name;
  std::vector<Member> members;
};

/// Of an item that defines a plain one; nullopt: it does not, or it has bases, functions or
/// templates.
std::optional<Structure> structure_of(const CppTokens& tokens, const SourceItem& item);

}  // namespace smemtune
