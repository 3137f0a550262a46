#include "tuner/init/type_layouts.h"

#include "tuner/init/elements.h"

#include <algorithm>

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

std::map<std::string, std::string> enumerators(const ParsedSource& source) {
  std::map<std::string, std::string> numbers;
  for_each_declaration(source.root(), [&](CXCursor declaration) {
    const bool is_open = ParsedSource::kind(declaration) == CXCursor_EnumDecl &&
                         clang().EnumDecl_isScoped(declaration) == 0;
    if (!is_open) return;
    for (const CXCursor one : ParsedSource::children(declaration)) {
      if (ParsedSource::kind(one) != CXCursor_EnumConstantDecl) continue;
      numbers[ParsedSource::name(one)] = std::to_string(clang().getEnumConstantDeclValue(one));
    }
  });
  return numbers;
}

TypeLayouts type_layouts(const ParsedSource& source) {
  TypeLayouts layouts;
  for_each_declaration(source.root(),
                       [&](CXCursor declaration) { add_layout(declaration, layouts); });
  return layouts;
}

}  // namespace smemtune
