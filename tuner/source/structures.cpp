#include "tuner/source/structures.h"

#include "tuner/source/kernel_function.h"

#include <algorithm>

namespace smemtune {
namespace {

/// Reads `float x, y[3]` without its `;`.
bool read_members(const CppTokens& tokens, TokenRange range, Structure& structure) {
  std::string type;
  for (const TokenRange& part : split(tokens, range)) {
    std::size_t name = part.end;
    for (std::size_t i = part.first; i < part.end && !tokens[i].is("["); ++i) {
      if (tokens[i].is("(") || tokens[i].is("{") || tokens[i].is("=") || tokens[i].is(":")) {
        return false;
      }
      if (tokens[i].is_word()) name = i;
    }
    if (name == part.end) return false;
    Structure::Member member;
    const CppTokens before(tokens.begin() + static_cast<std::ptrdiff_t>(part.first),
                           tokens.begin() + static_cast<std::ptrdiff_t>(name));
    member.is_pointer = std::ranges::any_of(before, [](const CppToken& t) { return t.is("*"); });
    if (type.empty()) type = joined(tokens, {part.first, name});
    member.type = type;
    for (std::size_t i = name + 1; i < part.end; i = closing(tokens, i) + 1) {
      if (!tokens[i].is("[") || closing(tokens, i) >= part.end) return false;
      member.extents.push_back(joined(tokens, {i + 1, closing(tokens, i)}));
    }
    structure.members.push_back(std::move(member));
  }
  return !type.empty();
}

}  // namespace

std::optional<Structure> structure_of(const CppTokens& tokens, const SourceItem& item) {
  std::size_t i = item.first;
  const bool is_typedef = tokens[i].is("typedef");
  if (is_typedef) ++i;
  if (i + 1 >= item.end || !tokens[i].is("struct")) return std::nullopt;
  ++i;
  Structure structure;
  for (; i < item.end && !tokens[i].is("{"); ++i) {
    if (tokens[i].is("(")) {  // `__align__(16)`
      i = closing(tokens, i);
    } else if (tokens[i].is_word()) {
      structure.name = tokens[i].text;
    } else {
      return std::nullopt;
    }
  }
  if (i >= item.end) return std::nullopt;
  const std::size_t close = std::min(closing(tokens, i), item.end);
  std::size_t first = i + 1;
  for (std::size_t j = first; j < close; ++j) {
    if (!tokens[j].is(";")) continue;
    if (!read_members(tokens, {first, j}, structure)) return std::nullopt;
    first = j + 1;
  }
  if (first != close || structure.members.empty()) return std::nullopt;
  if (is_typedef && close + 1 < item.end && tokens[close + 1].is_word()) {
    structure.name = tokens[close + 1].text;
  }
  if (structure.name.empty()) return std::nullopt;
  return structure;
}

}  // namespace smemtune
