#include "db/contradictions.h"

#include "tuner/core/fields.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace smemtune::db {

namespace {

/// Tolerance of comparisons: samples are stored as 32-bit numbers, times as text of at most 17
/// digits.
constexpr double kRounding = 1e-6;

struct NamedNumber {
  const char* name;
  double value;
};

std::string named(const NamedNumber& number) {
  return std::string(number.name) + " " + shortest(number.value);
}

/// Returns the fault if `low` is above `high`. An unknown number is NaN and contradicts nothing.
std::optional<std::string> not_in_order(const NamedNumber& low, const NamedNumber& high) {
  if (!(low.value > high.value * (1 + kRounding))) return std::nullopt;
  return named(low) + " is above " + named(high);
}

/// Returns the fault of the first member below `least`.
template <typename Described>
std::optional<std::string> below(const Described& described, const std::string& prefix,
                                 double least) {
  std::optional<std::string> fault;
  visit_fields(described, [&](const char* name, const auto& value) {
    using Member = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Member, double> || std::is_same_v<Member, int>) {
      const auto number = static_cast<double>(value);
      if (fault || !(number < least)) return;
      fault = prefix + name + " " + shortest(number) + " is below " + shortest(least);
    }
  });
  return fault;
}

std::optional<std::string> time_contradiction(const Measurement& time, bool imported) {
  if (auto fault = below(time, "time.", 0)) return fault;
  if (!is_time(time.median_ms)) {
    return "time.median_ms " + shortest(time.median_ms) + " is not above 0 and below 1e12";
  }
  if (time.launches_per_sample < 1) return "time.launches_per_sample is below 1";
  const NamedNumber median = {"time.median_ms", time.median_ms};
  const NamedNumber min = {"time.min_ms", time.min_ms};
  const NamedNumber max = {"time.max_ms", time.max_ms};
  const NamedNumber q1 = {"time.q1_ms", time.q1_ms};
  const NamedNumber q3 = {"time.q3_ms", time.q3_ms};
  const NamedNumber low = {"time.median_low_ms", time.median_low_ms};
  const NamedNumber high = {"time.median_high_ms", time.median_high_ms};
  const NamedNumber mean = {"time.mean_ms", time.mean_ms};
  using Pair = std::pair<NamedNumber, NamedNumber>;
  std::optional<std::string> fault;
  const auto holds = [&fault](std::initializer_list<Pair> in_order) {
    return std::ranges::all_of(in_order, [&](const Pair& pair) {
      fault = not_in_order(pair.first, pair.second);
      return !fault;
    });
  };
  if (!holds({{min, median},
              {median, max},
              {q1, q3},
              {min, q1},
              {q3, max},
              {low, high},
              {min, low},
              {high, max},
              {low, median},
              {median, high},
              {min, mean},
              {mean, max}})) {
    return fault;
  }
  if (!imported && !holds({{q1, median}, {median, q3}})) return fault;
  if (!time.samples_ms.empty()) {
    const auto [least, most] = std::ranges::minmax(time.samples_ms);
    holds({{min, {"a sample", least}}, {{"a sample", most}, max}});
  }
  return fault;
}

}  // namespace

std::optional<std::string> contradiction(const Result& result, bool imported) {
  if (result.status == Status::correct && !result.reason.empty()) {
    return "status correct has the reason " + quote(result.reason);
  }
  // These may be NaN: an error that is unknown or has no bound.
  for (const auto& [name, value] :
       {NamedNumber{"max_absolute_error", result.max_absolute_error},
        NamedNumber{"max_relative_error", result.max_relative_error},
        NamedNumber{"compile_ms", result.compile_ms}, NamedNumber{"verify_ms", result.verify_ms},
        NamedNumber{"first_launch_ms", result.first_launch_ms}}) {
    if (value < 0) return std::string(name) + " " + shortest(value) + " is below 0";
  }
  for (const LaunchResult& launch : result.launches) {
    if (auto fault = below(launch.resources, "launches.resources.", 0)) return fault;
    if (launch.time_ms < 0) {
      return "launches.time_ms " + shortest(launch.time_ms) + " is below 0";
    }
  }
  return result.timed() ? time_contradiction(result.measurement, imported) : std::nullopt;
}

std::optional<std::string> contradiction_of_export(const Json& entry, const StoredResult& stored) {
  const Result& result = stored.result;
  const auto verification = entry.find("verification");
  if (verification != entry.end() && verification->is_object()) {
    const auto verified = verification->find("verified");
    const bool is_said = verified != verification->end() && verified->is_boolean();
    if (is_said && verified->get<bool>() != (result.status == Status::correct)) {
      return "status is " + quote(to_text(result.status)) + " and verification.verified " +
             verified->dump();
    }
  }
  // Version 1 of the format contains the following values twice.
  const auto twice = [&](const Json& other, const char* other_name, const Json& json,
                         const char* name) -> std::optional<std::string> {
    if (other.is_null() || other == json) return std::nullopt;
    return std::string(other_name) + " " + other.dump() + " is not " + name + " " + json.dump();
  };
  const Json& configuration = entry.at("configuration");
  if (auto fault =
          twice(entry.value("parameters", Json()), "parameters", configuration, "configuration")) {
    return fault;
  }
  if (!result.timed()) return std::nullopt;
  if (auto fault = twice(entry.at("time").value("stage", Json()), "time.stage", entry.at("stage"),
                         "stage")) {
    return fault;
  }
  const auto samples = entry.at("time").find("samples");
  if (samples == entry.at("time").end() || samples->is_null()) return std::nullopt;
  if (!samples->is_number_integer() || *samples < 0) {
    return "time.samples " + samples->dump() + " is not a number of samples";
  }
  const Measurement& time = result.measurement;
  const bool differ = time.max_ms > time.min_ms * (1 + kRounding);
  if (*samples == 1 && differ && !stored.origin) {
    return "time.samples is 1, with time.min_ms " + shortest(time.min_ms) + " and time.max_ms " +
           shortest(time.max_ms);
  }
  return std::nullopt;
}

}  // namespace smemtune::db
