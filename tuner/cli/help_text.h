#pragma once

#include <CLI/CLI.hpp>

#include <memory>

namespace smemtune::cli {

/// Returns the format of --help: lines of at most 100 columns, and every default in square
/// brackets.
std::shared_ptr<CLI::Formatter> help_formatter();

}  // namespace smemtune::cli
