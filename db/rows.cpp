#include "db/rows.h"

#include "db/device_model.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <tuple>

namespace smemtune::db {

std::string StoredResult::subject() const {
  return space + "/" + result.kernel + " " + key(result.problem) + " on " + device.name;
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

}  // namespace smemtune::db
