#include "reports/figures/plot.h"

#include "reports/table.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace smemtune {
namespace {

constexpr double kLeft = 66;  // Space for the ticks and title of an axis.
constexpr double kBelow = 40;
constexpr double kRight = 14;
constexpr std::size_t kTicks = 6;  // Approximate number of ticks.

/// Returns the smallest step of 1, 2 or 5 times a power of ten with which at most `kTicks` steps
/// cover the range.
double step_of(double range) {
  const double rough = range / static_cast<double>(kTicks);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::vector<double> logarithmic_ticks(double low, double high) {
  std::vector<double> ticks;
  const double decades = std::log10(high / low);
  const std::vector<double> leads = decades > 4     ? std::vector<double>{1}
                                    : decades > 1.5 ? std::vector<double>{1, 3}
                                                    : std::vector<double>{1, 1.5, 2, 3, 4, 5, 7};
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double lead : leads) {
      if (lead * power >= low && lead * power <= high) ticks.push_back(lead * power);
    }
  }
  return ticks;
}

/// Formats a tick without zeros after the decimal point: `500 us`.
std::string time_tick(double ms) {
  std::string time = format_time(ms);
  const std::size_t space = time.find(' ');
  if (time.find('.') > space) return time;
  const std::size_t last = time.find_last_not_of('0', space - 1);
  const std::size_t end = time[last] == '.' ? last : last + 1;
  return time.erase(end, space - end);
}

}  // namespace

std::string Axis::plain_number(double value) {
  if (value >= 0 && value < 1e15 && value == std::floor(value)) {
    return format_count(static_cast<std::uint64_t>(value));
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

Axis Axis::over(std::string title, const std::vector<double>& values, bool from_zero) {
  Axis axis{.title = std::move(title)};
  const auto [least, most] = std::ranges::minmax_element(values);
  if (least == values.end()) return axis;
  const double room = std::max((*most - *least) * 0.03, std::abs(*most) * 1e-3 + 1e-9);
  axis.low = from_zero ? 0 : *least - room;
  axis.high = *most + room;
  return axis;
}

Axis Axis::log_over(std::string title, const std::vector<double>& values) {
  Axis axis{.title = std::move(title), .logarithmic = true};
  const auto [least, most] = std::ranges::minmax_element(values);
  if (least == values.end()) return axis;
  axis.low = *least / 1.08;
  axis.high = *most * 1.08;
  return axis;
}

Axis Axis::times_over(std::string title, const std::vector<double>& values_ms) {
  Axis axis = log_over(std::move(title), values_ms);
  axis.text = time_tick;
  return axis;
}

double Axis::fraction(double value) const {
  return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

std::vector<double> Axis::ticks() const {
  if (logarithmic) return logarithmic_ticks(low, high);
  std::vector<double> ticks;
  const double step = step_of(high - low);
  const double first = std::ceil(low / step - 1e-9);
  for (double n = first; n * step <= high + step * 1e-6; ++n)
    ticks.push_back(n * step + 0.0);  // Adding 0.0 turns -0 into 0.
  return ticks;
}

Plot::Plot(Svg& svg, Point upper_left, double width, double height, Axis x, Axis y)
    : inner_{upper_left.x + kLeft, upper_left.y + 8},
      width_(width - kLeft - kRight),
      height_(height - kBelow - 8),
      x_(std::move(x)),
      y_(std::move(y)) {
  double last = -1e9;
  for (const double tick : x_.ticks()) {
    const double place = at(tick, y_.low).x;
    const std::string text = x_.text(tick);
    svg.grid_line({place, inner_.y}, {place, inner_.y + height_});
    if (place - last < text_width(text) + 8) continue;
    last = place;
    svg.text({place, inner_.y + height_ + 15}, text, Svg::Anchor::middle, true);
  }
  for (const double tick : y_.ticks()) {
    const double place = at(x_.low, tick).y;
    svg.grid_line({inner_.x, place}, {inner_.x + width_, place});
    svg.text({inner_.x - 5, place + 4}, y_.text(tick), Svg::Anchor::end, true);
  }
  svg.text({inner_.x + width_ / 2, inner_.y + height_ + 32}, x_.title, Svg::Anchor::middle, true);
  svg.turned_text({upper_left.x + 12, inner_.y + height_ / 2}, y_.title);
}

Point Plot::at(double x, double y) const {
  return {inner_.x + width_ * x_.fraction(x), inner_.y + height_ * (1 - y_.fraction(y))};
}

bool Spots::take(Point at) {
  constexpr double kSpot = 1.5;  // In pixels.
  constexpr std::size_t kAcross = 2048;
  const auto column = static_cast<std::size_t>(std::max(0.0, at.x / kSpot));
  const auto row = static_cast<std::size_t>(std::max(0.0, at.y / kSpot));
  const std::size_t place = row * kAcross + std::min(column, kAcross - 1);
  if (place >= taken_.size()) taken_.resize(place + 1);
  const bool is_new = !taken_[place];
  taken_[place] = true;
  return is_new;
}

}  // namespace smemtune
