#pragma once

#include "tuner/source/flat_source.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

struct InitOptions {
  std::filesystem::path source;      ///< The user's .cu file.
  std::filesystem::path output;      ///< Empty: the source's name with the extension .json.
  SourceSurroundings with;           ///< From -I and -D, and further files.
  std::vector<std::string> kernels;  ///< Empty: the first one, and those with the same arguments.
  bool force = false;
};

/// Adds the options of `smemtune init`.
void add_init_options(CLI::App& app, InitOptions& options);

/// Writes a space file for a source, and a separate file of its kernels if the source contains
/// anything else. Returns 0. Throws InputError.
int run_init(const InitOptions& options);

}  // namespace smemtune::cli
