#include "tuner/init/elements.h"

#include "tuner/core/value.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

constexpr long long kMostElements = 4096;

// NOLINTNEXTLINE(misc-no-recursion): as deep as types lie in each other.
bool add_elements(CXType type, TypeLayout& layout, int depth);

/// Adds an element, of which there are several kinds where they differ from each other.
bool add_element(const std::string& name, long long count, TypeLayout& layout) {
  if (name.empty() || layout.count + count > kMostElements) return false;
  layout.is_mixed = layout.is_mixed || (!layout.type.empty() && layout.type != name);
  layout.type = name;
  layout.count += static_cast<int>(count);
  return true;
}

/// Adds the members of a structure and of its bases.
// NOLINTNEXTLINE(misc-no-recursion): likewise.
bool add_members(CXCursor declaration, TypeLayout& layout, int depth) {
  if (ParsedSource::kind(declaration) == CXCursor_UnionDecl) return false;
  const std::vector<CXCursor> parts = ParsedSource::children(declaration);
  return std::ranges::all_of(parts, [&](CXCursor part) {
    const CXCursorKind kind = ParsedSource::kind(part);
    const bool has_data = kind == CXCursor_FieldDecl || kind == CXCursor_CXXBaseSpecifier;
    return !has_data || add_elements(clang().getCursorType(part), layout, depth + 1);
  });
}

/// Adds the scalars that a type is made of. Returns false if something else is in it.
// NOLINTNEXTLINE(misc-no-recursion): likewise.
bool add_elements(CXType type, TypeLayout& layout, int depth) {
  constexpr int kDeepest = 8;
  type = clang().getCanonicalType(type);
  std::string name = clang().text(clang().getTypeSpelling(type));
  if (name.starts_with("const ")) name = name.substr(6);
  if (depth == kDeepest) return false;
  if (type.kind == CXType_ConstantArray) {
    const long long extent = clang().getArraySize(type);
    TypeLayout one;
    if (extent > kMostElements ||
        !add_elements(clang().getArrayElementType(type), one, depth + 1)) {
      return false;
    }
    layout.is_mixed = layout.is_mixed || one.is_mixed;
    return one.count == 0 || extent == 0 || add_element(one.type, extent * one.count, layout);
  }
  if (type.kind == CXType_Enum) return add_element("int", 1, layout);
  const Elements known = elements_of(name);
  if (!known.type.empty()) return add_element(known.type, known.count, layout);
  return type.kind == CXType_Record && add_members(clang().getTypeDeclaration(type), layout, depth);
}

void add_layout(CXCursor declaration, TypeLayouts& layouts) {
  const CXCursorKind kind = ParsedSource::kind(declaration);
  const bool is_type = kind == CXCursor_StructDecl || kind == CXCursor_ClassDecl ||
                       kind == CXCursor_EnumDecl || kind == CXCursor_TypedefDecl ||
                       kind == CXCursor_TypeAliasDecl;
  const CXType type = clang().getCanonicalType(clang().getCursorType(declaration));
  const bool is_made = type.kind == CXType_Record || type.kind == CXType_Enum;
  if (!is_type || !is_made || clang().Type_getSizeOf(type) <= 0) return;
  TypeLayout layout;
  if (!add_elements(type, layout, 0) || layout.count == 0) return;
  layout.bytes = static_cast<std::size_t>(clang().Type_getSizeOf(type));
  layout.is_record = type.kind == CXType_Record;
  layouts.emplace(ParsedSource::name(declaration), layout);
}

}  // namespace

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
    if (!scalar_type(bare) && bare.ends_with(" int")) bare.remove_suffix(4);  // `long int`
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

void add_enumerations(const ParsedSource& source, HostPart& host) {
  for_each_declaration(source.root(), [&](CXCursor declaration) {
    if (ParsedSource::kind(declaration) != CXCursor_EnumDecl) return;
    const std::string name = ParsedSource::name(declaration);
    const std::string type = ParsedSource::type(declaration);  // The type has its namespaces.
    const bool is_scoped = clang().EnumDecl_isScoped(declaration) != 0;
    const std::string space = is_scoped ? type + "::" : type.substr(0, type.size() - name.size());
    Enumeration found = {.name = type};
    for (const CXCursor one : ParsedSource::children(declaration)) {
      if (ParsedSource::kind(one) != CXCursor_EnumConstantDecl) continue;
      const std::string word = ParsedSource::name(one);
      found.words.push_back(space + word);
      if (is_scoped) continue;
      host.enumerators[word] = std::to_string(clang().getEnumConstantDeclValue(one));
    }
    if (!name.empty()) host.enumerations.push_back(std::move(found));
  });
}

TypeLayouts type_layouts(const ParsedSource& source) {
  TypeLayouts layouts;
  for_each_declaration(source.root(),
                       [&](CXCursor declaration) { add_layout(declaration, layouts); });
  return layouts;
}

}  // namespace smemtune
