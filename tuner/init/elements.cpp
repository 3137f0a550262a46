#include "tuner/init/elements.h"

#include "tuner/core/value.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace smemtune {

Elements elements_of(const std::string& type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kShort = {
      {{"uint", "unsigned int"},
       {"uchar", "unsigned char"},
       {"ushort", "unsigned short"},
       {"ulong", "unsigned long"},
       {"longlong", "long long"},
       {"ulonglong", "unsigned long long"},
       {"half", "__half"},
       {"nv_bfloat16", "__nv_bfloat16"},
       {"nv_half", "__half"},
       {"__half2", "__half"},
       {"half2", "__half"},
       {"__nv_bfloat162", "__nv_bfloat16"},
       {"nv_bfloat162", "__nv_bfloat16"},
       {"unsigned", "unsigned int"},
       {"uint_t", "unsigned int"},
       {"std::size_t", "unsigned long long"}}};
  const auto known = [](std::string_view name) -> std::string {
    for (const auto& [shorter, whole] : kShort) {
      if (name == shorter) return std::string(whole);
    }
    std::string_view bare = name;
    if (bare.starts_with("std::")) bare.remove_prefix(5);
    return scalar_type(bare) ? std::string(bare) : "";
  };
  if (type == "__nv_fp8x2_e4m3") return {"__nv_fp8_e4m3", 2};
  if (type == "__nv_fp8x4_e4m3") return {"__nv_fp8_e4m3", 4};
  if (type.ends_with("half2") || type.ends_with("bfloat162")) return {known(type), 2};
  if (const std::string name = known(type); !name.empty()) return {name, 1};
  const char last = type.empty() ? '0' : type.back();
  if (last < '1' || last > '4') return {};
  const std::string name = known(std::string_view(type).substr(0, type.size() - 1));
  return {name, name.empty() ? 1 : last - '0'};
}

bool is_floating_name(const std::string& type) {
  const std::optional<ScalarType> known = scalar_type(type);
  return known && is_floating(*known);
}

std::size_t scalar_bytes_of(const std::string& type) {
  const std::optional<ScalarType> known = scalar_type(type);
  return known ? size_of(*known) : 0;
}

}  // namespace smemtune
