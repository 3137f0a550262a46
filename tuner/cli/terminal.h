#pragma once

#include <cstddef>
#include <string>

// All that is printed goes through here. What files, compilers, devices and options bring along
// steers no terminal: printable_lines().

namespace smemtune::cli {

/// Exit status of a command that was asked to stop.
constexpr int kInterrupted = 130;

/// Exit status of commands that find what was fast to have become slower.
constexpr int kLostGround = 1;

/// Text for people, on stdout.
void write_out(const std::string& text);

/// A document for programs, on stdout and as it is.
void write_document(const std::string& document);

/// Text for people, on stderr.
void write_error(const std::string& text);

/// A line on stderr, unless it is empty.
void say(const std::string& line);

/// How wide the terminal is that `descriptor` is: $COLUMNS, else what it says itself, else 80. 0
/// where it is none.
std::size_t terminal_columns(int descriptor);

/// Whether `descriptor` is a terminal where a line can be drawn over (TERM is not dumb).
bool can_redraw(int descriptor);

/// Whether that is one that should show colors, too (NO_COLOR is empty).
bool colors(int descriptor);

}  // namespace smemtune::cli
