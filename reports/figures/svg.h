#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// A place of a drawing, in pixels from its upper left corner.
struct Point {
  double x = 0;
  double y = 0;
};

/// A drawing that is legible on light and on dark pages, alone or in an <img>: it brings its ground
/// along and asks for the color scheme. Text is escaped. Series have one of eight colors by number.
class Svg {
 public:
  enum class Anchor { start, middle, end };
  static constexpr int kQuiet = -1;  ///< In place of a series' number: the color of axes.

  /// What stands above the drawing, and what screen readers read of it.
  struct Title {
    std::string text;
    std::string under_it;  ///< In a second line.
    std::string description;
  };

  /// `height` is what lies below the title.
  Svg(double width, double height, const Title& title);

  double top() const;  ///< Where the drawing begins, below the title.
  double width() const { return width_; }
  double bottom() const { return height_; }

  void text(Point at, const std::string& text, Anchor anchor = Anchor::start, bool quiet = false);
  void text_on_lines(Point at, const std::string& text);  ///< Legible where lines meet.
  void turned_text(Point at, const std::string& text);    ///< Upwards, its middle there.
  /// `says`: what a pointer that rests on it is told.
  void bar(Point upper_left, double width, double height, int series, const std::string& says = "");
  /// Colored by `share`, from 0 to 1, with its text in the middle.
  void cell(Point upper_left, double width, double height, double share, const std::string& text,
            const std::string& says = "");
  void dot(Point at, double radius, int series, const std::string& says = "");
  void line(const std::vector<Point>& points, int series, double width = 1.5);
  void grid_line(Point from, Point to);
  /// Names of series from `at` on, side by side.
  void legend(Point at, const std::vector<std::string>& names);

  std::string str() const { return text_ + "</svg>\n"; }

 private:
  double width_;
  double height_;
  std::string text_;
};

/// How wide a text is drawn, about.
double text_width(std::string_view text);

}  // namespace smemtune
