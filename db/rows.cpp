#include "db/rows.h"

#include "tuner/core/hash.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <ctime>
#include <limits>
#include <tuple>

namespace smemtune::db {

std::string StoredResult::subject() const {
  return space + "/" + result.kernel + " " + key(result.problem) + " on " + device.name;
}

std::string StoredResult::why_stale() const {
  return stale_because.empty() ? "the kernel has been edited since" : stale_because;
}

bool is_of_another_tuner(const StoredResult& stored) {
  return stored.origin && !stored.origin->format.starts_with("smemtune-");
}

void forget_untold(StoredResult& stored) {
  if (!is_of_another_tuner(stored)) return;
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  stored.result.max_absolute_error = stored.result.max_relative_error = kUnknown;
}

std::vector<const StoredResult*> in_export_order(const std::vector<StoredResult>& best,
                                                 Failures failures) {
  std::vector<const StoredResult*> order;
  for (const StoredResult& stored : best) {
    if (failures == Failures::included || stored.result.timed()) order.push_back(&stored);
  }
  const auto rank = [](const StoredResult& stored) {
    return std::tuple(stored.space, key(stored.result.problem), stored.device.name,
                      device_model_key(stored.device), stored.result.measurement.median_ms,
                      stored.result.kernel, stored.kernel_hash, key(stored.result.configuration),
                      stored.run_id, stored.at_unix);
  };
  std::sort(order.begin(), order.end(), [&](const StoredResult* one, const StoredResult* other) {
    return rank(*one) < rank(*other);
  });
  return order;
}

std::vector<KernelDefaults> in_export_order(std::vector<KernelDefaults> defaults) {
  std::sort(defaults.begin(), defaults.end(), [](const auto& one, const auto& other) {
    return std::tie(one.space, one.kernel) < std::tie(other.space, other.kernel);
  });
  return defaults;
}

std::string subject_lines(const std::vector<std::string>& subjects) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(subjects.size(), kMost); ++i) {
    text += "\n  " + printable(subjects[i]);
  }
  if (subjects.size() > kMost) {
    text += "\n  and " + std::to_string(subjects.size() - kMost) + " more";
  }
  return text;
}

std::string utc_text(double unix_seconds) {
  constexpr double kYear9999 = 253402300799;
  if (!(unix_seconds >= 0 && unix_seconds <= kYear9999)) return "";
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  char text[32];
  if (gmtime_r(&seconds, &parts) == nullptr) return "";
  if (std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) return "";
  return text;
}

double giga_per_s(const Result& result, const std::string& metric) {
  // Work in units and time in ms: the factor 1e-6 gives 1e9 units per second.
  return result.metrics.at(metric) / result.measurement.median_ms * 1e-6;
}

std::string device_model_key(const Device& device) {
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    // The length ensures that two different devices never give the same text.
    text += std::string(name) + "=" + std::to_string(value.size()) + ":" + value + "\n";
  };
  const auto add_number = [&add](const char* name, std::int64_t value) {
    add(name, std::to_string(value));
  };
  add("kind", to_text(device.kind));
  add("name", device.name);
  add("architecture", device.architecture);
  add("limits_of", device.limits_of);
  add_number("compute_major", device.compute_major);
  add_number("compute_minor", device.compute_minor);
  add_number("sm_count", device.sm_count);
  add_number("warp_size", device.warp_size);
  add_number("max_threads_per_block", device.max_threads_per_block);
  add_number("max_threads_per_sm", device.max_threads_per_sm);
  add_number("max_blocks_per_sm", device.max_blocks_per_sm);
  add_number("registers_per_block", device.registers_per_block);
  add_number("registers_per_sm", device.registers_per_sm);
  add_number("shared_bytes_per_block", device.shared_bytes_per_block);
  add_number("max_shared_bytes_per_block", device.max_shared_bytes_per_block);
  add_number("shared_bytes_per_sm", device.shared_bytes_per_sm);
  add_number("reserved_shared_bytes_per_block", device.reserved_shared_bytes_per_block);
  add_number("memory_bytes", nominal_memory_bytes(device.memory_bytes));
  add_number("l2_bytes", device.l2_bytes);
  add_number("memory_bus_bits", device.memory_bus_bits);
  add_number("ecc", device.ecc ? 1 : 0);
  return sha256(text);
}

std::int64_t nominal_memory_bytes(std::int64_t reported_bytes) {
  if (reported_bytes <= 0) return 0;
  // Rounds up to a multiple of an eighth of the power of two below: 79.1 GiB becomes 80, 23.6 GiB
  // 24.
  const auto bytes = static_cast<std::uint64_t>(reported_bytes);
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_floor(bytes) / 8, 1);
  return static_cast<std::int64_t>((bytes + step - 1) / step * step);
}

}  // namespace smemtune::db
