#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// A position in a drawing, in pixels from its upper left corner.
struct Point {
  double x = 0;
  double y = 0;
};

/// A drawing that is legible on light and dark pages, alone or in an <img>: it has its own
/// background and follows the preferred color scheme. Text is escaped. Series are numbers that
/// select one of eight colors.
class Svg {
 public:
  enum class Anchor { start, middle, end };
  /// Used in place of a series number for the color of the axes.
  static constexpr int kQuiet = -1;

  /// The heading of the drawing, and its description for screen readers.
  struct Title {
    std::string text;
    std::string under_it;  ///< Second line of the heading.
    std::string description;
  };

  /// `height`: the height below the heading.
  Svg(double width, double height, const Title& title);

  double top() const;  ///< y coordinate where the drawing begins, below the heading.
  double width() const { return width_; }
  double bottom() const { return height_; }

  void text(Point at, const std::string& text, Anchor anchor = Anchor::start, bool quiet = false);
  /// Text that stays legible on top of lines.
  void text_on_lines(Point at, const std::string& text);
  /// Text that runs upwards, centered at the point.
  void turned_text(Point at, const std::string& text);
  /// `says`: the tooltip.
  void bar(Point upper_left, double width, double height, int series, const std::string& says = "");
  /// Draws a rectangle colored by `share`, from 0 to 1, with text in its middle.
  void cell(Point upper_left, double width, double height, double share, const std::string& text,
            const std::string& says = "");
  void dot(Point at, double radius, int series, const std::string& says = "");
  void line(const std::vector<Point>& points, int series, double width = 1.5);
  void grid_line(Point from, Point to);
  /// Draws the names of the series side by side, starting at `at`.
  void legend(Point at, const std::vector<std::string>& names);

  std::string str() const { return text_ + "</svg>\n"; }

 private:
  double width_;
  double height_;
  std::string text_;
};

/// Returns the approximate width of a text in pixels.
double text_width(std::string_view text);

}  // namespace smemtune
