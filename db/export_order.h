#pragma once

#include "db/rows.h"

#include <string>
#include <vector>

namespace smemtune::db {

enum class Failures { left_out, included };

/// Returns the results that every export contains, in its order: the verified and timed ones by
/// space, problem, device name and time. The order does not depend on the input order.
std::vector<const StoredResult*> in_export_order(const std::vector<StoredResult>& best,
                                                 Failures failures = Failures::left_out);

/// Sorts by space and kernel.
std::vector<KernelDefaults> in_export_order(std::vector<KernelDefaults> defaults);

/// Returns lines that begin with a line break: the first 20 subjects, and how many more there are.
std::string subject_lines(const std::vector<std::string>& subjects);

/// Returns text like `2026-11-21T14:03:07Z`; empty for times before 1970 or after the year 9999.
std::string utc_text(double unix_seconds);

/// Returns the work per second of a metric in units of 1e9 (GFLOP/s, GB/s). REQUIRES: the result
/// has the metric.
double giga_per_s(const Result& result, const std::string& metric);

}  // namespace smemtune::db
