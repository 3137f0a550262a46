#include "tuner/cli/terminal.h"

#include "tuner/core/text.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace smemtune::cli {

void write_out(const std::string& text) { write_document(printable_lines(text)); }

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

bool colors(int descriptor) {
  const auto variable = [](const char* name) -> std::string_view {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  return isatty(descriptor) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

}  // namespace smemtune::cli
