#pragma once

#include "tuner/backend/compiler.h"

#include <functional>
#include <memory>

namespace smemtune {

/// The body of a compile worker: serves requests from descriptor `in` on `out` until it closes.
/// `make` is called first; what it throws is told to the parent. Returns the exit status.
int compile_worker_main(const std::function<std::unique_ptr<Compiler>()>& make, int in, int out);

}  // namespace smemtune
