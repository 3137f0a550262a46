#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/space_names.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// A kernel, its launch, and the names of the space.
struct LaunchedKernel {
  const FlatSource& source;
  const KernelFile& file;
  const SpaceNames& names;
  const KernelFunction& kernel;
  const LaunchSite* site;  ///< nullptr if the source does not launch it.

  /// Returns what a name of the kernel is among these parameters: the formula that the host passes
  /// for a template parameter, in parentheses unless it is one name, or the name itself.
  std::string in_parameters(const std::string& name, const Json& parameters) const;
};

/// The parameters to search that a kernel's draft has so far; launches of one sequence share them.
struct DraftedParameters {
  bool has_macros = false;
  Json values = Json::object();    ///< Values of each parameter.
  Json defaults = Json::object();  ///< Default of each parameter.
  std::vector<std::string> notes;
  std::vector<std::string> guessed;                 ///< Parameters whose default is a guess.
  std::map<std::string, std::int64_t> own_extents;  ///< Parameters for the block alone.
  std::map<std::string, std::string> made_of;       ///< These parameters, by the host's text.
  /// A variable that the host tries several values for, and the parameter for it.
  std::vector<std::pair<std::string, std::string>> tried;
};

/// Adds a parameter for each named number of the kernel and for each name that nothing defines.
void add_names(const LaunchedKernel& of, DraftedParameters& chosen);

/// Adds the template parameters that are not types, with the values that the host passes.
void add_template_parameters(const LaunchedKernel& of, DraftedParameters& chosen);

}  // namespace smemtune
