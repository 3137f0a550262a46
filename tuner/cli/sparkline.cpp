#include "tuner/cli/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace smemtune::cli {

void Sparkline::add(std::uint64_t done, double best_ms) {
  if (done < done_) steps_.clear();
  done_ = done;
  if (steps_.empty() || best_ms < steps_.back().best_ms) steps_.push_back({done, best_ms});
}

double Sparkline::best_at(std::uint64_t done) const {
  const auto later = std::ranges::upper_bound(steps_, done, {}, &Step::done);
  return later == steps_.begin() ? later->best_ms : std::prev(later)->best_ms;
}

std::string Sparkline::text(std::size_t columns, bool utf8) const {
  constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 8> kLetters = {".", ":", "-", "=", "+", "*", "%", "@"};
  if (steps_.empty() || done_ < 2 || columns == 0) return "";
  const std::uint64_t begin = steps_.front().done;
  const std::uint64_t count = std::min<std::uint64_t>(columns, done_ - begin + 1);
  const double first = std::log(steps_.front().best_ms);
  const double range = first - std::log(steps_.back().best_ms);
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = count == 1 ? done_ : begin + (done_ - begin) * i / (count - 1);
    const double height = range > 0 ? 1 - (first - std::log(best_at(at))) / range : 0;
    const auto level = static_cast<std::size_t>(std::lround(height * 7));
    text += (utf8 ? kBlocks : kLetters)[std::min<std::size_t>(level, 7)];
  }
  return text;
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != std::string_view::npos ||
           locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace smemtune::cli
