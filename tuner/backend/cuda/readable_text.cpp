#include "tuner/backend/cuda/readable_text.h"

#include <cstdint>

namespace smemtune::cuda {
namespace {

// Length of the UTF-8 sequence that `text` begins with, or 0 where it is none. Overlong forms,
// surrogates and numbers beyond U+10FFFF are none (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint8_t {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const std::uint8_t first = byte(0);
  const std::uint8_t second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && second < 0xA0) return 0;
    if (first == 0xED && second > 0x9F) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && second < 0x90) return 0;
    if (first == 0xF4 && second > 0x8F) return 0;
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<std::uint8_t>(character[0]);
  if (character.size() == 1)
    return (first < 0x20 && first != '\n' && first != '\t') || first == 127;
  // U+0080 .. U+009F, which terminals obey as they obey escape sequences.
  return character.size() == 2 && first == 0xC2 && static_cast<std::uint8_t>(character[1]) < 0xA0;
}

}  // namespace

std::string readable_text(std::string_view text, std::size_t max_bytes) {
  const std::string cut = "\n[cut off]\n";
  const std::size_t room = max_bytes > cut.size() ? max_bytes - cut.size() : 0;
  std::string readable;
  std::size_t end_within_room = 0;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    if (length == 0) {
      readable += '?';
    } else if (character[0] == '\0') {
      readable += '\n';
    } else if (!is_control(character)) {
      readable += character;
    }
    if (readable.size() <= room) end_within_room = readable.size();
    if (readable.size() > max_bytes) {
      readable.resize(end_within_room);
      return (readable + cut).substr(0, max_bytes);
    }
  }
  // The log ends in a NUL, and ptxas's error in two.
  const std::size_t last = readable.find_last_not_of("\n \t");
  if (last == std::string::npos) return {};
  readable.resize(last + 1);
  return readable + "\n";
}

}  // namespace smemtune::cuda
