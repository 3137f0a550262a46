#pragma once

#include "tuner/core/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>

namespace smemtune {

/// Exit status and output of a program that has ended.
struct Ended {
  int status = -1;  ///< Exit status; -1 if it was killed.
  std::string out = {};
  std::string err = {};
};

/// Runs a shell command and waits for its end. For tests.
inline Ended in_shell(const std::string& command) {
  const TemporaryFolder folder;
  const std::string out = folder.path() / "out";
  const std::string err = folder.path() / "err";
  const int status = std::system(("{ " + command + "\n} >'" + out + "' 2>'" + err + "'").c_str());
  const auto read = [](const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  return {
      .status = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = read(out), .err = read(err)};
}

/// Runs the program smemtune in a folder that has its database and caches, with the sentences that
/// it prints in one line each.
inline Ended in_folder(const TemporaryFolder& folder, const std::string& program,
                       const std::string& words) {
  return in_shell("cd '" + folder.path().string() +
                  "' && export COLUMNS=1000 SMEMTUNE_SHIPPED=off SMEMTUNE_DB=$PWD/results.sqlite "
                  "XDG_CACHE_HOME=$PWD/cache XDG_RUNTIME_DIR=$PWD && '" +
                  program + "' " + words);
}

}  // namespace smemtune
