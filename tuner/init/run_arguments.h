#pragma once

#include "tuner/source/flat_source.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune {

/// The arguments that a makefile or a script beside a source runs its program with.
struct RunArguments {
  std::string file;      ///< `Makefile`; empty if none runs it.
  std::size_t line = 0;  ///< Line of the command.
  std::vector<std::string> values;
};

/// Returns the arguments of the first command `./program 1024 100` of a makefile's target `run` or
/// `test`, or of a script called `run` or `run.sh`.
RunArguments run_arguments_beside(const std::filesystem::path& source);

/// Returns the source with these arguments in place of `atoi(argv[1])` and the like, and their
/// number in place of `argc`. Places in the text stay the same. A source that reads its arguments
/// in another way is returned as it is.
FlatSource with_run_arguments(FlatSource source, const RunArguments& arguments);

}  // namespace smemtune
