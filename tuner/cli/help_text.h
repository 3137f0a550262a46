#pragma once

#include <CLI/CLI.hpp>

#include <memory>

namespace smemtune::cli {

/// How --help is printed: lines of at most 100 columns, and every default in square brackets.
std::shared_ptr<CLI::Formatter> help_formatter();

}  // namespace smemtune::cli
