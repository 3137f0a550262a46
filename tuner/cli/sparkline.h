#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smemtune::cli {

/// The course of a search's best time in a few characters: `▇▅▃▁▁`, or `@+=..` if the terminal does
/// not support UTF-8.
class Sparkline {
 public:
  /// Adds the best time after `done` configurations. A smaller number than before starts a new
  /// search.
  void add(std::uint64_t done, double best_ms);

  /// Returns at most `columns` characters on a logarithmic scale; empty until there are two
  /// configurations.
  std::string text(std::size_t columns, bool utf8) const;

 private:
  struct Step {
    std::uint64_t done = 0;
    double best_ms = 0;
  };
  double best_at(std::uint64_t done) const;

  std::vector<Step> steps_;  ///< Points where the best time improved.
  std::uint64_t done_ = 0;
};

/// Returns true if the locale's encoding is UTF-8.
bool is_utf8_locale();

}  // namespace smemtune::cli
