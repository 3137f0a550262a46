#include "tuner/cli/terminal.h"

#include "reports/table.h"
#include "tuner/core/text.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace smemtune::cli {
namespace {

constexpr std::size_t kUsualColumns = 80;

/// Returns $COLUMNS if it is a number.
std::optional<std::size_t> given_columns() {
  const char* columns = std::getenv("COLUMNS");
  const auto value = number_in<std::size_t>(columns == nullptr ? "" : columns);
  return value == 0 ? std::nullopt : value;
}

}  // namespace

void fit_page() {
  const std::size_t terminal = terminal_columns(STDOUT_FILENO);
  set_page_columns(terminal > 0 ? terminal : given_columns().value_or(kUsualColumns));
}

void write_out(const std::string& text) { write_document(wrapped(printable_lines(text))); }

void write_document(const std::string& document) {
  std::fwrite(document.data(), 1, document.size(), stdout);
  std::fflush(stdout);
}

void write_error(const std::string& text) {
  const std::string clean = printable_lines(text);
  std::fwrite(clean.data(), 1, clean.size(), stderr);
}

void say(const std::string& line) {
  if (!line.empty()) write_error(line + "\n");
}

std::size_t terminal_columns(int descriptor) {
  if (isatty(descriptor) != 1) return 0;
  if (const auto given = given_columns()) return *given;
  winsize size = {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

bool can_redraw(int descriptor) {
  const char* term = std::getenv("TERM");
  return isatty(descriptor) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

bool colors(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  return can_redraw(descriptor) && (none == nullptr || *none == '\0');
}

}  // namespace smemtune::cli
