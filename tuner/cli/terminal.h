#pragma once

#include <cstddef>
#include <string>

// All output goes through these functions. They keep text from files, compilers, devices and
// options from controlling the terminal (printable_lines()).

namespace smemtune::cli {

/// Exit status of a command that was asked to stop.
constexpr int kInterrupted = 130;

/// Exit status of commands that find a loss of speed.
constexpr int kLostGround = 1;

/// Sets the width of the page that text for people is laid out for: that of the terminal at stdout;
/// otherwise $COLUMNS if it is exported, or 80.
void fit_page();

/// Prints text for people on stdout, lines longer than the page broken between words.
void write_out(const std::string& text);

/// Prints a document for programs on stdout, unchanged.
void write_document(const std::string& document);

/// Prints text for people on stderr.
void write_error(const std::string& text);

/// Prints a line on stderr, unless it is empty.
void say(const std::string& line);

/// Returns the width of the terminal at `descriptor`: $COLUMNS, otherwise the terminal's own width,
/// otherwise 80; 0 if it is not a terminal.
std::size_t terminal_columns(int descriptor);

/// Returns true if `descriptor` is a terminal on which a line can be redrawn (TERM is not dumb).
bool can_redraw(int descriptor);

/// Returns true if such a terminal should also show colors (NO_COLOR is empty).
bool colors(int descriptor);

}  // namespace smemtune::cli
