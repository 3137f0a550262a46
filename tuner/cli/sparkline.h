#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smemtune::cli {

/// How the best time of a search fell, in a few characters: `▇▅▃▁▁`, or `@+=..` where the terminal
/// takes no UTF-8.
class Sparkline {
 public:
  /// After so many configurations. A new search (fewer than before) begins anew.
  void add(std::uint64_t done, double best_ms);

  /// At most `columns` of them; empty until there are two configurations. Logarithmic.
  std::string text(std::size_t columns, bool utf8) const;

 private:
  struct Step {
    std::uint64_t done = 0;
    double best_ms = 0;
  };
  double best_at(std::uint64_t done) const;

  std::vector<Step> steps_;  ///< Where it became better.
  std::uint64_t done_ = 0;
};

/// Whether the locale's letters are UTF-8.
bool is_utf8_locale();

}  // namespace smemtune::cli
