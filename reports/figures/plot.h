#pragma once

#include "reports/figures/svg.h"

#include <functional>
#include <string>
#include <vector>

namespace smemtune {

/// From what is measured to a place on one axis.
struct Axis {
  std::string title;
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  /// How a tick reads.
  std::function<std::string(double)> text = [](double value) { return plain_number(value); };

  /// `25`, `0.5`, `12,500`.
  static std::string plain_number(double value);
  /// From the least to the greatest of `values`, with some room; `from_zero`: from 0.
  static Axis over(std::string title, const std::vector<double>& values, bool from_zero = false);
  /// The same on a logarithmic scale. REQUIRES: all are above 0.
  static Axis log_over(std::string title, const std::vector<double>& values);
  /// Times in ms, on a logarithmic scale.
  static Axis times_over(std::string title, const std::vector<double>& values_ms);

  double fraction(double value) const;  ///< From 0 at `low` to 1 at `high`.
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

/// Of points that fall on one spot of the drawing only the first, so that a file with thousands
/// stays small.
class Spots {
 public:
  /// Whether nothing was there before.
  bool take(Point at);

 private:
  std::vector<bool> taken_;
};

}  // namespace smemtune
