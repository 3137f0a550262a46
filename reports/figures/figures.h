#pragma once

#include "reports/report_source.h"
#include "reports/version_diff.h"

#include <string>
#include <vector>

namespace smemtune {

/// A figure that `report --format svg` draws.
struct FigureInfo {
  std::string name;
  std::string description;
};

const std::vector<FigureInfo>& figures();
std::vector<std::string> figure_names();

/// The figure as SVG. Throws InputError where there is none of that name, where the source has
/// several devices or problems and the figure is of one, and where there is nothing to draw.
std::string figure(const std::string& name, const ReportSource& source);
std::string figure(const std::string& name, const VersionDiff& diff);

}  // namespace smemtune
