#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/space_names.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace smemtune {

/// A kernel, where it is launched, and what the space has names for.
struct LaunchedKernel {
  const FlatSource& source;
  const KernelFile& file;
  const SpaceNames& names;
  const KernelFunction& kernel;
  const LaunchSite* site;  ///< nullptr: the source does not launch it.
};

/// What is searched, as far as a kernel's draft has come; launches of one sequence share it.
struct DraftedParameters {
  bool has_macros = false;
  Json values = Json::object();    ///< Each parameter's.
  Json defaults = Json::object();  ///< The same parameters.
  std::vector<std::string> notes;
  std::vector<std::string> guessed;                 ///< Parameters whose default is a guess.
  std::map<std::string, std::int64_t> own_extents;  ///< Parameters for the block by itself.
  std::map<std::string, std::string> made_of;       ///< These, by what the host has.
};

/// Adds what the kernel has as named numbers and as names that nothing defines.
void add_names(const LaunchedKernel& of, DraftedParameters& chosen);

/// Adds the template parameters that are no types, with what the host passes.
void add_template_parameters(const LaunchedKernel& of, DraftedParameters& chosen);

}  // namespace smemtune
