#include "tuner/core/least_time.h"

#include "tuner/core/facts.h"
#include "tuner/core/roofline.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>

namespace smemtune {
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
