#pragma once

#include "reports/figures/svg.h"

#include <functional>
#include <string>
#include <vector>

namespace smemtune {

/// A mapping from measured values to positions along one axis.
struct Axis {
  std::string title;
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  /// Formats a tick.
  std::function<std::string(double)> text = [](double value) { return plain_number(value); };

  /// Returns text like `25`, `0.5`, `12,500`.
  static std::string plain_number(double value);
  /// Returns an axis from the smallest to the largest of `values`, with some margin; `from_zero`:
  /// from 0.
  static Axis over(std::string title, const std::vector<double>& values, bool from_zero = false);
  /// Returns the same axis on a logarithmic scale. REQUIRES: all values are above 0.
  static Axis log_over(std::string title, const std::vector<double>& values);
  /// Returns a logarithmic axis for times in ms.
  static Axis times_over(std::string title, const std::vector<double>& values_ms);

  double fraction(double value) const;  ///< 0 at `low`, 1 at `high`.
  std::vector<double> ticks() const;
};

/// Two axes with their ticks, titles and grid, drawn into a frame of `svg`.
class Plot {
 public:
  Plot(Svg& svg, Point upper_left, double width, double height, Axis x, Axis y);

  Point at(double x, double y) const;

 private:
  Point inner_;
  double width_;
  double height_;
  Axis x_;
  Axis y_;
};

/// Filters points that would be drawn at the same spot, so that the file of a figure with thousands
/// of points stays small.
class Spots {
 public:
  /// Returns true if no earlier point was at this spot.
  bool take(Point at);

 private:
  std::vector<bool> taken_;
};

}  // namespace smemtune
