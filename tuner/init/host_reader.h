#pragma once

#include "tuner/source/flat_source.h"
#include "tuner/source/kernel_file.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// The host part of a source.
struct HostPart {
  std::vector<LaunchSite> launches;  ///< In its order, with what the host does on the way to each.
  /// Functions that only return an expression: `int blocks(int n) { return (n + 255) / 256; }`.
  FunctionMacros functions;
  TypeLayouts layouts;
  // See KernelFile for these:
  std::vector<Enumeration> enumerations;
  std::map<std::string, std::string> enumerators;
  std::map<std::string, std::string> fills;
  std::map<std::string, std::set<std::string>> copied_to_constants;
};

/// Throws InputError if there is no libclang.
HostPart read_host(const FlatSource& source);

/// Adds the host part to what the kernels tell.
void add_host(const HostPart& host, KernelFile& file);

}  // namespace smemtune
