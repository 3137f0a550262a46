#pragma once

#include "tuner/source/source_items.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// Finds what kernels reach in a source. Refers to the items.
class Reach {
 public:
  explicit Reach(const SourceItems& source);

  struct Reached {
    std::vector<std::size_t> items;  ///< In no order; contains `roots`.
    std::set<std::string> names;     ///< Every name that is used.
  };

  /// Returns what the items `roots` need: declarations, macros, and the namespaces and conditionals
  /// that they lie in; never a function of the host's or another kernel.
  Reached from(const std::vector<std::size_t>& roots) const;

  /// Returns the names of the source's namespaces.
  const std::set<std::string>& name_spaces() const { return name_spaces_; }

 private:
  bool is_type(const std::string& name) const;
  bool is_of_reached_types(const SourceItem& item, const std::set<std::string>& names) const;

  const SourceItems& source_;
  /// Items, by the name that they declare.
  std::multimap<std::string_view, std::size_t> declared_;
  std::vector<std::size_t> always_;  ///< `using namespace` of a namespace of device code.
  std::vector<std::size_t> operators_;
  std::set<std::string> name_spaces_;
};

/// Returns true for headers that NVRTC has, or gets from smemtune; all others are the host's.
/// `name` has its marks: `<cuda_fp16.h>`.
bool is_device_include(const std::string& name);

}  // namespace smemtune
