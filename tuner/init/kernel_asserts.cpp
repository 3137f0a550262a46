#include "tuner/init/kernel_asserts.h"

#include "tuner/init/host_terms.h"

#include <algorithm>
#include <utility>

namespace smemtune {
namespace {

class AssertReader {
 public:
  explicit AssertReader(const ParsedSource& source) : source_(source) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the source's namespaces.
  void read(CXCursor parent) {
    for (const CXCursor child : ParsedSource::children(parent)) {
      if (!ParsedSource::is_own(child)) continue;
      const CXCursorKind kind = ParsedSource::kind(child);
      if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec) read(child);
      if (kind == CXCursor_FunctionDecl || kind == CXCursor_FunctionTemplate) read_kernel(child);
    }
  }

  std::map<std::string, std::vector<std::string>> found() && { return std::move(found_); }

 private:
  void read_kernel(CXCursor function) {
    const std::vector<CXCursor> parts = ParsedSource::children(function);
    const bool is_kernel = std::ranges::any_of(
        parts, [](CXCursor part) { return ParsedSource::kind(part) == CXCursor_CUDAGlobalAttr; });
    if (!is_kernel) return;
    constants_.clear();
    name_ = ParsedSource::name(function);
    for (const CXCursor part : parts) {
      if (ParsedSource::kind(part) == CXCursor_CompoundStmt) read_body(part);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as statements lie in each other.
  void read_body(CXCursor parent) {
    for (const CXCursor child : ParsedSource::children(parent)) {
      const CXCursorKind kind = ParsedSource::kind(child);
      if (kind == CXCursor_VarDecl) {
        read_constant(child);
      } else if (kind == CXCursor_StaticAssert) {
        read_assert(child);
      } else {
        read_body(child);
      }
    }
  }

  void read_constant(CXCursor variable) {
    const CppTokens& tokens = source_.tokens();
    const TokenRange range = source_.range(variable);
    std::size_t equals = range.first;
    while (equals < range.end && !tokens[equals].is("=")) ++equals;
    const bool is_constant = clang().isConstQualifiedType(clang().getCursorType(variable)) != 0;
    if (!is_constant || equals >= range.end) return;
    const std::string value = substituted(joined(tokens, {equals + 1, range.end}), constants_);
    constants_.emplace_back(ParsedSource::name(variable), "(" + value + ")");
  }

  void read_assert(CXCursor cursor) {
    const std::vector<CXCursor> parts = ParsedSource::children(cursor);
    if (parts.empty()) return;
    found_[name_].push_back(substituted(source_.text(parts.front()), constants_));
  }

  const ParsedSource& source_;
  std::string name_;
  std::vector<std::pair<std::string, std::string>> constants_;
  std::map<std::string, std::vector<std::string>> found_;
};

}  // namespace

std::map<std::string, std::vector<std::string>> kernel_asserts(const ParsedSource& source) {
  AssertReader reader(source);
  reader.read(source.root());
  return std::move(reader).found();
}

}  // namespace smemtune
