#include "tuner/backend/cuda/readable_text.h"

#include "tuner/core/text.h"

#include <algorithm>

namespace smemtune::cuda {

std::string readable_text(std::string_view text, std::size_t max_bytes) {
  // ptxas's error follows the log and a NUL, and ends with another NUL.
  std::string lines(text);
  std::ranges::replace(lines, '\0', '\n');
  std::string readable = printable_lines(lines);
  const std::size_t last = readable.find_last_not_of("\n \t");
  if (last == std::string::npos) return {};
  readable.replace(last + 1, std::string::npos, "\n");
  if (readable.size() <= max_bytes) return readable;

  const std::string cut = "\n[cut off]\n";
  std::size_t end = max_bytes > cut.size() ? max_bytes - cut.size() : 0;
  const auto continues = [&](std::size_t i) {  // True inside a character that began before.
    return (static_cast<unsigned char>(readable[i]) & 0xC0u) == 0x80u;
  };
  while (end > 0 && continues(end)) --end;
  return (readable.substr(0, end) + cut).substr(0, max_bytes);
}

}  // namespace smemtune::cuda
