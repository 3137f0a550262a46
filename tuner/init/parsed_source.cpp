#include "tuner/init/parsed_source.h"

#include "tuner/core/error.h"
#include "tuner/source/source_files.h"

#include <algorithm>
#include <array>
#include <utility>

namespace smemtune {
namespace {

constexpr const char* kStub = "/smemtune/host_stub.h";
constexpr const char* kMain = "/smemtune/source.cu";

/// Declarations that a host part needs from CUDA's headers. Functions that are missing here stop nothing: clang
/// keeps the arguments of a call that it cannot resolve.
constexpr const char* kHostStub = R"cuda(
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__
#define __grid_constant__
#define __restrict__ __restrict
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __CUDACC__ 1
typedef __SIZE_TYPE__ size_t;
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr __host__ __device__ dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
      : x(a), y(b), z(c) {}
};
#define SMEMTUNE_VECTORS(T, N) \
  struct N##1 { T x; }; struct __attribute__((aligned(2 * sizeof(T)))) N##2 { T x, y; }; \
  struct __attribute__((aligned(sizeof(T) > 4 ? 16 : 4 * sizeof(T)))) N##4 { T x, y, z, w; };
#define SMEMTUNE_ALL_VECTORS(T, N) SMEMTUNE_VECTORS(T, N) struct N##3 { T x, y, z; };
SMEMTUNE_ALL_VECTORS(signed char, char) SMEMTUNE_ALL_VECTORS(unsigned char, uchar)
SMEMTUNE_ALL_VECTORS(short, short) SMEMTUNE_ALL_VECTORS(unsigned short, ushort)
SMEMTUNE_ALL_VECTORS(int, int) SMEMTUNE_VECTORS(unsigned, uint)
SMEMTUNE_ALL_VECTORS(long, long) SMEMTUNE_ALL_VECTORS(unsigned long, ulong)
SMEMTUNE_ALL_VECTORS(long long, longlong) SMEMTUNE_ALL_VECTORS(unsigned long long, ulonglong)
SMEMTUNE_ALL_VECTORS(float, float) SMEMTUNE_ALL_VECTORS(double, double)
struct __half { unsigned short x; };
struct __half2 { __half x, y; };
struct __nv_bfloat16 { unsigned short x; };
struct __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
namespace thrust {
template <class T> struct device_vector {
  device_vector(); device_vector(size_t); device_vector(size_t, T);
  T* data(); T* begin(); T* end(); size_t size(); void resize(size_t); T& operator[](size_t);
};
template <class T> using host_vector = device_vector<T>;
template <class T> T* raw_pointer_cast(T*);
}
template <class A> struct smemtune_behind { typedef A type; };
template <class A> struct smemtune_behind<A*> { typedef A type; };
template <class A> using smemtune_value = typename smemtune_behind<A>::type;
extern const __device__ uint3 threadIdx, blockIdx;
extern const __device__ dim3 blockDim, gridDim;
extern const __device__ int warpSize;
typedef int cudaError_t;
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef unsigned long long cudaTextureObject_t;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice, cudaMemcpyDefault
};
struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = 0);
)cuda";

/// Declarations that most host parts need from the standard library, for one that includes none.
constexpr const char* kStandardStub = R"cuda(
namespace std {
template <class A, class B> A min(A, B);
template <class A, class B> A max(A, B);
template <class A> void swap(A&, A&);
template <class A> A sqrt(A);
template <class A> A ceil(A);
template <class T> struct vector {
  vector(); vector(size_t); vector(size_t, T);
  T* data(); T* begin(); T* end(); size_t size(); void resize(size_t); T& operator[](size_t);
};
struct string { string(const char*); };
}
)cuda";

/// Returns the position of a location in the main file, and its line.
std::pair<std::size_t, std::size_t> position(CXSourceLocation location) {
  unsigned line = 0;
  unsigned offset = 0;
  clang().getFileLocation(location, nullptr, &line, nullptr, &offset);
  return {offset, line};
}

std::size_t token_at(const CppTokens& tokens, std::size_t offset) {
  return static_cast<std::size_t>(std::ranges::lower_bound(tokens, offset, {}, &CppToken::begin) -
                                  tokens.begin());
}

/// Returns the text with blanks for the includes of CUDA's own headers, for which the stub stands
/// whether they are on this machine or not.
std::string without_toolkit(std::string text) {
  const std::string whole = text;
  for (const CppToken& token : cpp_tokens(whole)) {
    if (token.kind != CppToken::Kind::directive) continue;
    const std::size_t begin = token.text.find_first_of("<\"");
    const std::size_t end = token.text.find_last_of(">\"");
    const bool includes = token.text.find("include") < begin && begin != std::string_view::npos;
    if (!includes || end <= begin) continue;
    const std::string_view name = token.text.substr(begin + 1, end - begin - 1);
    if (!is_toolkit_header(name) && !name.starts_with("cu") && !name.starts_with("thrust/"))
      continue;
    std::replace_if(
        text.begin() + static_cast<long>(token.begin),
        text.begin() + static_cast<long>(token.end()), [](char c) { return c != '\n'; }, ' ');
  }
  return text;
}

}  // namespace

ParsedSource::ParsedSource(const FlatSource& source, Part part, std::string macros)
    : text_(without_toolkit(source.text)), part_(part), macros_(std::move(macros)) {
  constexpr int kMostRounds = 8;
  tokens_ = cpp_tokens(text_);
  index_ = clang().createIndex(0, 0);
  for (int round = 0; round < kMostRounds; ++round) {
    parse();
    if (!find_unknown()) break;
  }
  if (part_ == Part::device) leave_out_skipped();
}

/// Leaves out the tokens of branches that #if skips.
void ParsedSource::leave_out_skipped() {
  CXSourceRangeList* const skipped = clang().getSkippedRanges(unit_, clang().getFile(unit_, kMain));
  if (skipped == nullptr) return;
  for (unsigned i = 0; i < skipped->count; ++i) {
    const std::size_t begin = position(clang().getRangeStart(skipped->ranges[i])).first;
    const std::size_t end = position(clang().getRangeEnd(skipped->ranges[i])).first;
    std::erase_if(tokens_,
                  [&](const CppToken& token) { return token.begin >= begin && token.begin < end; });
  }
  clang().disposeSourceRangeList(skipped);
}

ParsedSource::~ParsedSource() {
  if (unit_ != nullptr) clang().disposeTranslationUnit(unit_);
  if (index_ != nullptr) clang().disposeIndex(index_);
}

void ParsedSource::parse() {
  static constexpr auto kArguments =
      std::to_array<const char*>({"-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib",
                                  "-std=c++17", "-include", kStub, "-ferror-limit=0", "-w"});
  if (unit_ != nullptr) clang().disposeTranslationUnit(unit_);
  unit_ = nullptr;
  const std::string stub = kHostStub + prologue();
  std::array<CXUnsavedFile, 2> files = {
      {{kStub, stub.c_str(), stub.size()}, {kMain, text_.c_str(), text_.size()}}};
  const CXErrorCode error = clang().parseTranslationUnit2(
      index_, kMain, kArguments.data(), static_cast<int>(kArguments.size()), files.data(),
      static_cast<unsigned>(files.size()),
      CXTranslationUnit_KeepGoing | CXTranslationUnit_DetailedPreprocessingRecord, &unit_);
  if (error != CXError_Success || unit_ == nullptr) {
    throw InputError("init: libclang cannot read the source (error " +
                     std::to_string(static_cast<int>(error)) + ")");
  }
}

/// Returns a declaration of each name that nothing declares, so that what uses it can be read.
std::string ParsedSource::prologue() const {
  std::string declarations = macros_ + (needs_std_ ? kStandardStub : "");
  for (const std::string& declaration : unknown_) declarations += declaration + "\n";
  return declarations;
}

/// Returns a declaration of what a diagnostic complains of; empty if there is nothing to declare.
/// `next`: the token behind the one that it points at.
std::string ParsedSource::declaration_for(const std::string& said, const CppToken& next) const {
  const std::size_t quote = said.find('\'') + 1;
  const std::string name = said.substr(quote, said.find('\'', quote) - quote);
  const std::string function = " __host__ __device__ ";
  if (said.ends_with("in namespace 'std'")) {
    return "namespace std { " +
           (said.starts_with("no type")
                ? "typedef size_t " + name
                : "template <class A, class... B>" + function + "A " + name + "(A, B...)") +
           "; }";
  }
  if (said.starts_with("unknown type name") && part_ == Part::device) {
    return "typedef int " + name + ";";
  }
  const bool is_template = said.find("does not name a template but") != std::string::npos;
  if (!is_template && !said.starts_with("use of undeclared identifier")) return "";
  if (is_template || next.is("<")) {
    return "template <class T, class... A>" + function + "T " + name +
           "(A...); template <auto N, class... A>" + function + "int " + name + "(A...);";
  }
  if (next.is("(") && part_ == Part::device) {
    return function + "int " + name + "(); template <class A, class... B>" + function +
           "smemtune_value<A> " + name + "(A, B...);";
  }
  if (next.is("(") || next.is("::")) return "";
  return part_ == Part::host ? "extern int " + name + ";" : "constexpr int " + name + " = 16;";
}

bool ParsedSource::find_unknown() {
  constexpr std::size_t kMost = 500;
  bool has_new = false;
  const CXFile main = clang().getFile(unit_, kMain);
  for (unsigned i = 0; i < clang().getNumDiagnostics(unit_); ++i) {
    const CXDiagnostic diagnostic = clang().getDiagnostic(unit_, i);
    const std::string said = clang().text(clang().getDiagnosticSpelling(diagnostic));
    const CXSourceLocation location = clang().getDiagnosticLocation(diagnostic);
    clang().disposeDiagnostic(diagnostic);
    CXFile file = nullptr;
    unsigned offset = 0;
    clang().getFileLocation(location, &file, nullptr, nullptr, &offset);
    if (file != main || unknown_.size() >= kMost) continue;
    if (said == "use of undeclared identifier 'std'") {
      has_new = !std::exchange(needs_std_, true) || has_new;
      continue;
    }
    const std::size_t next = token_at(tokens_, offset) + 1;
    const std::string declaration =
        declaration_for(said, next < tokens_.size() ? tokens_[next] : CppToken());
    if (!declaration.empty()) has_new = unknown_.insert(declaration).second || has_new;
  }
  return has_new;
}

std::vector<CXCursor> ParsedSource::children(CXCursor cursor) {
  std::vector<CXCursor> found;
  clang().visitChildren(
      cursor,
      [](CXCursor child, CXCursor, CXClientData data) {
        static_cast<std::vector<CXCursor>*>(data)->push_back(child);
        return CXChildVisit_Continue;
      },
      &found);
  return found;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the source's namespaces.
void for_each_declaration(CXCursor parent, const std::function<void(CXCursor)>& use) {
  for (const CXCursor child : ParsedSource::children(parent)) {
    if (!ParsedSource::is_own(child)) continue;
    const CXCursorKind kind = ParsedSource::kind(child);
    if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec ||
        kind == CXCursor_UnexposedDecl) {
      for_each_declaration(child, use);
    } else {
      use(child);
    }
  }
}

bool ParsedSource::is_own(CXCursor cursor) {
  return clang().Location_isFromMainFile(clang().getCursorLocation(cursor)) != 0;
}

std::string ParsedSource::element_type(CXCursor cursor) {
  CXType type = clang().getCanonicalType(clang().getCursorType(cursor));
  while (type.kind == CXType_Pointer || type.kind == CXType_LValueReference) {
    type = clang().getCanonicalType(clang().getPointeeType(type));
  }
  const std::string name = clang().text(clang().getTypeSpelling(type));
  return name.starts_with("const ") ? name.substr(6) : name;
}

TokenRange ParsedSource::range(CXCursor cursor) const {
  const CXSourceRange extent = clang().getCursorExtent(cursor);
  const std::size_t begin = position(clang().getRangeStart(extent)).first;
  const auto [end, line] = position(clang().getRangeEnd(extent));
  if (line == 0) return {};
  return {token_at(tokens_, begin), token_at(tokens_, end)};
}

std::size_t ParsedSource::line(CXCursor cursor) const {
  return position(clang().getCursorLocation(cursor)).second;
}

}  // namespace smemtune
