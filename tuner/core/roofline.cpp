#include "tuner/core/roofline.h"

#include "tuner/core/facts.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace smemtune {
namespace {

struct RatesOfArchitecture {
  int major;
  int minor;
  OperationRates rates;
};

// Sources. Cores: CUDA C++ Programming Guide, "Arithmetic Instructions". Tensor cores: the dense
// rates of NVIDIA's data sheets and architecture white papers, divided by multiprocessors and
// clock. Where accumulating in half precision is twice as fast, that rate is listed. Types without
// a unit of their own have the rate of the next wider type.
constexpr std::array kRates = std::to_array<RatesOfArchitecture>({
    // Rates for float64, float32, tf32, 16, 8 and 4 bits; and the peaks at some multiprocessors x
    // clock.
    {7, 0, {64, 128, 0, 1024, 1024, 1024}},         // V100: 125 T at 80 x 1,530 MHz
    {7, 2, {64, 128, 0, 1024, 2048, 2048}},         // Xavier: 11, 23 T at 8 x 1,377 MHz
    {7, 5, {4, 128, 0, 1024, 2048, 4096}},          // T4: 65, 130, 260 T at 40 x 1,590 MHz
    {8, 0, {128, 128, 1024, 2048, 4096, 8192}},     // A100: 156, 312, 624 T at 108 x 1,410 MHz
    {8, 6, {4, 256, 512, 1024, 2048, 4096}},        // A10: 62, 125, 250 T at 72 x 1,695 MHz
    {8, 7, {4, 256, 1024, 2048, 4096, 8192}},       // AGX Orin: 85 T of 8 bits at 16 x 1,300 MHz
    {8, 9, {4, 256, 512, 1024, 2048, 4096}},        // L40S: 183, 366, 733 T at 142 x 2,520 MHz
    {9, 0, {256, 256, 2048, 4096, 8192, 8192}},     // H100: 495, 989, 1,979 T at 132 x 1,830 MHz
    {10, 0, {128, 256, 4096, 8192, 16384, 32768}},  // B200: 1.1, 2.2, 4.5 P at 148 x 1,850 MHz
    {10, 1, {128, 256, 4096, 8192, 16384, 32768}},  // Thor, as CUDA 12 calls it
    {10, 3, {128, 256, 4096, 8192, 16384, 49152}},  // B300: 14 P of 4 bits at 148 x 1,920 MHz
    {11, 0, {128, 256, 4096, 8192, 16384, 32768}},  // Thor: 1.0 P of 4 bits at 20 x 1,575 MHz
    {12, 0, {4, 256, 512, 1024, 2048, 4096}},       // RTX PRO 6000: 252, 504 T at 188 x 2,617 MHz
    {12, 1, {4, 256, 512, 1024, 2048, 4096}},       // GB10: 0.5 P of 4 bits at 48 x 2,500 MHz
});

/// Returns whether the GPU is integrated (Jetson and DGX Spark), so that the clock that the driver
/// reports is not always that of its memory.
bool is_integrated(const Device& device) {
  constexpr auto kIntegrated = std::to_array<std::array<int, 2>>(
      {{3, 2}, {5, 3}, {6, 2}, {7, 2}, {8, 7}, {10, 1}, {11, 0}, {12, 1}});
  return std::ranges::find(kIntegrated, std::array{device.compute_major, device.compute_minor}) !=
         kIntegrated.end();
}

}  // namespace

double Roofline::least_ms(double flops, double bytes) const {
  const double compute_s = flops_per_s > 0 ? flops / flops_per_s : 0;
  const double memory_s = bytes_per_s > 0 ? bytes / bytes_per_s : 0;
  return 1e3 * std::max(compute_s, memory_s);
}

int single_precision_cores(int compute_major, int compute_minor) {
  switch (compute_major) {
    case 1:
      return 8;
    case 2:
      return compute_minor == 0 ? 32 : 48;
    case 3:
      return 192;
    case 5:
      return 128;
    case 6:
      return compute_minor == 0 ? 64 : 128;
    default:
      if (compute_major < 7) return 0;
      return static_cast<int>(operation_rates(compute_major, compute_minor).float32 / 2);
  }
}

OperationRates operation_rates(int compute_major, int compute_minor) {
  const auto found = std::ranges::find_if(kRates, [&](const RatesOfArchitecture& one) {
    return one.major == compute_major && one.minor == compute_minor;
  });
  if (found != kRates.end()) return found->rates;
  if (compute_major >= 7) return {};
  // Rates before tensor cores: two halves in a core of 32 bits, four bytes in a dot product.
  const double float32 = 2.0 * single_precision_cores(compute_major, compute_minor);
  return {.float64 = float32 / 2,
          .float32 = float32,
          .bits16 = 2 * float32,
          .bits8 = 4 * float32,
          .bits4 = 4 * float32};
}

Roofline roofline(const Device& device) {
  if (device.kind == DeviceKind::cpu) return {};
  const double cores = single_precision_cores(device.compute_major, device.compute_minor);
  const double bus_bytes = is_integrated(device) ? 0 : device.memory_bus_bits / 8.0;
  return {.flops_per_s = 2e3 * device.sm_count * cores * device.sm_clock_khz,
          .bytes_per_s = 2e3 * bus_bytes * device.memory_clock_khz};
}

std::vector<double> operations_per_s(const Device& device, ScalarType type) {
  const OperationRates rates = operation_rates(device.compute_major, device.compute_minor);
  std::vector<double> peaks;
  switch (type) {
    case ScalarType::float64:
      peaks = {rates.float64, rates.bits16};
      break;
    case ScalarType::float32:
      peaks = {rates.float32, rates.tf32, rates.bits16};
      break;
    case ScalarType::float16:
    case ScalarType::bfloat16:
    case ScalarType::int16:
    case ScalarType::uint16:
      peaks = {rates.bits16};
      break;
    case ScalarType::float8_e4m3:
      peaks = {rates.bits8};
      break;
    case ScalarType::int8:
    case ScalarType::uint8:
      peaks = {rates.bits8, rates.bits4};
      break;
    default:
      break;
  }
  const double per_s =
      device.kind == DeviceKind::cpu ? 0 : 1e3 * device.sm_count * device.sm_clock_khz;
  for (double& peak : peaks) peak *= per_s;
  std::erase(peaks, 0.0);
  std::ranges::sort(peaks);
  return peaks;
}

double peak_for(const Device& device, ScalarType type, double operations, double ms) {
  const std::vector<double> peaks = operations_per_s(device, type);
  if (peaks.empty()) return 0;
  const auto enough = std::ranges::lower_bound(peaks, operations / (ms * 1e-3));
  return enough == peaks.end() ? peaks.back() : *enough;
}

namespace {

std::string time_text(double ms) {
  if (ms >= 1e3) return significant(ms * 1e-3, 3) + " s";
  return ms >= 1 ? significant(ms, 3) + " ms" : significant(ms * 1e3, 3) + " us";
}

/// Formats an amount, to be followed by a unit: `268.4 M`.
std::string amount_text(double amount) {
  if (amount >= 1e12) return decimal(amount * 1e-12, 1) + " T";
  return amount >= 1e9 ? decimal(amount * 1e-9, 1) + " G" : decimal(amount * 1e-6, 1) + " M";
}

std::string rate_text(double per_s, double unit) {
  return format_count(static_cast<std::uint64_t>(std::llround(per_s / unit)));
}

/// Returns the bytes that a kernel must write: every element that is poisoned before a launch and
/// compared after it.
double written_bytes(const std::vector<Argument>& arguments) {
  double bytes = 0;
  for (const Argument& argument : arguments) {
    const bool is_poisoned = argument.is_buffer() && argument.role == Role::output &&
                             argument.init.kind == Init::Kind::none;
    if (is_poisoned && !argument.compares_sum) bytes += static_cast<double>(argument.bytes());
  }
  return bytes;
}

/// Returns the bytes that move if each input is read once, each output written once, and each inout
/// argument both.
double held_bytes(const std::vector<Argument>& arguments) {
  double bytes = 0;
  for (const Argument& argument : arguments) {
    if (!argument.is_buffer() || argument.role == Role::scratch) continue;
    bytes += static_cast<double>(argument.bytes()) * (argument.role == Role::inout ? 2 : 1);
  }
  return bytes;
}

bool may_be_packed(ScalarType type) { return !is_floating(type); }

/// Returns the rate of the fastest unit that can do the arithmetic on these data; 0 when not known.
double fastest_operations_per_s(const std::vector<Argument>& arguments, const Device& device) {
  double fastest = 0;
  bool is_packed = false;
  for (const Argument& argument : arguments) {
    if (!argument.is_buffer()) continue;
    const std::vector<double> peaks = operations_per_s(device, argument.type);
    if (!peaks.empty()) fastest = std::max(fastest, peaks.back());
    is_packed = is_packed || may_be_packed(argument.type);
  }
  if (fastest == 0 || !is_packed) return fastest;
  return std::max(fastest, operations_per_s(device, ScalarType::int8).back());
}

}  // namespace

std::string LeastTime::text(double taken_ms) const {
  return "took " + time_text(taken_ms) + "; " + work + " take at least " + time_text(ms);
}

std::vector<LeastTime> least_times(const KernelInstance& instance,
                                   const std::map<std::string, double>& metrics,
                                   const Device& device, double sm_clock_mhz) {
  Device running = device;
  running.sm_clock_khz = std::max(device.sm_clock_khz, static_cast<int>(1e3 * sm_clock_mhz));
  std::vector<LeastTime> times;
  const auto add_bytes = [&, bandwidth = roofline(running).bytes_per_s](
                             double bytes, const std::string& what, const std::string& metric) {
    const double beyond = bytes - static_cast<double>(device.l2_bytes);
    if (beyond <= 0 || bandwidth <= 0 || device.l2_bytes <= 0) return;
    times.push_back({.ms = 1e3 * beyond / bandwidth,
                     .work = amount_text(beyond) + "B of " + what + " beyond the L2 at " +
                             rate_text(bandwidth, 1e9) + " GB/s",
                     .metric = metric});
  };
  const std::vector<Argument>& arguments = instance.arguments;
  add_bytes(written_bytes(arguments), "outputs", "");
  add_bytes(std::min(find_figure(metrics, "bytes").value_or(0), held_bytes(arguments)), "`bytes`",
            "bytes");
  const double flops = find_figure(metrics, "flops").value_or(0);
  const double peak = fastest_operations_per_s(arguments, running);
  if (flops > 0 && peak > 0) {
    times.push_back(
        {.ms = 1e3 * flops / peak,
         .work = amount_text(flops) + "FLOP of `flops` at " + rate_text(peak, 1e12) + " TFLOP/s",
         .metric = "flops"});
  }
  return times;
}

}  // namespace smemtune
