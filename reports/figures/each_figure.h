#pragma once

#include "reports/figures/svg.h"
#include "reports/report_source.h"
#include "reports/version_diff.h"

#include <optional>
#include <string>
#include <vector>

// The figures, each of which has a source file of its own. They return nullopt if there is nothing
// to draw.

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

// Functions shared by several figures.

inline constexpr double kFigureWidth = 720;

double median_ms(const db::StoredResult& stored);
std::vector<double> times_ms(const std::vector<const db::StoredResult*>& results);

/// Returns a title with the space, device and problem, and `kernel` before them unless it is empty.
Svg::Title titled(const ReportSource& source, const db::StoredSection& section,
                  const std::string& description, const std::string& kernel = "");

/// Returns the index of a kernel's color.
int series_of(const ReportSource& source, const std::string& kernel);

/// Returns the names of the kernels that have results, in the order of their colors.
std::vector<std::string> kernels_of(const ReportSource& source);

/// Returns the kernel of the best result; if nothing was timed, the kernel with the most results.
std::string main_kernel(const db::StoredSection& section);

/// Returns the parameters that have several values among the results, those with the largest effect
/// on time first.
std::vector<std::string> parameters_by_effect(const std::vector<const db::StoredResult*>& results);

/// Returns a parameter's value as text; empty if the configuration does not have it. value_before()
/// defines the order of values.
std::string value_of(const db::StoredResult& stored, const std::string& parameter);
bool value_before(const std::string& one, const std::string& other);
std::vector<std::string> values_of(const std::vector<const db::StoredResult*>& results,
                                   const std::string& parameter);

/// Returns text like `97.3 %`.
std::string percent_text(double share);

}  // namespace smemtune
