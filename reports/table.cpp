#include "reports/table.h"

#include "db/rows.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

namespace smemtune {

namespace {

/// The narrowest that a column becomes so that others fit beside it.
constexpr std::size_t kLeastCell = 10;

constexpr std::size_t kBetween = 2;  ///< Spaces between columns.
constexpr std::size_t kBelow = 4;    ///< Indentation of a cell that is shown below its row.

std::size_t total(const std::vector<std::size_t>& widths) {
  std::size_t sum = widths.empty() ? 0 : kBetween * (widths.size() - 1);
  for (const std::size_t width : widths) sum += width;
  return sum;
}

/// Returns the parts `A=1` of a key, each with the commas in its value.
std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < key.size();) {
    const std::size_t end = std::min(key.find(',', begin), key.size());
    const std::string part = key.substr(begin, end - begin);
    if (parts.empty() || part.find('=') != std::string::npos) {
      parts.push_back(part);
    } else {
      parts.back() += "," + part;
    }
    begin = end + 1;
  }
  return parts;
}

/// Returns whether a part has a name before its first `=`.
bool is_named(const std::string& part) {
  const std::size_t end = part.find('=');
  return end != 0 && end != part.npos && part.find_first_of(" ()") > end;
}

/// Returns the parts of the first key that all cells of the column have; none if a cell is no key.
std::vector<std::string> common_parts(const std::vector<std::vector<std::string>>& rows,
                                      std::size_t column) {
  std::vector<std::string> common = parts_of(rows.front()[column]);
  for (const auto& row : rows) {
    const std::vector<std::string> its = parts_of(row[column]);
    if (!std::ranges::all_of(its, is_named)) return {};
    std::erase_if(
        common, [&](const std::string& part) { return std::ranges::find(its, part) == its.end(); });
  }
  return common;
}

/// Returns the width of the longest part that cell_lines() breaks only where it must.
std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" /", begin), text.size());
    const std::size_t behind = end < text.size() && text[end] == '/' ? end + 1 : end;
    longest = std::max(longest, text_width(text.substr(begin, behind - begin)));
    begin = end + 1;
  }
  return longest;
}

/// Makes the widest columns narrower until all fit. Returns false if even the least widths do not.
bool narrow(std::vector<std::size_t>& widths, std::size_t room, std::size_t least) {
  for (std::size_t most = std::ranges::max(widths); total(widths) > room && most > least;) {
    --most;
    for (std::size_t& width : widths) width = std::min(width, most);
  }
  return total(widths) <= room;
}

std::string without_parts(const std::string& cell, const std::vector<std::string>& left_out) {
  std::vector<std::string> parts = parts_of(cell);
  std::erase_if(parts, [&](const std::string& part) {
    return std::ranges::find(left_out, part) != left_out.end();
  });
  return joined(parts, ",");
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
  for (const std::string& given : columns) {
    Column column;
    std::size_t begin = 0;
    for (; begin < given.size(); ++begin) {
      if (given[begin] == '>')
        column.is_right = true;
      else if (given[begin] == '=')
        column.is_said_once = true;
      else if (given[begin] == '?')
        column.is_optional = true;
      else
        break;
    }
    column.title = printable(given.substr(begin));
    columns_.push_back(std::move(column));
  }
}

void Table::add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

Table::Rows Table::printable_rows() const {
  Rows rows;
  for (const auto& row : rows_) {
    rows.emplace_back();
    for (const std::string& cell : row) rows.back().push_back(printable(cell));
  }
  return rows;
}

std::vector<std::size_t> Table::natural_widths(const Rows& rows,
                                               const std::vector<std::size_t>& columns,
                                               bool titles_break) const {
  std::vector<std::size_t> widths;
  for (const std::size_t column : columns) {
    const std::string& title = columns_[column].title;
    widths.push_back(titles_break ? longest_word(title) : text_width(title));
    for (const auto& row : rows) widths.back() = std::max(widths.back(), text_width(row[column]));
  }
  return widths;
}

std::string Table::say_once(Rows& rows, std::vector<std::size_t>& columns,
                            const std::string& indent) const {
  const std::size_t room = page_columns() - indent.size();
  // One row is shown as such if it fits.
  const bool may_say = rows.size() > 1 || total(natural_widths(rows, columns)) > room;
  std::string text;
  const auto say = [&](const std::string& line) {
    const std::vector<std::string> lines = cell_lines(line, room - kBetween);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text += indent + (i > 0 ? std::string(kBetween, ' ') : "") + lines[i] + "\n";
    }
  };
  std::erase_if(columns, [&](std::size_t i) {
    const Column& column = columns_[i];
    const std::string first = rows.front()[i];
    const bool is_same =
        std::ranges::all_of(rows, [&](const auto& row) { return row[i] == first; });
    if (is_same && first.empty()) return column.is_said_once || column.is_optional;
    if (!may_say || !column.is_said_once) return false;
    if (is_same) say(column.title + ": " + first);
    if (is_same) return true;
    const std::vector<std::string> common = common_parts(rows, i);
    if (common.empty()) return false;
    say(column.title + " in all rows: " + joined(common, ","));
    for (auto& row : rows) row[i] = without_parts(row[i], common);
    return false;
  });
  return text;
}

std::optional<Table::Layout> Table::fit(const Rows& rows, std::vector<std::size_t> columns,
                                        std::size_t room, std::size_t least) const {
  for (;;) {
    Layout layout{.columns = columns, .widths = natural_widths(rows, columns)};
    std::vector<std::size_t>& widths = layout.widths;
    if (total(widths) <= room) return layout;
    widths = natural_widths(rows, columns, /*titles_break=*/true);
    if (total(widths) <= room) return layout;
    const bool has_text = columns.size() > 1 && !columns_[columns.back()].is_right;
    const std::size_t last = widths.back();
    const std::size_t others = total(widths) - last;
    if (has_text && others <= room + kBetween) {
      const std::size_t beside = room - std::min(room, others);
      const auto lines = [last](std::size_t width) { return (last + width - 1) / width; };
      layout.last_is_below = beside < kLeastCell || lines(beside) > 1 + lines(room - kBelow);
      widths.back() = layout.last_is_below ? 0 : beside;
      return layout;
    }
    const auto optional = std::find_if(columns.rbegin(), columns.rend(),
                                       [&](std::size_t i) { return columns_[i].is_optional; });
    if (optional == columns.rend()) {
      layout.last_is_below = has_text;
      if (has_text) widths.pop_back();
      const std::vector<std::size_t> whole = widths;
      if (!narrow(widths, room, least)) return std::nullopt;
      for (std::size_t i = 0; i < widths.size(); ++i) {
        const bool breaks_numbers = columns_[columns[i]].is_right && widths[i] < whole[i];
        if (breaks_numbers && least >= kLeastCell) return std::nullopt;
      }
      if (has_text) widths.push_back(0);
      return layout;
    }
    columns.erase(std::next(optional).base());
  }
}

std::string Table::row_text(const std::vector<std::string>& row, const Layout& layout,
                            const std::string& indent) const {
  const std::size_t beside = layout.columns.size() - (layout.last_is_below ? 1 : 0);
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 0;
  for (std::size_t i = 0; i < beside; ++i) {
    cells.push_back(cell_lines(row[layout.columns[i]], layout.widths[i]));
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t y = 0; y < height; ++y) {
    std::string line = indent;
    for (std::size_t i = 0; i < beside; ++i) {
      if (i > 0) line.append(kBetween, ' ');
      line += padded(y < cells[i].size() ? cells[i][y] : "", layout.widths[i],
                     columns_[layout.columns[i]].is_right);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (!layout.last_is_below || row[layout.columns.back()].empty()) return text;
  const std::string below = indent + std::string(kBelow, ' ');
  const std::size_t room = page_columns() - std::min(page_columns() - 1, below.size());
  for (const std::string& line : cell_lines(row[layout.columns.back()], room)) {
    text += below + line + "\n";
  }
  return text;
}

std::string Table::titles_text(const Layout& layout, const std::string& indent) const {
  const std::vector<std::string> titles = texts_of(columns_, &Column::title);
  return row_text(titles, layout, indent);
}

std::string Table::parts_text(const Rows& rows, const std::vector<std::size_t>& columns,
                              const std::string& indent) const {
  const std::size_t room = page_columns() - indent.size();
  const std::vector<std::size_t> natural = natural_widths(rows, columns);
  std::string text;
  for (std::size_t next = 1; next < columns.size();) {
    Layout part{.columns = {columns.front()}, .widths = {std::min(natural.front(), room / 2)}};
    const std::size_t most = room - part.widths.front() - kBetween;
    do {
      part.columns.push_back(columns[next]);
      part.widths.push_back(std::min(natural[next], most));
      ++next;
    } while (next < columns.size() && total(part.widths) + kBetween + natural[next] <= room);
    text += (text.empty() ? "" : "\n") + titles_text(part, indent);
    for (const auto& row : rows) text += row_text(row, part, indent);
  }
  return text;
}

std::vector<std::size_t> Table::all_columns() const {
  std::vector<std::size_t> all(columns_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::string Table::text(const std::string& indent) const {
  Rows rows = printable_rows();
  std::vector<std::size_t> columns = all_columns();
  std::string text = rows.empty() ? "" : say_once(rows, columns, indent);
  if (columns.empty()) return text;
  const auto layout = fit(rows, columns, page_columns() - indent.size(), kLeastCell);
  if (!layout) return text + parts_text(rows, columns, indent);
  text += titles_text(*layout, indent);
  for (const auto& row : rows) text += row_text(row, *layout, indent);
  return text;
}

std::string Table::next_text() {
  const Rows rows = printable_rows();
  rows_.clear();
  std::string text;
  if (!layout_) {
    layout_ = fit(rows, all_columns(), page_columns(), /*least=*/1);
    text = titles_text(layout_.value(), "");
  } else if (!layout_->last_is_below) {
    std::vector<std::size_t> widths = natural_widths(rows, layout_->columns);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], layout_->widths[i]);
    }
    if (total(widths) <= page_columns()) layout_->widths = widths;
  }
  for (const auto& row : rows) text += row_text(row, *layout_, "");
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

std::string format_spread(const Measurement& measurement) {
  if (measurement.sample_count == 1) return "1 sample";
  return "+-" + decimal(measurement.spread_percent() / 2, 1) + " %";
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

namespace {

constexpr std::size_t kNarrowest = 24;
std::size_t columns_of_page = 80;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// Returns the number of bytes that `count` code points take, or all.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && count-- == 0) return i;
  }
  return text.size();
}

/// Breaks one line between words, but not before `%`, and a key like `A=1,B=2` that is longer behind
/// its commas.
std::string wrapped_line(const std::string& line, std::size_t columns) {
  if (text_width(line) <= columns) return line;
  const std::size_t indent = std::min(line.find_first_not_of(' '), columns / 2);
  const std::string next_indent(indent == 0 ? 0 : indent + 2, ' ');
  std::string text(indent, ' ');
  std::size_t used = indent;
  bool is_first = true;
  for (std::size_t begin = indent; begin < line.size();) {
    std::size_t end = std::min(line.find(' ', begin), line.size());
    if (line.compare(end, 2, " %") == 0) end = std::min(line.find(' ', end + 1), line.size());
    std::string word = line.substr(begin, end - begin);
    const bool is_key = word.find('=') != std::string::npos && word.find(',') != std::string::npos;
    if (is_key && text_width(word) > columns - next_indent.size()) {
      word = joined(cell_lines(word, columns - next_indent.size()), "\n" + next_indent);
    }
    const std::size_t last = word.rfind('\n');
    const std::size_t width = text_width(word.substr(last == std::string::npos ? 0 : last + 1)) -
                              (last == std::string::npos ? 0 : next_indent.size());
    const bool is_broken = last != std::string::npos;
    if (!is_first && (is_broken || used + 1 + width > columns)) {
      text.resize(text.find_last_not_of(' ') + 1);
      text += "\n" + next_indent + word;
      used = next_indent.size() + width;
    } else {
      text += (is_first ? "" : " ") + word;
      used += width + (is_first ? 0 : 1);
    }
    is_first = false;
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::size_t page_columns() { return columns_of_page; }

void set_page_columns(std::size_t columns) { columns_of_page = std::max(columns, kNarrowest); }

std::size_t text_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string padded(const std::string& text, std::size_t width, bool is_right) {
  const std::string padding(width - std::min(width, text_width(text)), ' ');
  return is_right ? padding + text : text + padding;
}

std::vector<std::string> cell_lines(const std::string& cell, std::size_t width) {
  std::vector<std::string> lines;
  std::string_view rest = cell;
  while (text_width(std::string(rest)) > width) {
    std::size_t end = bytes_of(rest, width);
    // A space may be the first character that no longer fits.
    const std::size_t last = rest.substr(0, end + 1).find_last_of(' ');
    const std::size_t mark = rest.substr(0, end).find_last_of(",/;");
    const std::size_t behind = std::max(last == std::string_view::npos ? 0 : last + 1,
                                        mark == std::string_view::npos ? 0 : mark + 1);
    if (behind > 0) end = behind;
    std::string line(rest.substr(0, end));
    line.resize(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
    rest.remove_prefix(end);
  }
  if (!rest.empty() || lines.empty()) lines.emplace_back(rest);
  return lines;
}

std::string wrapped(const std::string& text, std::size_t columns) {
  std::string all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    all += wrapped_line(text.substr(begin, end - begin), columns);
    if (end < text.size()) all += '\n';
    begin = end + 1;
  }
  return all;
}

}  // namespace smemtune
