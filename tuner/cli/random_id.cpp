#include "tuner/cli/random_id.h"

#include <cstdio>
#include <random>

namespace smemtune::cli {

std::string random_id() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(device()));
    id += digits;
  }
  return id;
}

}  // namespace smemtune::cli
