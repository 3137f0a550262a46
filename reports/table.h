#pragma once

#include "tuner/core/device.h"
#include "tuner/core/text.h"

#include <cstddef>
#include <string>
#include <vector>

namespace smemtune {

/// Rows of text in aligned columns, as terminals and logs show them.
class Table {
 public:
  /// `columns`: their titles; `>` before one aligns the column to the right.
  explicit Table(const std::vector<std::string>& columns);

  /// REQUIRES: as many cells as columns.
  void add_row(std::vector<std::string> cells);

  /// Ends with a newline. Control characters in cells become `?`; width counts UTF-8 code points.
  std::string text(const std::string& indent = "") const;

  /// text() of the rows since the last time, for a table that is not in memory as a whole: with
  /// titles the first time, and with columns that get wider only.
  std::string next_text();

  /// The same as a table of GitHub's Markdown.
  std::string markdown() const;

 private:
  struct Column {
    std::string title;
    bool is_right = false;
  };

  /// Widens `widths` as the rows need it; with titles where it is empty.
  std::string aligned(std::vector<std::size_t>& widths, const std::string& indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;  ///< Of next_text(), so far.
};

/// One line in which nothing is markup, link or HTML: what would be has a backslash before it.
std::string for_markdown(const std::string& text);

/// `16x16x1`.
std::string extents_text(const Dim3& extents);

/// One word of a POSIX shell's command line, and all of one.
std::string shell_word(const std::string& word);
std::string shell_command(const std::vector<std::string>& words);

/// `1.234 ms`, `12.34 us`: four significant digits with the unit that fits.
std::string format_time(double ms);

/// `48.2 TFLOP/s`, `312 GB/s`: three significant digits; `per_second` in the base unit.
std::string format_rate(double per_second, const std::string& unit);

/// `48.0 KB` (1024), `512 B`.
std::string format_bytes(double bytes);

/// `2026-11-21 14:03:07Z`.
std::string format_utc(double unix_seconds);

}  // namespace smemtune
