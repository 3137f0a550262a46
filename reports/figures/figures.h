#pragma once

#include "reports/report_source.h"
#include "reports/version_diff.h"

#include <string>
#include <vector>

namespace smemtune {

/// A figure that `report --format svg` can draw.
struct FigureInfo {
  std::string name;
  std::string description;
};

const std::vector<FigureInfo>& figures();
std::vector<std::string> figure_names();

/// Returns the figure as SVG. Throws InputError if there is no figure of this name, if the figure
/// is about one device and problem but the source has several, or if there is nothing to draw.
std::string figure(const std::string& name, const ReportSource& source);
std::string figure(const std::string& name, const VersionDiff& diff);

}  // namespace smemtune
