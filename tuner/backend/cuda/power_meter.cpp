#include "tuner/backend/cuda/power_meter.h"

#include "tuner/core/error.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace smemtune::cuda {
namespace {

// Reasons of nvmlClocksEventReasons (of older drivers: nvmlClocksThrottleReasons).
constexpr std::uint64_t kPowerReasons = 0x04 | 0x80;  // The software's cap, the hardware's brake.
constexpr std::uint64_t kHeatReasons = 0x20 | 0x40;   // The software's slowdown, the hardware's.

/// Returns what a function of NVML tells of a GPU in thousandths; nullopt if it is missing or refuses.
template <typename Number>
std::optional<double> told(Nvml::Code (*function)(Nvml::Device, Number*), Nvml::Device device) {
  Number thousandths = 0;
  if (function == nullptr || function(device, &thousandths) != Nvml::kSuccess) return std::nullopt;
  return 1e-3 * static_cast<double>(thousandths);
}

double now_s() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// The first and the last reading at which a value is another than just before; equal if it changed
/// once, null if it never did.
struct Steps {
  const PowerReading* first = nullptr;
  const PowerReading* last = nullptr;
};

template <typename Member>
Steps steps(std::span<const PowerReading> readings, Member member) {
  Steps found;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    if (readings[i].*member == readings[i - 1].*member) continue;
    if (found.first == nullptr) found.first = &readings[i];
    found.last = &readings[i];
  }
  return found;
}

void integrate_power(std::span<const PowerReading> readings, EnergyUse& use) {
  double joules = 0;
  const PowerReading* last = nullptr;
  for (const PowerReading& reading : readings) {
    if (!reading.watts) continue;
    ++use.power_samples;
    if (last != nullptr) {
      const double between_s = reading.at_s - last->at_s;
      joules += between_s * (*last->watts + *reading.watts) / 2;
      use.seconds += between_s;
    }
    last = &reading;
  }
  if (use.seconds <= 0) throw UnavailableError("NVML told neither energy nor power");
  use.mean_watts = joules / use.seconds;
}

void take_counter(std::span<const PowerReading> readings, EnergyUse& use) {
  const auto went_back = [](const PowerReading& one, const PowerReading& next) {
    return next.joules < one.joules;  // An unknown value is less than any.
  };
  if (std::ranges::adjacent_find(readings, went_back) != readings.end()) {
    throw UnavailableError("NVML's energy counter went back");
  }
  const auto [first, last] = steps(readings, &PowerReading::joules);
  if (first == last) throw UnavailableError("NVML's energy counter stood still");
  use.seconds = last->at_s - first->at_s;
  use.mean_watts = (*last->joules - *first->joules) / use.seconds;
}

/// The share of readings with one of these reasons, in percent.
double percent_with(std::span<const PowerReading> readings, std::uint64_t reasons) {
  const auto found = std::ranges::count_if(
      readings, [&](const PowerReading& one) { return (one.clock_reasons & reasons) != 0; });
  return 100.0 * static_cast<double>(found) / static_cast<double>(readings.size());
}

}  // namespace

EnergyUse energy_use(std::span<const PowerReading> readings) {
  EnergyUse use;
  if (!readings.empty() && readings.front().joules) {
    take_counter(readings, use);
  } else {
    integrate_power(readings, use);
  }
  // Launches end in batches: only between two ends is it known how long they took.
  if (const auto [first, last] = steps(readings, &PowerReading::launches); first != last) {
    use.launches = last->launches - first->launches;
    use.launches_s = last->at_s - first->at_s;
  }
  return use;
}

Facts energy_facts(std::span<const PowerReading> readings) {
  const EnergyUse use = energy_use(readings);
  if (use.launches == 0) throw UnavailableError("too few launches ended while energy was read");
  const std::string prefix = kEnergyFacts;
  Facts facts = {{prefix + "joules_per_launch", use.joules_per_launch()},
                 {prefix + "mean_watts", use.mean_watts},
                 {prefix + "measured_s", use.seconds},
                 {prefix + "launch_ms", 1e3 * use.launches_s / static_cast<double>(use.launches)},
                 {prefix + "power_limited_percent", percent_with(readings, kPowerReasons)},
                 {prefix + "heat_limited_percent", percent_with(readings, kHeatReasons)}};
  if (use.power_samples > 0) {
    facts[prefix + "power_samples"] = static_cast<double>(use.power_samples);
  }
  double clocks_mhz = 0;
  std::size_t known = 0;
  for (const PowerReading& reading : readings) {
    if (reading.sm_clock_mhz == 0) continue;
    clocks_mhz += reading.sm_clock_mhz;
    ++known;
  }
  if (known > 0) facts[prefix + "sm_clock_mhz"] = clocks_mhz / static_cast<double>(known);
  return facts;
}

PowerMeter::PowerMeter(const std::string& uuid, const std::string& library) {
  std::optional<Nvml> nvml = open_nvml(library);
  if (!nvml) throw UnavailableError("NVML (" + library + ") is not here");
  if (const Nvml::Code code = nvml->init(); code != Nvml::kSuccess) {
    throw UnavailableError("nvmlInit failed with code " + std::to_string(code));
  }
  nvml_ = std::move(*nvml);
  const Nvml::Code found = nvml_.device_by_uuid(uuid.c_str(), &device_);
  has_counter_ = found == Nvml::kSuccess && told(nvml_.energy_mj, device_);
  if (has_counter_ || (found == Nvml::kSuccess && told(nvml_.power_mw, device_))) return;
  nvml_.shutdown();
  throw UnavailableError(found == Nvml::kSuccess ? "NVML tells neither energy nor power of this GPU"
                                                 : "NVML does not know the GPU " + uuid);
}

PowerMeter::~PowerMeter() { nvml_.shutdown(); }

std::optional<double> PowerMeter::limit_watts() const {
  return told(nvml_.power_limit_mw, device_);
}

PowerReading PowerMeter::read(std::size_t launches) const {
  PowerReading reading = {.at_s = now_s(), .launches = launches};
  if (has_counter_) {
    reading.joules = told(nvml_.energy_mj, device_);
  } else {
    reading.watts = told(nvml_.power_mw, device_);
  }
  unsigned int clock_mhz = 0;
  if (nvml_.clock_mhz != nullptr &&
      nvml_.clock_mhz(device_, Nvml::kSmClock, &clock_mhz) == Nvml::kSuccess) {
    reading.sm_clock_mhz = clock_mhz;
  }
  unsigned long long reasons = 0;
  if (nvml_.clock_reasons != nullptr && nvml_.clock_reasons(device_, &reasons) == Nvml::kSuccess) {
    reading.clock_reasons = reasons;
  }
  return reading;
}

std::vector<PowerReading> PowerMeter::watch(double least_s, std::size_t enough,
                                            const std::function<std::size_t()>& step) const {
  std::vector<PowerReading> readings = {read(step())};
  while (readings.back().at_s - readings.front().at_s < least_s ||
         readings.back().launches < enough) {
    const std::size_t launches = step();
    readings.push_back(read(launches));
  }
  return readings;
}

}  // namespace smemtune::cuda
