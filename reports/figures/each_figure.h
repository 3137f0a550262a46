#pragma once

#include "reports/figures/svg.h"
#include "reports/report_source.h"
#include "reports/version_diff.h"

#include <optional>
#include <string>
#include <vector>

// A file for each. Nullopt where there is nothing to draw.

namespace smemtune {

using Figure = std::optional<Svg>;

Figure convergence_figure(const ReportSource& source, const db::StoredSection& section);
Figure failures_figure(const ReportSource& source, const db::StoredSection& section);
Figure finalists_figure(const ReportSource& source, const db::StoredSection& section);
Figure heat_map_figure(const ReportSource& source, const db::StoredSection& section);
Figure ladder_figure(const ReportSource& source, const db::StoredSection& section);
Figure parallel_figure(const ReportSource& source, const db::StoredSection& section);
Figure resources_figure(const ReportSource& source, const db::StoredSection& section);
Figure roofline_figure(const ReportSource& source, const db::StoredSection& section);
Figure times_figure(const ReportSource& source, const db::StoredSection& section);
Figure values_figure(const ReportSource& source, const db::StoredSection& section);
Figure devices_figure(const db::Comparison& devices);
Figure versions_figure(const VersionDiff& diff);

// What several of them need.

inline constexpr double kFigureWidth = 720;

double median_ms(const db::StoredResult& stored);
std::vector<double> times_ms(const std::vector<const db::StoredResult*>& results);

/// Space, device and problem, `kernel` before them where it is not empty.
Svg::Title titled(const ReportSource& source, const db::StoredSection& section,
                  const std::string& description, const std::string& kernel = "");

/// The number of a kernel's color.
int series_of(const ReportSource& source, const std::string& kernel);

/// Names of the kernels that have results, in the order of their colors.
std::vector<std::string> kernels_of(const ReportSource& source);

/// The kernel of the best; where nothing was timed, the one with most results.
std::string main_kernel(const db::StoredSection& section);

/// Parameters with several values among the results, those that matter most for time first.
std::vector<std::string> parameters_by_effect(const std::vector<const db::StoredResult*>& results);

/// A parameter's value as text; empty where it has none. Values are in order by value_before().
std::string value_of(const db::StoredResult& stored, const std::string& parameter);
bool value_before(const std::string& one, const std::string& other);
std::vector<std::string> values_of(const std::vector<const db::StoredResult*>& results,
                                   const std::string& parameter);

/// `97.3 %`
std::string percent_text(double share);

}  // namespace smemtune
