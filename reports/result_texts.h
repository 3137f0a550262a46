#pragma once

#include "db/comparison.h"
#include "db/rows.h"
#include "tuner/core/device.h"
#include "tuner/core/result.h"
#include "tuner/core/summary.h"
#include "tuner/core/text.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

// Texts and lookups that several reports share.

namespace smemtune {

inline constexpr const char* kCpuTimes = "Times of the CPU device say nothing about a GPU.";

/// `1.27x`, `12.3x`.
std::string times(double factor);

/// `correct`, `runtime/illegal_address`.
std::string status_text(const Result& result);

/// The launch that decides a configuration's resources: the one with the lowest occupancy. Null
/// when there is none.
const LaunchResult* tightest_launch(const Result& result);

/// Work per launch by the metric's name; 0 where the kernel has none of that name.
double metric(const Result& result, const std::string& name);

/// Returns the bytes of a launch of the whole kernel that counters saw pass through DRAM; nullopt
/// where they were not read.
std::optional<double> measured_dram_bytes(const Result& result);

/// Returns a number with six significant digits; null if it is not finite.
nlohmann::ordered_json rounded_json(double number);

/// Returns whether samples give an interval of the median.
bool has_interval(const Measurement& time);

/// `549.4 to 550.6 us (32)`: the interval of the median and the number of samples; empty where there
/// is none.
std::string interval_text(const Measurement& time);

/// Returns `ms` with `low`, `high` and `n`, which are null where they are not known.
nlohmann::ordered_json time_json(const Measurement& time);

/// Returns a configuration's values as text, by parameter.
nlohmann::ordered_json values_json(const Configuration& configuration);

/// `48.2 TFLOP/s, 312 GB/s`: of the metrics `flops` and `bytes`, as far as the result has them.
/// REQUIRES: it was timed.
std::string rates(const Result& result);

/// The device's name; `(CPU)` behind it where it is one.
std::string device_label(const Device& device);

/// Returns the timed results of one kernel, or of all.
std::vector<const Result*> timed_results(const ProblemSummary& problem,
                                         const std::string& kernel = "");

/// Returns the result of the kernel's default configuration; null if it was not timed.
const Result* default_result(const ProblemSummary& problem, const std::string& kernel);

/// Returns the most informative line of a failure's detail: the first one, or in a compiler's log,
/// which begins with other text, the first one that contains an error.
std::string telling_line(const Result& result);

/// Returns a heading and a line for each reason, such as "12 constraints/shared_bytes, for example
/// tiled TILE=64: 65536 bytes of ..."; empty if nothing failed.
std::string failure_lines(const ProblemSummary& problem);

// Devices as text for people names them. Machine-readable formats have the whole names.

/// Returns the name without its vendor: `RTX A4000`, `H100 80GB HBM3`; of a CPU with `(CPU)`.
std::string device_name_text(const std::string& name, DeviceKind kind);

/// Returns short names for devices that are shown together: `H100`, `RTX A4000`; the same name
/// without its vendor, or the whole name, for those that would otherwise share one; a single CPU is
/// `CPU`. In the order of `devices`.
std::vector<std::string> short_device_names(const std::vector<Device>& devices);

/// Returns short names for the columns of a comparison, where several are of the same device with
/// their source: `H200 (shipped)`.
std::vector<std::string> column_names(const db::Comparison& comparison);

/// Returns `own`, `imported`, `shipped` or the name of the shared file.
std::string source_word(const std::string& shared_from, bool is_imported);

/// Returns the file that a result comes from; empty if it was measured here.
std::string source_file(const db::StoredResult& stored);

}  // namespace smemtune
