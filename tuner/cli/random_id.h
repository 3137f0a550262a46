#pragma once

#include <string>

namespace smemtune::cli {

/// 128 bits that nobody guesses, as 32 hexadecimal digits.
std::string random_id();

}  // namespace smemtune::cli
