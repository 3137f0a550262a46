#pragma once

#include <cstddef>
#include <string>
#include <vector>

// The width of the page that text for people is laid out for, and how text is broken to fit it.

namespace smemtune {

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
