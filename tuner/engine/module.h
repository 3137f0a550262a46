#pragma once

#include "tuner/backend/compiler.h"

#include <cstdint>
#include <memory>

namespace smemtune {

/// A module that was compiled for a pool of workers.
struct NumberedModule : CompiledKernel {
  std::uint64_t number = 0;  ///< Identifies the image on hosts; never used twice in a pool.
};

using Module = std::shared_ptr<const NumberedModule>;

}  // namespace smemtune
