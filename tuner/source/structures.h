#pragma once

#include "tuner/source/source_items.h"

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A structure, `struct Particle { float pos[3]; int id; };`.
struct Structure {
  struct Member {
    std::string type;
    std::vector<std::string> extents;  ///< Extents of an array; else empty.
    bool is_pointer = false;
  };
  std::string name;
  std::vector<Member> members;
};

/// Returns the structure that an item defines; nullopt if it defines none, or one with bases,
/// functions or templates.
std::optional<Structure> structure_of(const CppTokens& tokens, const SourceItem& item);

}  // namespace smemtune
