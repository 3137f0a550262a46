#include "reports/table.h"

#include "db/export_order.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

namespace smemtune {

namespace {

/// Returns the width in code points. REQUIRES: valid UTF-8.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// Returns `value` with as many decimals as give `digits` significant digits. REQUIRES: 0 or 1 <=
/// |value|.
std::string without_exponent(double value, int digits) {
  int before_point = 1;
  for (double magnitude = std::abs(value); magnitude >= 10; magnitude /= 10) ++before_point;
  return decimal(value, std::max(0, digits - before_point));
}

struct Unit {
  double factor = 1;
  const char* name = "";
};

/// Formats a value in the largest unit (`units` is sorted, largest first) in which the rounded
/// number is at least 1: 999.96 us becomes 1.000 ms.
std::string in_units(double value, int digits, std::span<const Unit> units) {
  const double rounding = 1 - 0.5 * std::pow(10.0, -digits);
  for (const Unit& unit : units) {
    const bool last = &unit == &units.back();
    if (std::abs(value) < unit.factor * rounding && !last) continue;
    double scaled = value / unit.factor;
    if (std::abs(scaled) >= rounding) {
      // Rounding first gives 9.9996 the decimals of 10.
      const double step = std::pow(10.0, std::floor(std::log10(std::abs(scaled))) + 1 - digits);
      scaled = std::round(scaled / step) * step;
      return without_exponent(scaled, digits) + " " + unit.name;
    }
    return significant(scaled, digits) + " " + unit.name;
  }
  return {};
}

}  // namespace

Table::Table(const std::vector<std::string>& columns) {
  for (const std::string& column : columns) {
    const bool is_right = column.starts_with('>');
    columns_.push_back({.title = column.substr(is_right ? 1 : 0), .is_right = is_right});
  }
}

void Table::add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text(const std::string& indent) const {
  std::vector<std::size_t> widths;
  return aligned(widths, indent);
}

std::string Table::next_text() {
  std::string text = aligned(widths_, "");
  rows_.clear();
  return text;
}

std::string Table::aligned(std::vector<std::size_t>& widths, const std::string& indent) const {
  std::vector<std::vector<std::string>> rows;
  if (widths.empty()) {
    rows.emplace_back();
    for (const Column& column : columns_) rows[0].push_back(printable(column.title));
  }
  for (const auto& row : rows_) {
    rows.emplace_back();
    for (const std::string& cell : row) rows.back().push_back(printable(cell));
  }
  widths.resize(columns_.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }

  std::string text;
  for (const auto& row : rows) {
    std::string line = indent;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string padding(widths[i] - width(row[i]), ' ');
      line += columns_[i].is_right ? padding + row[i] : row[i] + padding;
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Table::markdown() const {
  std::string text = "|";
  std::string line = "|";
  for (const Column& column : columns_) {
    text += " " + for_markdown(column.title) + " |";
    line += column.is_right ? " ---: |" : " --- |";
  }
  text += "\n" + line + "\n";
  for (const auto& row : rows_) {
    text += "|";
    for (const std::string& cell : row) text += " " + for_markdown(cell) + " |";
    text += "\n";
  }
  return text;
}

std::string extents_text(const Dim3& extents) {
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" +
         std::to_string(extents[2]);
}

std::string for_markdown(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_[]<>|#&~!@").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_=,./:+@").find(c) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string shell_command(const std::vector<std::string>& words) {
  return joined(words, " ", shell_word);
}

std::string format_time(double ms) {
  static constexpr Unit kUnits[] = {{1e3, "s"}, {1, "ms"}, {1e-3, "us"}, {1e-6, "ns"}};
  if (!std::isfinite(ms)) return "?";
  return in_units(ms, 4, kUnits);
}

std::string format_rate(double per_second, const std::string& unit) {
  static constexpr Unit kUnits[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"},
                                    {1e6, "M"},  {1e3, "k"},  {1, ""}};
  if (!std::isfinite(per_second)) return "?";
  return in_units(per_second, 3, kUnits) + unit;
}

std::string format_bytes(double bytes) {
  static constexpr Unit kUnits[] = {
      {1099511627776.0, "TB"}, {1073741824.0, "GB"}, {1048576.0, "MB"}, {1024.0, "KB"}};
  if (!std::isfinite(bytes)) return "?";
  for (const Unit& unit : kUnits) {
    if (std::abs(bytes) >= unit.factor) return decimal(bytes / unit.factor, 1) + " " + unit.name;
  }
  return decimal(bytes, 0) + " B";
}

std::string format_utc(double unix_seconds) {
  std::string text = db::utc_text(unix_seconds);
  if (text.empty()) return "?";
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text;
}

}  // namespace smemtune
