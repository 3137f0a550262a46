#pragma once

#include <clang-c/Index.h>
#include <string>
#include <vector>

namespace smemtune {

// Every function of libclang that is used. The library is opened at run time, so that the program
// runs without it.
#define SMEMTUNE_CLANG_FUNCTIONS(USE) \
  USE(createIndex)                    \
  USE(disposeIndex)                   \
  USE(parseTranslationUnit2)          \
  USE(disposeTranslationUnit)         \
  USE(getTranslationUnitCursor)       \
  USE(visitChildren)                  \
  USE(getCursorKind)                  \
  USE(getCursorSpelling)              \
  USE(getCursorExtent)                \
  USE(getCursorLocation)              \
  USE(getCursorType)                  \
  USE(getCanonicalType)               \
  USE(getPointeeType)                 \
  USE(getTypeDeclaration)             \
  USE(getTypeSpelling)                \
  USE(Type_getSizeOf)                 \
  USE(getArrayElementType)            \
  USE(getArraySize)                   \
  USE(EnumDecl_isScoped)              \
  USE(getEnumConstantDeclValue)       \
  USE(isConstQualifiedType)           \
  USE(Location_isFromMainFile)        \
  USE(getRangeStart)                  \
  USE(getRangeEnd)                    \
  USE(getFileLocation)                \
  USE(getNumDiagnostics)              \
  USE(getDiagnostic)                  \
  USE(disposeDiagnostic)              \
  USE(getDiagnosticSpelling)          \
  USE(getDiagnosticLocation)          \
  USE(getFile)                        \
  USE(getSkippedRanges)               \
  USE(disposeSourceRangeList)         \
  USE(getCString)                     \
  USE(disposeString)

/// The functions of libclang without their prefix.
struct ClangLibrary {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares a member.
#define SMEMTUNE_DECLARE(name) decltype(&::clang_##name) name = nullptr;
  SMEMTUNE_CLANG_FUNCTIONS(SMEMTUNE_DECLARE)
#undef SMEMTUNE_DECLARE

  /// Returns a string of the library's and frees it there.
  std::string text(CXString string) const;
};

/// Opens the first of these shared libraries that is there and has every function; it stays open.
/// Throws InputError saying which package to install.
ClangLibrary open_clang(const std::vector<std::string>& candidates);

/// Returns the library of this machine, opened at the first call. Throws InputError as
/// open_clang().
const ClangLibrary& clang();

}  // namespace smemtune
