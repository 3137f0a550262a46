#pragma once

#include "tuner/backend/cuda/nvml.h"
#include "tuner/core/facts.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// A reading of a GPU by NVML, with the number of launches that had ended until then.
struct PowerReading {
  double at_s = 0;
  std::size_t launches = 0;
  std::optional<double> joules = std::nullopt;  ///< The energy counter; its zero is anywhere.
  std::optional<double> watts = std::nullopt;   ///< Read where there is no counter.
  double sm_clock_mhz = 0;                      ///< 0 if not known.
  std::uint64_t clock_reasons = 0;              ///< The bits that NVML gives for a low clock.
};

/// The energy and the limits of a series of readings.
struct EnergyUse {
  double seconds = 0;  ///< The time that the mean is of.
  double mean_watts = 0;
  std::size_t power_samples = 0;  ///< Samples that were integrated; 0 if the counter was read.
  std::size_t launches = 0;       ///< Launches in `launches_s`; 0 if fewer than two batches ended.
  double launches_s = 0;

  double joules_per_launch() const {
    return mean_watts * launches_s / static_cast<double>(launches);
  }
};

/// Returns the energy between the first and the last step of the counter, which moves only every
/// 20 to 100 ms; where there is no counter, the integral of the power by trapezoids. Throws
/// UnavailableError if the counter went back or stood still, or nothing was read.
EnergyUse energy_use(std::span<const PowerReading> readings);

/// Returns the facts that the readings tell of a kernel that was launched again and again.
/// Throws what energy_use() throws, and UnavailableError if too few launches ended.
Facts energy_facts(std::span<const PowerReading> readings);

/// Reads a GPU's energy, power, clock and limit. Sets nothing.
class PowerMeter {
 public:
  /// Throws UnavailableError if NVML is missing, or tells neither energy nor power of the GPU.
  explicit PowerMeter(const std::string& uuid, const std::string& library = kNvmlLibrary);
  ~PowerMeter();
  PowerMeter(const PowerMeter&) = delete;
  PowerMeter& operator=(const PowerMeter&) = delete;
  PowerMeter(PowerMeter&&) = delete;
  PowerMeter& operator=(PowerMeter&&) = delete;

  PowerReading read(std::size_t launches = 0) const;

  /// Returns the power that the GPU may take; nullopt if it is not known.
  std::optional<double> limit_watts() const;

  /// Returns a reading after each `step`, which tells how many launches have ended so far. Takes
  /// steps for at least `least_s`, and until `enough` launches have ended.
  std::vector<PowerReading> watch(double least_s, std::size_t enough,
                                  const std::function<std::size_t()>& step) const;

 private:
  Nvml nvml_;
  Nvml::Device device_ = nullptr;
  bool has_counter_ = false;
};

}  // namespace smemtune::cuda
