#include "tuner/init/parsed_source.h"

#include "tuner/core/error.h"
#include "tuner/source/directive.h"
#include "tuner/source/source_files.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace smemtune {
namespace {

constexpr const char* kStub = "/smemtune/host_stub.h";
constexpr const char* kMain = "/smemtune/source.cu";
constexpr std::int64_t kAnySize = 16;  ///< Stands for a number that only the command line has.

/// Declarations that a host part needs from CUDA's headers. Functions that are missing here stop
/// nothing: clang keeps the arguments of a call that it cannot resolve.
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
namespace cub {
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS
};
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

/// Returns true for names of CUDA's, C's and other compilers' headers and for their own macros.
bool is_of_headers(std::string_view name) {
  static constexpr std::array<std::string_view, 15> kBegin = {
      "CUDA_VERSION", "cuda",  "__",    "CUDART_", "FLT_",     "DBL_", "INT_", "UINT_",
      "M_",           "CHAR_", "LONG_", "SHRT_",   "INFINITY", "NAN",  "NULL"};
  const bool is_reserved = name.size() > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z';
  return is_reserved || std::ranges::any_of(kBegin, [&](std::string_view begin) {
           return name.starts_with(begin);
         });
}

std::size_t token_at(const CppTokens& tokens, std::size_t offset) {
  return static_cast<std::size_t>(std::ranges::lower_bound(tokens, offset, {}, &CppToken::begin) -
                                  tokens.begin());
}

/// Returns true if a macro's text calls a function of that name: `#define ROOT sqrtf(3.0f)`.
bool is_called_by_macro(const CppTokens& tokens, const std::string& name) {
  return std::ranges::any_of(tokens, [&](const CppToken& token) {
    if (token.kind != CppToken::Kind::directive) return false;
    const Directive directive = directive_of(token);
    const CppTokens words = cpp_tokens(directive.rest);
    for (std::size_t i = 1; i + 1 < words.size() && directive.name == "define"; ++i) {
      if (words[i].is(name) && words[i + 1].is("(")) return true;
    }
    return false;
  });
}

/// Returns true for an include of one of CUDA's own headers.
bool includes_toolkit(const CppToken& token) {
  if (token.kind != CppToken::Kind::directive) return false;
  const std::size_t begin = token.text.find_first_of("<\"");
  const std::size_t end = token.text.find_last_of(">\"");
  const bool includes = token.text.find("include") < begin && begin != std::string_view::npos;
  if (!includes || end <= begin) return false;
  const std::string_view name = token.text.substr(begin + 1, end - begin - 1);
  return is_toolkit_header(name) || name.starts_with("cu") || name.starts_with("thrust/");
}

/// Returns the text with blanks for what only stands in the way where nothing of CUDA is declared:
/// the includes of its headers, for which the stub stands whether they are on this machine or not,
/// and the `::` of `::cudaMalloc`.
std::string without_toolkit(std::string text) {
  const std::string whole = text;
  CppToken before;
  for (const CppToken& token : cpp_tokens(whole)) {
    const bool is_global =
        token.is("::") && !before.is(">") && (!before.is_word() || before.is("return"));
    if (is_global || includes_toolkit(token)) blank(text, token.begin, token.end());
    before = token;
  }
  return text;
}

}  // namespace

ParsedSource::ParsedSource(const FlatSource& source, Part part, ComparedNumbers compared)
    : text_(without_toolkit(source.text)), part_(part), compared_(std::move(compared)) {
  constexpr int kMostRounds = 8;
  tokens_ = cpp_tokens(text_);
  index_ = clang().createIndex(0, 0);
  for (std::size_t left = versions(); left > 0; --left) {
    version_ = left - 1;
    unknown_.clear();
    takes_constants_ = part_ == Part::host;
    for (int round = 0; round < kMostRounds; ++round) {
      parse();
      if (!find_unknown() && std::exchange(takes_constants_, true)) break;
    }
  }
  std::ranges::stable_sort(missing_, {}, &MissingName::line);
  if (part_ == Part::device) leave_out_skipped();
}

/// Returns how often to read the source for the names in every branch of an #if that compares a
/// number: as it is, with each of the numbers, and with another one.
std::size_t ParsedSource::versions() const {
  constexpr std::size_t kMost = 5;
  std::size_t versions = 1;
  for (const auto& [name, numbers] : compared_) versions = std::max(versions, numbers.size() + 2);
  return std::min(versions, kMost);
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
  static constexpr auto kArguments = std::to_array<const char*>(
      {"-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-std=c++17", "-include",
       kStub, "-ferror-limit=0", "-Wno-everything", "-Wundef"});
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
  std::string declarations = needs_std_ ? kStandardStub : "";
  for (const std::string& declaration : unknown_) declarations += declaration + "\n";
  if (version_ == 0) return declarations;
  for (const auto& [name, numbers] : compared_) {
    if (!is_of_headers(name)) declarations += define(name);
  }
  return declarations;
}

/// Returns a declaration of what a diagnostic complains of; empty if there is nothing to declare.
/// `place`: the token that it points at.
std::string ParsedSource::declaration_for(const std::string& said, std::size_t place) {
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
  if (said.ends_with("is not defined, evaluates to 0")) {
    if (part_ == Part::host || is_of_headers(name)) return "";
    note_missing(name, place, false);
    return define(name);
  }
  if (said.starts_with("unknown type name")) {
    if (part_ == Part::host)
      return "struct " + name + " { template <class... A> " + name + "(A...); };";
    note_missing(name, place, true);
    return "typedef int " + name + ";";
  }
  const bool is_template = said.find("does not name a template but") != std::string::npos;
  if (!is_template && !said.starts_with("use of undeclared identifier")) return "";
  const CppToken next = place + 1 < tokens_.size() ? tokens_[place + 1] : CppToken();
  if (is_template || next.is("<")) {
    return "template <class T, class... A>" + function + "T " + name +
           "(A...); template <auto N, class... A>" + function + "int " + name + "(A...);";
  }
  if (!next.is("::")) {
    const bool is_called =
        tokens_[place].is(name) ? next.is("(") : is_called_by_macro(tokens_, name);
    return declaration_of(name, place, is_called);
  }
  const bool is_function = place + 3 < tokens_.size() && tokens_[place + 2].is_word() &&
                           tokens_[place + 3].is("(") && part_ == Part::host;
  return is_function ? "namespace " + name + " { template <class A, class... B>" + function + "A " +
                           std::string(tokens_[place + 2].text) + "(A, B...); }"
                     : "";
}

/// Returns a declaration of a function or a variable; empty if it needs none.
std::string ParsedSource::declaration_of(const std::string& name, std::size_t place,
                                         bool is_called) {
  if (is_called && part_ == Part::device) {
    const std::string function = " __host__ __device__ ";
    return function + "int " + name + "(); template <class A, class... B>" + function +
           "smemtune_value<A> " + name + "(A, B...);";
  }
  if (is_called) return "";
  if (part_ == Part::host) return "extern int " + name + ";";
  if (!takes_constants_) return "";
  note_missing(name, place, false);
  return "constexpr int " + name + " = " + std::to_string(kAnySize) + ";";
}

/// Returns the definition of a name in #if, with the value that it has in this version.
std::string ParsedSource::define(const std::string& name) const {
  const auto known = compared_.find(name);
  std::int64_t value = kAnySize;
  if (known != compared_.end()) {
    const std::set<std::int64_t>& numbers = known->second;
    const std::size_t which = version_ == 0 ? 0 : version_ - 1;
    value = which < numbers.size() ? *std::next(numbers.begin(), static_cast<std::ptrdiff_t>(which))
                                   : *numbers.rbegin() + 1;
  }
  return "#define " + name + " " + std::to_string(value) + "\n";
}

/// Returns true if the text declares the name by something that clang cannot read: a type by
/// `typedef` or `using`, a variable of a type that is not known.
bool ParsedSource::declares(const std::string& name, bool is_type) const {
  for (std::size_t i = 2; i + 1 < tokens_.size(); ++i) {
    if (!tokens_[i].is(name)) continue;
    const CppToken& before = tokens_[i - 1];
    const CppToken& after = tokens_[i + 1];
    const bool ends = after.is(";", "(", "=", "{");
    const bool has_type = (before.is(">") && opening_angle(tokens_, i - 1, 0) != kNoToken) ||
                          (before.is_word() && tokens_[i - 2].is("::"));
    if (before.is("using") || (is_type && after.is(";")) || (ends && has_type)) return true;
  }
  return false;
}

void ParsedSource::note_missing(const std::string& name, std::size_t place, bool is_type) {
  if (is_of_headers(name) || declares(name, is_type)) return;
  auto known = std::ranges::find(missing_, name, &MissingName::name);
  if (known == missing_.end()) {
    known = missing_.insert(known, {.name = name, .line = tokens_[place].line});
  }
  known->is_type = known->is_type || is_type;
}

bool ParsedSource::find_unknown() {
  constexpr std::size_t kMost = 500;
  bool has_new = false;
  const CXFile main = clang().getFile(unit_, kMain);
  // Where errors have notes, clang writes all of them anew whenever it is asked for their number.
  const unsigned count = clang().getNumDiagnostics(unit_);
  for (unsigned i = 0; i < count; ++i) {
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
    const auto behind = std::ranges::upper_bound(tokens_, offset, {}, &CppToken::begin);
    if (behind == tokens_.begin()) continue;
    const auto place = static_cast<std::size_t>(behind - tokens_.begin()) - 1;
    const std::string declaration = declaration_for(said, place);
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
