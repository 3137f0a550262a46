#include "tuner/backend/launch_times.h"

#include "tuner/core/measurement.h"

namespace smemtune {

std::vector<double> launch_times_ms(const std::vector<Turn>& turns, std::size_t launches,
                                    const std::vector<std::vector<double>>& passes_ms) {
  std::vector<std::vector<double>> sums_ms(launches, std::vector<double>(passes_ms.size()));
  for (std::size_t pass = 0; pass < passes_ms.size(); ++pass) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      sums_ms[turns[i].launch][pass] += passes_ms[pass][i];
    }
  }
  std::vector<double> medians_ms;
  for (const std::vector<double>& sums : sums_ms) medians_ms.push_back(median(sums));
  return medians_ms;
}

}  // namespace smemtune
