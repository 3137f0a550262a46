#include "tuner/backend/cuda/compiler_log.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

namespace smemtune::cuda {
namespace {

// Returns the number before `words` in `line`: 48 for "registers" in "Used 48 registers, ...".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
  const std::size_t found = line.find(words);
  if (found == std::string_view::npos || found < 2 || line[found - 1] != ' ') return std::nullopt;
  const std::size_t end = found - 1;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return number_in<std::int64_t>(line.substr(begin, end - begin));
}

// Returns the name that follows `words`: `_Z1kv` in "Function properties for _Z1kv".
std::optional<std::string_view> name_after(std::string_view line, std::string_view words) {
  const std::size_t found = line.find(words);
  if (found == std::string_view::npos) return std::nullopt;
  std::string_view name = line.substr(found + words.size());
  if (!name.empty() && name.front() == '\'') name.remove_prefix(1);
  return name.substr(0, name.find_first_of("' \t\r"));
}

}  // namespace

std::map<std::string, Resources, std::less<>> ptxas_report(std::string_view log) {
  std::map<std::string, Resources, std::less<>> entries;
  Resources* entry = nullptr;
  std::string_view entry_name;
  bool properties_are_of_entry = false;
  std::set<std::string_view> serialized;  // Reported before the entry's own lines.
  while (!log.empty()) {
    // ptxas's error text begins after a NUL, in the middle of a line.
    const std::size_t end = log.find_first_of(std::string_view("\n\0", 2));
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);

    if (const auto name = name_after(line, "Compiling entry function ")) {
      entry_name = *name;
      entry = &entries[std::string(*name)];
      continue;
    }
    if (line.find("wgmma") != line.npos && line.find("instructions are serialized") != line.npos) {
      if (const auto name = name_after(line, "in the function ")) serialized.insert(*name);
      continue;
    }
    if (entry == nullptr) continue;
    // A function that was not inlined has properties of its own inside its entry's report.
    if (const auto name = name_after(line, "Function properties for ")) {
      properties_are_of_entry = *name == entry_name;
      continue;
    }
    if (properties_are_of_entry) {
      if (const auto n = number_before(line, "bytes stack frame")) {
        entry->stack_bytes = std::max(entry->stack_bytes, *n);
      }
    }
    // Spills of called functions cost the entry as its own do.
    if (const auto n = number_before(line, "bytes spill stores")) entry->spill_store_bytes += *n;
    if (const auto n = number_before(line, "bytes spill loads")) entry->spill_load_bytes += *n;
    if (const auto n = number_before(line, "registers")) {
      entry->registers_per_thread = static_cast<int>(*n);
      entry->barriers = static_cast<int>(number_before(line, "barriers").value_or(0));
      entry->static_shared_bytes = number_before(line, "bytes smem").value_or(0);
      const auto cumulative = number_before(line, "bytes cumulative stack size");
      entry->stack_bytes = std::max(entry->stack_bytes, cumulative.value_or(0));
    }
  }
  for (auto& [name, resources] : entries) resources.wgmma_serialized = serialized.contains(name);
  return entries;
}

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
