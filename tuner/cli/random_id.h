#pragma once

#include <string>

namespace smemtune::cli {

/// Returns 128 unpredictable bits as 32 hexadecimal digits.
std::string random_id();

}  // namespace smemtune::cli
