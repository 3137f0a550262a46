#include "tuner/init/names.h"

#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <cctype>

namespace smemtune {

std::string upper(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return result;
}

bool holds_any(const std::string& name, std::initializer_list<std::string_view> parts) {
  const std::string small = lower_case(name);
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return small.find(part) != std::string::npos; });
}

Meaning meaning_of(const std::string& name) {
  static const std::initializer_list<std::string_view> kProblem = {
      "radius", "kernel_l", "kernel_s", "kernel_w", "kernel_h", "filter",
      "length", "width",    "height",   "iter",     "size",     "eps",
      "pi",     "alphabet", "seed",     "count",    "samples",  "num_"};
  static const std::initializer_list<std::string_view> kTunable = {
      "block", "tile",  "thread", "unroll", "item",  "per_",  "vec",   "step",
      "chunk", "warps", "wpt",    "stage",  "pad",   "bdim",  "coars", "work",
      "rows",  "cols",  "bsize",  "group",  "split", "depth", "factor"};
  static const std::initializer_list<std::string_view> kWhole = {
      "bm", "bn", "bk", "tm", "tn", "tk", "ts", "wm", "wn", "mwg", "nwg", "kwg"};
  const std::string small = lower_case(name);
  if (small.starts_with("max_") || is_one_of(small, {"n", "m", "k", "nx", "ny", "nz"})) {
    return Meaning::problem;
  }
  if (is_one_of(small, kWhole) || holds_any(name, kTunable)) {
    return Meaning::tunable;
  }
  return holds_any(name, kProblem) ? Meaning::problem : Meaning::unknown;
}

bool is_limit(const std::string& name) {
  return name.ends_with("_MAX") || name.ends_with("_MIN") || name.ends_with("_EPSILON") ||
         name.starts_with("HUGE_VAL") || name == "MAXFLOAT";
}

Json values_around(const std::string& name, std::int64_t value, bool may_vary) {
  constexpr std::int64_t kMost = 1024;
  constexpr std::int64_t kLargest = 1 << 30;
  constexpr int kSteps = 2;  // Halved and doubled as often.
  if (!may_vary || value < 0 || value > kLargest) return Json::array({value});
  if (value == 0 || (value == 1 && lower_case(name).find("pad") != std::string::npos)) {
    return {0, 1};
  }
  std::int64_t least = value;
  for (int i = 0; i < kSteps && least % 2 == 0; ++i) least /= 2;
  Json values = Json::array();
  for (std::int64_t v = least; v <= std::max(value, kMost) && v <= value << kSteps; v *= 2) {
    values.push_back(v);
  }
  return values;
}

std::optional<std::size_t> axis_of(const std::string& name) {
  const std::string small = lower_case(name);
  const std::size_t size = small.size();
  if (size < 2 || small.back() < 'x' || small.back() > 'z') return std::nullopt;
  const bool is_apart = small[size - 2] == '_' || small.ends_with("dimx") ||
                        small.ends_with("dimy") || small.ends_with("dimz");
  if (!is_apart) return std::nullopt;
  return static_cast<std::size_t>(small.back() - 'x');
}

bool counts_threads(const std::string& name) {
  return holds_any(name, {"block", "thread", "group", "bdim", "wg_"}) &&
         !holds_any(name, {"num_", "blocks_", "per_", "rows", "cols", "item", "steps"}) &&
         !lower_case(name).ends_with("blocks") && !lower_case(name).ends_with("_num");
}

Guess guess(const std::string& name, bool is_extent, int block_dimensions) {
  if (holds_any(name, {"pad", "use_", "is_", "with_"})) return {{0, 1}, 0};
  const std::optional<std::size_t> axis = axis_of(name);
  if (counts_threads(name) && block_dimensions == 1 && axis.value_or(0) == 0) {
    return {{32, 64, 128, 256, 512, 1024}, 256};
  }
  if (counts_threads(name) && axis == 0u) return {{16, 32, 64, 128, 256}, 32};
  if (counts_threads(name) && axis == 1u) return {{1, 2, 4, 8, 16}, 8};
  const bool unrolls = holds_any(name, {"unroll"});
  if ((is_extent && !unrolls) || (counts_threads(name) && !axis)) return {{8, 16, 32, 64}, 16};
  if (lower_case(name).find("num_") != std::string::npos || lower_case(name).ends_with("_num")) {
    return {{64, 128, 256, 512, 1024}, 256};
  }
  return {{1, 2, 4, 8}, 1};
}

}  // namespace smemtune
