#pragma once

#include "tuner/core/measurement.h"
#include "tuner/core/text.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A table of text in aligned columns, as terminals and logs show it, never wider than
/// page_columns().
class Table {
 public:
  /// `columns`: the titles, after marks: `>` aligns the column to the right; `=` says once above the
  /// table what all rows have in common, of values like `A=1,B=2` the common ones; `?` leaves the
  /// column out if the page has no room for it, the last such column first.
  explicit Table(const std::vector<std::string>& columns);

  /// REQUIRES: the row has one cell per column.
  void add_row(std::vector<std::string> cells);

  /// Returns the table, ending with a newline. Control characters in cells become `?`. Cells that
  /// are too long are broken; those of a long last column go below their rows; a table whose columns
  /// do not fit without breaking numbers is shown in parts, each with the first column.
  std::string text(const std::string& indent = "") const;

  /// Returns text() of the rows added since the last call, for a table that is never in memory as a
  /// whole. The first call includes the titles and chooses the columns; nothing is said above.
  std::string next_text();

  /// Returns the table in GitHub's Markdown.
  std::string markdown() const;

 private:
  struct Column {
    std::string title;
    bool is_right = false;
    bool is_said_once = false;
    bool is_optional = false;
  };
  using Rows = std::vector<std::vector<std::string>>;

  /// The columns to show and their widths.
  struct Layout {
    std::vector<std::size_t> columns;
    std::vector<std::size_t> widths;
    bool last_is_below = false;  ///< The last column's cells are shown below their rows.
  };

  Rows printable_rows() const;
  std::vector<std::size_t> all_columns() const;
  /// Returns the lines above the table, and removes from `rows` and `columns` what they say.
  std::string say_once(Rows& rows, std::vector<std::size_t>& columns,
                       const std::string& indent) const;
  std::vector<std::size_t> natural_widths(const Rows& rows, const std::vector<std::size_t>& columns,
                                          bool titles_break = false) const;
  /// Returns a layout of these columns, less optional ones, that fits; nullopt if a column would
  /// become narrower than `least`.
  std::optional<Layout> fit(const Rows& rows, std::vector<std::size_t> columns, std::size_t room,
                            std::size_t least) const;
  std::string row_text(const std::vector<std::string>& row, const Layout& layout,
                       const std::string& indent) const;
  std::string titles_text(const Layout& layout, const std::string& indent) const;
  /// Returns the table in parts, each with the first column and as many others as fit beside it.
  std::string parts_text(const Rows& rows, const std::vector<std::size_t>& columns,
                         const std::string& indent) const;

  std::vector<Column> columns_;
  Rows rows_;
  std::optional<Layout> layout_;  ///< The layout that next_text() has used so far.
};

/// Returns one line in which all markup, links and HTML are escaped with backslashes.
std::string for_markdown(const std::string& text);

/// Returns one word, or a whole command line, quoted for a POSIX shell.
std::string shell_word(const std::string& word);
std::string shell_command(const std::vector<std::string>& words);

/// Returns text like `1.234 ms`, `12.34 us`: four significant digits in the unit that fits.
std::string format_time(double ms);

/// Returns half the distance between the quartiles, `+-0.4 %`; `1 sample` where they say nothing.
std::string format_spread(const Measurement& measurement);

/// Returns text like `48.2 TFLOP/s`, `312 GB/s`: three significant digits; `per_second` is in the
/// base unit.
std::string format_rate(double per_second, const std::string& unit);

/// Returns text like `48.0 KB` (1 KB is 1024 bytes), `512 B`.
std::string format_bytes(double bytes);

/// Returns text like `2026-11-21 14:03:07Z`.
std::string format_utc(double unix_seconds);

// The width of the page that text for people is laid out for, and how text is broken to fit it.

/// Returns the width of the page in characters: 80 unless set_page_columns() has been called.
std::size_t page_columns();

/// Sets the width of the page for this process. At least 24 characters are used.
void set_page_columns(std::size_t columns);

/// Returns the width of a text in code points. REQUIRES: valid UTF-8.
std::size_t text_width(const std::string& text);

/// Returns the text with spaces behind it, or before it if `is_right`, up to a width.
std::string padded(const std::string& text, std::size_t width, bool is_right = false);

/// Returns the lines that a cell of that width shows: broken behind commas, spaces and slashes
/// where possible, and inside of words that are longer. At least one line.
std::vector<std::string> cell_lines(const std::string& cell, std::size_t width);

/// Returns the text with its longer lines broken between words. The rest of an indented line is
/// indented by two more. A word that is longer than a line, like a path, stays whole, other than a
/// key like `A=1,B=2`.
std::string wrapped(const std::string& text, std::size_t columns = page_columns());

}  // namespace smemtune
