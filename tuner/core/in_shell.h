#pragma once

#include "tuner/core/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>

namespace smemtune {

/// How a program ended, and what it said.
struct Ended {
  int status = -1;  ///< -1: it was killed.
  std::string out = {};
  std::string err = {};
};

/// Runs a command of the shell's, for tests.
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

}  // namespace smemtune
