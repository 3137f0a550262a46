#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/launch_sequence.h"
#include "tuner/init/space_draft.h"
#include "tuner/init/space_names.h"

#include <string>
#include <vector>

namespace smemtune {

/// A kernel of a space, and a line of the printed table for each of its launches.
struct KernelDraft {
  Json kernel;
  std::vector<std::string> launches;
};

KernelDraft draft_kernel(const FlatSource& source, const KernelFile& file,
                         const DraftRequest& request, const SpaceNames& names,
                         const std::string& kernel);

/// Drafts all launches of a sequence as one kernel. REQUIRES: `file` and `names` contain the
/// sequence's `whole`.
KernelDraft draft_sequence(const FlatSource& source, const KernelFile& file,
                           const DraftRequest& request, const SpaceNames& names,
                           const LaunchSequence& sequence);

}  // namespace smemtune
