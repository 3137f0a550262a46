#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/agreement.h"
#include "tuner/init/space_names.h"

#include <cstddef>
#include <optional>
#include <string>

namespace smemtune {

/// Returns what a simple kernel computes, as a definition (core/definition.h): one output, each
/// element of which a thread computes from elements and from sums over loops. Nullopt if the kernel
/// does more than can be read, or uses shared memory. `source` holds the kernel, `arguments` are
/// those of the space that `names` belongs to.
std::optional<std::string> definition_of(const KernelFunction& kernel, const SpaceNames& names,
                                         const Json& arguments);

/// The host's expectation of a launch's results, as a definition.
struct ExpectedByHost {
  std::string definition;
  Contents contents = {};   ///< Contents of arguments that it needs; empty if anything will do.
  std::size_t line = 0;     ///< Line of the comparison.
  bool is_printed = false;  ///< True if it is only printed beside the results.
  /// True if it is what the kernel seems to compute, of which the host expects only the total.
  bool is_in_total = false;
};

/// Returns what the host compares the results of the first kernel's launch with, where it states it
/// for every element: by an expression, or in an array that it fills in loops.
std::optional<ExpectedByHost> expected_by_host(const KernelFile& file, const SpaceNames& names,
                                               const Json& arguments);

}  // namespace smemtune
