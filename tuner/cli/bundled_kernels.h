#pragma once

#include "db/export_bundle.h"
#include "db/rows.h"

#include <filesystem>
#include <vector>

namespace smemtune::cli {

/// Compiles what each result launches, by the space file, for the device that it was measured on.
/// Throws InputError if a result is of the CPU device or of an edited kernel, does not compile, or
/// takes a texture; UnavailableError without NVRTC.
std::vector<db::BundledKernel> compile_bundle(const std::vector<db::StoredResult>& results,
                                              const std::filesystem::path& space_file);

}  // namespace smemtune::cli
