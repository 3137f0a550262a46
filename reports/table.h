#pragma once

#include "tuner/core/device.h"
#include "tuner/core/text.h"

#include <cstddef>
#include <string>
#include <vector>

namespace smemtune {

/// A table of text in aligned columns, as terminals and logs show it.
class Table {
 public:
  /// `columns`: the titles; a leading `>` aligns the column to the right.
  explicit Table(const std::vector<std::string>& columns);

  /// REQUIRES: the row has one cell per column.
  void add_row(std::vector<std::string> cells);

  /// Returns the table, ending with a newline. Control characters in cells become `?`; widths are
  /// counted in UTF-8 code points.
  std::string text(const std::string& indent = "") const;

  /// Returns text() of the rows added since the last call, for a table that is never in memory as a
  /// whole. The first call includes the titles; columns can only become wider.
  std::string next_text();

  /// Returns the table in GitHub's Markdown.
  std::string markdown() const;

 private:
  struct Column {
    std::string title;
    bool is_right = false;
  };

  /// Widens `widths` to fit the rows; includes the titles if `widths` is empty.
  std::string aligned(std::vector<std::size_t>& widths, const std::string& indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;  ///< Column widths that next_text() has used so far.
};

/// Returns one line in which all markup, links and HTML are escaped with backslashes.
std::string for_markdown(const std::string& text);

/// Returns text like `16x16x1`.
std::string extents_text(const Dim3& extents);

/// Returns one word, or a whole command line, quoted for a POSIX shell.
std::string shell_word(const std::string& word);
std::string shell_command(const std::vector<std::string>& words);

/// Returns text like `1.234 ms`, `12.34 us`: four significant digits in the unit that fits.
std::string format_time(double ms);

/// Returns text like `48.2 TFLOP/s`, `312 GB/s`: three significant digits; `per_second` is in the
/// base unit.
std::string format_rate(double per_second, const std::string& unit);

/// Returns text like `48.0 KB` (1 KB is 1024 bytes), `512 B`.
std::string format_bytes(double bytes);

/// Returns text like `2026-11-21 14:03:07Z`.
std::string format_utc(double unix_seconds);

}  // namespace smemtune
