#pragma once

#include "tuner/init/kernel_parameters.h"

#include <optional>
#include <string>

namespace smemtune {

/// Drafts a kernel's block in the names of the space, its extents from x on: as the host has them,
/// as the kernel suggests, or a TODO. Numbers that it needs become parameters, without values with
/// which a block would have more threads than any device allows.
Json draft_block(const LaunchedKernel& of, DraftedParameters& chosen);

/// Drafts the grid's extents from x on, each as the host has it if that can be said in our names,
/// or a TODO.
Json draft_grid(const LaunchedKernel& of, const Json& block, DraftedParameters& chosen);

/// Returns a text of the host at this launch in our names; nullopt if it has other names.
std::optional<std::string> in_our_names(const LaunchedKernel& of, const std::string& text,
                                        const Json& block, DraftedParameters& chosen);

}  // namespace smemtune
