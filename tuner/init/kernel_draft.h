#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/space_draft.h"
#include "tuner/init/space_names.h"

#include <string>

namespace smemtune {

/// A kernel of a space, and a line of the table for its launch.
struct KernelDraft {
  Json kernel;
  std::string launch;
};

KernelDraft draft_kernel(const FlatSource& source, const KernelFile& file,
                         const DraftRequest& request, const SpaceNames& names,
                         const std::string& kernel);

}  // namespace smemtune
