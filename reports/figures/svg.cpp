#include "reports/figures/svg.h"

#include "reports/markup.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace smemtune {
namespace {

constexpr double kTitleHeight = 46;
// Mean width of a letter in DejaVu Sans and similar fonts at 12 pixels.
constexpr double kLetter = 7.2;

// The same colors as in page.css and elements.js.
constexpr const char* kStyle = R"css(
text{font:12px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1b1f24}
.h{font-size:14px;font-weight:600}.q{fill:#57606a}.g{fill:#fff}.l{stroke:#d0d7de}
.f{fill:#57606a}.p{stroke:#57606a}.c{stroke:#fff}polyline{fill:none}
.o{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
.f0{fill:#0b7285}.f1{fill:#d9480f}.f2{fill:#5f3dc4}.f3{fill:#2b8a3e}
.f4{fill:#c2255c}.f5{fill:#1864ab}.f6{fill:#e67700}.f7{fill:#868e96}
.p0{stroke:#0b7285}.p1{stroke:#d9480f}.p2{stroke:#5f3dc4}.p3{stroke:#2b8a3e}
.p4{stroke:#c2255c}.p5{stroke:#1864ab}.p6{stroke:#e67700}.p7{stroke:#868e96}
@media(prefers-color-scheme:dark){
text{fill:#e6eaef}.q{fill:#9aa6b2}.g{fill:#14181d}.l{stroke:#37414c}
.f{fill:#9aa6b2}.p{stroke:#9aa6b2}.c,.o{stroke:#14181d}
.f0{fill:#3bc9db}.f1{fill:#ff922b}.f2{fill:#b197fc}.f3{fill:#69db7c}
.f4{fill:#f783ac}.f5{fill:#74c0fc}.f6{fill:#ffd43b}.f7{fill:#adb5bd}
.p0{stroke:#3bc9db}.p1{stroke:#ff922b}.p2{stroke:#b197fc}.p3{stroke:#69db7c}
.p4{stroke:#f783ac}.p5{stroke:#74c0fc}.p6{stroke:#ffd43b}.p7{stroke:#adb5bd}}
)css";

/// Formats a length, rounded to a tenth of a pixel.
std::string pixels(double value) {
  const double rounded = std::round(value * 10) / 10;
  return shortest(rounded == 0 ? 0 : rounded);
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + pixels(value) + "\"";
}

std::string number_class(const char* letter, int series) {
  return std::string(" class=\"") + letter +
         (series == Svg::kQuiet ? "" : std::to_string(series % 8)) + "\"";
}

std::string closed(const char* tag, const std::string& says) {
  if (says.empty()) return "/>\n";
  return "><title>" + for_html(says) + "</title></" + tag + ">\n";
}

/// Returns a color of Viridis (Smith and van der Walt), interpolated linearly between five stops.
std::array<double, 3> viridis(double share) {
  constexpr std::array<std::array<double, 3>, 5> kStops = {
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  const double x = std::clamp(share, 0.0, 1.0) * 4;
  const auto n = static_cast<std::size_t>(std::min(3.0, std::floor(x)));
  std::array<double, 3> color{};
  for (std::size_t i = 0; i < 3; ++i) {
    color[i] = kStops[n][i] + (x - static_cast<double>(n)) * (kStops[n + 1][i] - kStops[n][i]);
  }
  return color;
}

std::string color_text(const std::array<double, 3>& color) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(std::lround(color[0])),
                static_cast<unsigned>(std::lround(color[1])),
                static_cast<unsigned>(std::lround(color[2])));
  return text;
}

/// Returns black or white, whichever has the higher contrast (WCAG 2, relative luminance).
const char* readable_on(const std::array<double, 3>& color) {
  const auto linear = [](double part) {
    part /= 255;
    return part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  const double luminance =
      0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2]);
  return 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05 ? "#fff" : "#000";
}

}  // namespace

double text_width(std::string_view text) { return kLetter * static_cast<double>(text.size()); }

Svg::Svg(double width, double height, const Title& title)
    : width_(width), height_(height + kTitleHeight) {
  text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width_) +
          attribute("height", height_) + " viewBox=\"0 0 " + pixels(width_) + " " +
          pixels(height_) + "\" role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">" +
          for_html(title.text + ", " + title.under_it) + "</title>\n<desc id=\"d\">" +
          for_html(title.description) + "</desc>\n<style>" + kStyle +
          "</style>\n<rect class=\"g\" width=\"100%\" height=\"100%\"/>\n" +
          "<text class=\"h\" x=\"8\" y=\"20\">" + for_html(title.text) + "</text>\n";
  text({8, 37}, title.under_it, Anchor::start, /*quiet=*/true);
}

double Svg::top() const { return kTitleHeight; }

void Svg::text(Point at, const std::string& text, Anchor anchor, bool quiet) {
  text_ += "<text" + attribute("x", at.x) + attribute("y", at.y);
  if (anchor != Anchor::start) {
    text_ += std::string(" text-anchor=\"") + (anchor == Anchor::end ? "end" : "middle") + "\"";
  }
  text_ += std::string(quiet ? " class=\"q\"" : "") + ">" + for_html(text) + "</text>\n";
}

void Svg::text_on_lines(Point at, const std::string& text) {
  text_ += "<text class=\"o\"" + attribute("x", at.x) + attribute("y", at.y) + ">" +
           for_html(text) + "</text>\n";
}

void Svg::turned_text(Point at, const std::string& text) {
  text_ += "<text class=\"q\" text-anchor=\"middle\" transform=\"translate(" + pixels(at.x) + " " +
           pixels(at.y) + ") rotate(-90)\">" + for_html(text) + "</text>\n";
}

void Svg::bar(Point upper_left, double width, double height, int series, const std::string& says) {
  text_ += "<rect" + number_class("f", series) + attribute("x", upper_left.x) +
           attribute("y", upper_left.y) + attribute("width", width) + attribute("height", height) +
           closed("rect", says);
}

void Svg::cell(Point upper_left, double width, double height, double share, const std::string& text,
               const std::string& says) {
  const std::array<double, 3> color = viridis(share);
  text_ += "<rect class=\"c\" fill=\"" + color_text(color) + "\"" + attribute("x", upper_left.x) +
           attribute("y", upper_left.y) + attribute("width", width) + attribute("height", height) +
           closed("rect", says);
  text_ += "<text text-anchor=\"middle\" style=\"fill:" + std::string(readable_on(color)) + "\"" +
           attribute("x", upper_left.x + width / 2) +
           attribute("y", upper_left.y + height / 2 + 4) + ">" + for_html(text) + "</text>\n";
}

void Svg::dot(Point at, double radius, int series, const std::string& says) {
  text_ += "<circle" + number_class("f", series) + attribute("cx", at.x) + attribute("cy", at.y) +
           attribute("r", radius) + closed("circle", says);
}

void Svg::line(const std::vector<Point>& points, int series, double width) {
  text_ += "<polyline" + number_class("p", series) + attribute("stroke-width", width);
  text_ += " points=\"";
  for (const Point& point : points) {
    text_ += (text_.back() == '"' ? "" : " ") + pixels(point.x) + "," + pixels(point.y);
  }
  text_ += "\"/>\n";
}

void Svg::grid_line(Point from, Point to) {
  text_ += "<line class=\"l\"" + attribute("x1", from.x) + attribute("y1", from.y) +
           attribute("x2", to.x) + attribute("y2", to.y) + "/>\n";
}

void Svg::legend(Point at, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    bar({at.x, at.y - 10}, 10, 10, static_cast<int>(i));
    text({at.x + 15, at.y}, names[i], Anchor::start, true);
    at.x += 35 + text_width(names[i]);
  }
}

}  // namespace smemtune
