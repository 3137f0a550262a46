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

// NOLINTNEXTLINE(misc-no-recursion): as deep as the source's namespaces.
void add_layouts(CXCursor parent, TypeLayouts& layouts) {
  for (const CXCursor child : ParsedSource::children(parent)) {
    if (!ParsedSource::is_own(child)) continue;
    const CXCursorKind kind = ParsedSource::kind(child);
    if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec) add_layouts(child, layouts);
    const bool is_type = kind == CXCursor_StructDecl || kind == CXCursor_ClassDecl ||
                         kind == CXCursor_EnumDecl || kind == CXCursor_TypedefDecl ||
                         kind == CXCursor_TypeAliasDecl;
    const CXType type = clang().getCanonicalType(clang().getCursorType(child));
    const bool is_made = type.kind == CXType_Record || type.kind == CXType_Enum;
    if (!is_type || !is_made || clang().Type_getSizeOf(type) <= 0) continue;
    TypeLayout layout;
    if (!add_elements(type, layout, 0) || layout.count == 0) continue;
    layout.bytes = static_cast<std::size_t>(clang().Type_getSizeOf(type));
    layout.is_record = type.kind == CXType_Record;
    layouts.emplace(ParsedSource::name(child), layout);
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the source's namespaces.
void add_enumerators(CXCursor parent, std::map<std::string, std::string>& numbers) {
  for (const CXCursor child : ParsedSource::children(parent)) {
    if (!ParsedSource::is_own(child)) continue;
    const CXCursorKind kind = ParsedSource::kind(child);
    if (kind == CXCursor_EnumConstantDecl) {
      numbers[ParsedSource::name(child)] = std::to_string(clang().getEnumConstantDeclValue(child));
    }
    const bool is_open = kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec ||
                         (kind == CXCursor_EnumDecl && clang().EnumDecl_isScoped(child) == 0);
    if (is_open) add_enumerators(child, numbers);
  }
}

}  // namespace

std::map<std::string, std::string> enumerators(const ParsedSource& source) {
  std::map<std::string, std::string> numbers;
  add_enumerators(source.root(), numbers);
  return numbers;
}

TypeLayouts type_layouts(const ParsedSource& source) {
  TypeLayouts layouts;
  add_layouts(source.root(), layouts);
  return layouts;
}

}  // namespace smemtune
