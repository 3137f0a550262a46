#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/space_draft.h"
#include "tuner/init/space_names.h"

#include <string>
#include <vector>

namespace smemtune {

/// The arguments of a space's kernels, and a row of the printed table for each.
struct ArgumentDraft {
  Json arguments = Json::array();
  std::vector<DraftedArgument> rows;
  Json most_blocks = Json::object();  ///< See SpaceNames::most_blocks().
};

/// `kernels`: their drafts.
ArgumentDraft draft_arguments(const FlatSource& source, const KernelFile& file,
                              const SpaceNames& names, const Json& kernels);

/// Returns a text as a value of a space: as a number if it is one.
Json as_value(const std::string& text);

/// Returns a text of the host, followed by the value of a variable if it is one.
std::string in_full(const LaunchSite& site, const std::string& text);

}  // namespace smemtune
