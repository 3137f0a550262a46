#include "tuner/source/reach.h"

#include "tuner/source/source_files.h"

#include <algorithm>
#include <array>

namespace smemtune {
namespace {

/// Returns true for a namespace of device code, as in `using namespace`.
bool is_device_namespace(std::string_view name) {
  return is_one_of(name, {"nvcuda", "cooperative_groups", "cg", "cuda", "cub", "cute"});
}

}  // namespace

Reach::Reach(const SourceItems& source) : source_(source) {
  constexpr std::string_view kSpace = "namespace ";
  constexpr std::string_view kUsing = "using namespace ";
  for (const SourceItem& item : source.items) {
    const bool names_space = item.kind == SourceItem::Kind::open && item.what.starts_with(kSpace);
    if (names_space) name_spaces_.insert(item.what.substr(kSpace.size()));
  }
  for (std::size_t i = 0; i < source.items.size(); ++i) {
    const SourceItem& item = source.items[i];
    if (!item.is_code() || item.is_host || item.is_kernel) continue;
    if (item.what.starts_with(kUsing)) {
      const std::vector<std::string_view> words =
          identifiers(std::string_view(item.what).substr(kUsing.size()));
      const bool has = !words.empty() && (is_device_namespace(words.front()) ||
                                          name_spaces_.contains(std::string(words.front())));
      if (has) always_.push_back(i);
    }
    if (item.is_operator) operators_.push_back(i);
    for (const std::string& name : item.declares) declared_.emplace(name, i);
  }
}

/// Returns true for a type of the source, or for `float4`, `__half2` and the like.
bool Reach::is_type(const std::string& name) const {
  static constexpr std::array<std::string_view, 8> kElements = {
      "char", "short", "int", "long", "float", "double", "half", "bfloat16"};
  if (declared_.contains(name)) return true;
  const bool is_vector = !name.empty() && name.back() >= '1' && name.back() <= '4';
  return is_vector && std::ranges::any_of(kElements, [&](std::string_view element) {
           return name.find(element) != std::string::npos;
         });
}

/// Returns true if an operator may be meant where these names are used.
bool Reach::is_of_reached_types(const SourceItem& item, const std::set<std::string>& names) const {
  return std::ranges::any_of(
      item.uses, [&](const std::string& name) { return names.contains(name) && is_type(name); });
}

Reach::Reached Reach::from(const std::vector<std::size_t>& roots) const {
  Reached reached;
  std::vector<bool> known(source_.items.size());
  std::vector<std::size_t>& items = reached.items;
  const auto add = [&](std::size_t i) {
    if (i >= known.size() || known[i]) return;
    known[i] = true;
    items.push_back(i);
  };
  const auto add_group = [&](const std::vector<SourceGroup>& groups, std::size_t group) {
    if (group == kNoToken) return;
    for (const std::size_t mark : groups[group].marks) add(mark);
  };
  for (const std::size_t root : roots) add(root);
  for (const std::size_t item : always_) add(item);
  for (std::size_t next = 0; next < items.size(); ++next) {
    const SourceItem& item = source_.items[items[next]];
    add_group(source_.spaces, item.name_space_group);
    add_group(source_.conditions, item.condition_group);
    for (const std::string& name : item.uses) {
      if (!reached.names.insert(name).second) continue;
      const auto [first, end] = declared_.equal_range(name);
      for (auto entry = first; entry != end; ++entry) add(entry->second);
    }
    if (next + 1 < items.size()) continue;
    for (const std::size_t one : operators_) {
      if (is_of_reached_types(source_.items[one], reached.names)) add(one);
    }
  }
  return reached;
}

bool is_device_include(const std::string& name) {
  const bool is_hosts =
      is_one_of(name, {"<cuda.h>", "<cuda_runtime_api.h>", "<cuda_profiler_api.h>", "<nvrtc.h>",
                       "<cublas_v2.h>", "<curand.h>", "<cufft.h>", "<cusparse.h>",
                       "<cudaTypedefs.h>", "<nvml.h>"});
  if (name.size() < 3 || is_hosts || name.starts_with("<thrust/")) return false;
  const std::string_view bare = std::string_view(name).substr(1, name.size() - 2);
  return is_toolkit_header(bare) || is_c_header(bare) || is_cpp_header(bare);
}

}  // namespace smemtune
