#include "reports/text_layout.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <string_view>

namespace smemtune {

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
