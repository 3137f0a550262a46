#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/source/cpp_tokens.h"
#include "tuner/source/in_double.h"
#include "tuner/source/source_items.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

using Names = std::map<std::string_view, std::string_view>;

// The C library's functions of a float, without their suffix f.
constexpr std::array<std::string_view, 71> kMath = {
    "acos",   "acosh",    "asin",   "asinh",  "atan",      "atan2",    "atanh",     "cbrt",
    "ceil",   "copysign", "cos",    "cosh",   "cospi",     "erf",      "erfc",      "erfcinv",
    "erfcx",  "erfinv",   "exp",    "exp10",  "exp2",      "expm1",    "fabs",      "fdim",
    "floor",  "fma",      "fmax",   "fmin",   "fmod",      "frexp",    "hypot",     "ilogb",
    "j0",     "j1",       "ldexp",  "lgamma", "llrint",    "llround",  "log",       "log10",
    "log1p",  "log2",     "logb",   "lrint",  "lround",    "modf",     "nearbyint", "nextafter",
    "norm3d", "normcdf",  "pow",    "rcbrt",  "remainder", "rhypot",   "rint",      "rnorm3d",
    "round",  "rsqrt",    "scalbn", "sin",    "sincos",    "sincospi", "sinh",      "sinpi",
    "sqrt",   "tan",      "tanh",   "tgamma", "trunc",     "y0",       "y1"};

// Approximations and conversions, by their replacements. Names that begin with smemtune_ are in
// kPrelude.
const Names& replacements() {
  static const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> by_meaning =
      {{"exp", {"__expf", "hexp"}},
       {"exp10", {"__exp10f"}},
       {"log", {"__logf", "hlog"}},
       {"log2", {"__log2f"}},
       {"log10", {"__log10f"}},
       {"sin", {"__sinf", "hsin"}},
       {"cos", {"__cosf", "hcos"}},
       {"tan", {"__tanf"}},
       {"tanh", {"__tanhf", "htanh"}},
       {"sincos", {"__sincosf"}},
       {"pow", {"__powf"}},
       {"rsqrt", {"__frsqrt_rn", "hrsqrt"}},
       {"smemtune_div", {"__fdividef", "__hdiv", "__h2div"}},
       {"smemtune_saturate", {"__saturatef"}},
       {"make_double1", {"make_float1"}},
       {"make_double2",
        {"make_float2", "make_half2", "__floats2half2_rn", "__halves2half2",
         "__floats2bfloat162_rn", "__halves2bfloat162"}},
       {"make_double3", {"make_float3"}},
       {"make_double4", {"make_float4"}},
       {"double",
        {"__half2float", "__float2half", "__float2half_rn", "__double2half", "__int2half_rn",
         "__bfloat162float", "__float2bfloat16", "__float2bfloat16_rn", "__double2bfloat16",
         "__double2float_rn"}},
       {"double2",
        {"__half22float2", "__float22half2_rn", "__bfloat1622float2", "__float22bfloat162_rn"}},
       {"smemtune_twice",
        {"__half2half2", "__float2half2_rn", "__bfloat162bfloat162", "__float2bfloat162_rn"}},
       {"smemtune_low", {"__low2half", "__low2float", "__low2bfloat16"}},
       {"smemtune_high", {"__high2half", "__high2float", "__high2bfloat16"}},
       {"smemtune_add", {"__hadd", "__hadd2"}},
       {"smemtune_sub", {"__hsub", "__hsub2"}},
       {"smemtune_mul", {"__hmul", "__hmul2"}},
       {"fma", {"__hfma"}},
       {"smemtune_neg", {"__hneg"}},
       {"fabs", {"__habs"}},
       {"fmax", {"__hmax"}},
       {"fmin", {"__hmin"}},
       {"smemtune_fma", {"__hfma2"}},
       {"sqrt", {"hsqrt"}}};
  static const Names names = [] {
    Names all;
    for (const auto& [instead, words] : by_meaning) {
      for (const std::string_view word : words) all.emplace(word, instead);
    }
    return all;
  }();
  return names;
}

constexpr std::string_view kPrelude =
    "static __device__ inline double smemtune_add(double a, double b) { return a + b; } "
    "static __device__ inline double smemtune_sub(double a, double b) { return a - b; } "
    "static __device__ inline double smemtune_mul(double a, double b) { return a * b; } "
    "static __device__ inline double smemtune_div(double a, double b) { return a / b; } "
    "static __device__ inline double smemtune_neg(double a) { return -a; } "
    "static __device__ inline double smemtune_saturate(double a) "
    "{ return a > 0 ? (a < 1 ? a : 1) : 0; } "
    "static __device__ inline double2 smemtune_add(double2 a, double2 b) "
    "{ return make_double2(a.x + b.x, a.y + b.y); } "
    "static __device__ inline double2 smemtune_sub(double2 a, double2 b) "
    "{ return make_double2(a.x - b.x, a.y - b.y); } "
    "static __device__ inline double2 smemtune_mul(double2 a, double2 b) "
    "{ return make_double2(a.x * b.x, a.y * b.y); } "
    "static __device__ inline double2 smemtune_div(double2 a, double2 b) "
    "{ return make_double2(a.x / b.x, a.y / b.y); } "
    "static __device__ inline double2 smemtune_fma(double2 a, double2 b, double2 c) "
    "{ return make_double2(a.x * b.x + c.x, a.y * b.y + c.y); } "
    "static __device__ inline double2 smemtune_twice(double a) { return make_double2(a, a); } "
    "static __device__ inline double smemtune_low(double2 a) { return a.x; } "
    "static __device__ inline double smemtune_high(double2 a) { return a.y; } ";

bool means_bits(std::string_view word) {
  static constexpr std::array<std::string_view, 6> kBegin = {"__asm", "__nv_fp8_e", "cp_async",
                                                             "tex1D", "tex2D",      "tex3D"};
  // __float_as_int, __ushort_as_bfloat16, ...; functions for the bits of doubles remain right.
  const bool reinterprets = word.starts_with("__") && word.find("_as_") != std::string_view::npos &&
                            word.find("double") == std::string_view::npos;
  return reinterprets || word.ends_with("memcpy_async") ||
         is_one_of(word, {"asm", "nvcuda", "wmma", "bit_cast"}) ||
         std::ranges::any_of(kBegin,
                             [&](std::string_view begin) { return word.starts_with(begin); });
}

std::optional<std::string> intrinsic_in_double(std::string_view word) {
  // __fadd_rn, __fmaf_rz, __fsqrt_ru, ...
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kRounded = {
      {{"__fadd_r", "__dadd_r"},
       {"__fsub_r", "__dsub_r"},
       {"__fmul_r", "__dmul_r"},
       {"__fdiv_r", "__ddiv_r"},
       {"__frcp_r", "__drcp_r"},
       {"__fsqrt_r", "__dsqrt_r"},
       {"__fmaf_r", "__fma_r"}}};
  for (const auto& [narrow, wide] : kRounded) {
    if (word.starts_with(narrow) && word.size() == narrow.size() + 1) {
      return std::string(wide) + std::string(word.substr(narrow.size()));
    }
  }
  // __float2int_rd; and __int2float_rn, whose result a double holds without rounding.
  if (word.starts_with("__float2") && word.find("_r") != std::string_view::npos) {
    return "__double2" + std::string(word.substr(8));
  }
  if (word.ends_with("2float_rn") && word.starts_with("__")) return "double";
  if (word.size() < 2 || word.back() != 'f') return std::nullopt;
  const std::string_view name = word.substr(0, word.size() - 1);
  if (std::ranges::find(kMath, name) == kMath.end()) return std::nullopt;
  return std::string(name);
}

/// Returns true for 1.5f, 0x1p-3F; false for 0x1f.
bool is_float_literal(std::string_view number) {
  if (number.back() != 'f' && number.back() != 'F') return false;
  const bool is_hexadecimal = number.starts_with("0x") || number.starts_with("0X");
  return !is_hexadecimal || number.find_first_of("pP") != std::string_view::npos;
}

/// A definition outside functions and classes, of which there may be several for several types.
struct Definition {
  std::string name;
  std::string as_written;   ///< The types that tell it from others of its name...
  std::string in_double;    ///< ... and these types in double.
  bool is_primary = false;  ///< The template that others specialize.
  bool is_specialization = false;
  std::string conditions;  ///< The branches of #if that it lies in, outermost first.
  std::size_t begin = 0;   ///< Offset of its text...
  std::size_t end = 0;     ///< ... and of its end.

  /// Returns true if `other` is compiled wherever this is.
  bool comes_with(const Definition& other) const {
    return conditions.starts_with(other.conditions);
  }
};

/// Finds definitions that may exist for float and for double. `promoted`: returns a word as it will
/// be.
template <typename Promoted>
class DefinitionReader {
 public:
  DefinitionReader(std::string file, std::string_view text, const Promoted& promoted)
      : file_(std::move(file)),
        tokens_(cpp_tokens(text)),
        source_(read_items(tokens_)),
        promoted_(promoted) {}

  std::vector<Definition> definitions() {
    for (const SourceItem& item : source_.items) {
      if (item.kind == SourceItem::Kind::declaration) read(item);
    }
    return std::move(found_);
  }

 private:
  bool is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].is(text);
  }

  bool is_word(std::size_t i) const { return i < tokens_.size() && tokens_[i].is_word(); }

  void read(const SourceItem& item) {
    std::size_t head = item.first;
    bool is_template = false;
    bool is_general = false;  // True if it has template parameters.
    while (is(head, "template") && is(head + 1, "<") && closing(tokens_, head + 1) < item.end) {
      const std::size_t close = closing(tokens_, head + 1);
      is_template = true;
      is_general = is_general || close > head + 2;
      head = close + 1;
    }
    bool is_type = false;
    std::size_t body = head;  // The {, or the ; of an instantiation.
    for (; body < item.end && !is(body, "{") && !is(body, ";"); ++body) {
      is_type = is_type || is(body, "struct") || is(body, "class") || is(body, "union");
      if (tokens_[body].kind == CppToken::Kind::directive || is(body, "=")) return;
      if (is(body, "(")) body = closing(tokens_, body);
    }
    if (body >= item.end) return;
    const bool is_function = item.list != kNoToken;
    const bool instantiates = is(item.first, "template") && !is_template && is(body, ";");
    const bool defines = is(body, "{") && (is_function || is_type);
    if (defines || instantiates) add(item, head, body, is_template, is_general);
  }

  /// Adds a definition. `body`: the token of its {.
  void add(const SourceItem& item, std::size_t head, std::size_t body, bool is_template,
           bool is_general) {
    Definition definition;
    // The name stands before a function's list, and before a type's base or body.
    const bool is_function = item.list != kNoToken;
    std::size_t behind = is_function ? item.list : head;
    while (!is_function && behind < body && !is(behind, ":")) ++behind;
    std::size_t name = behind - 1;
    if (is_function && item.is_operator) {
      name = item.name;
    } else if (is(name, ">")) {
      const std::size_t open = opening_angle(tokens_, name, head);
      name = open == kNoToken || open == head ? head : open - 1;
      definition.is_specialization = is_template;
    }
    if (!is_word(name)) return;
    definition.name = tokens_[name].text;
    definition.is_primary = is_general && !definition.is_specialization;
    for (std::size_t i = item.first; i < head; ++i) write(i, definition);
    for (std::size_t i = is_function ? name : head; i < behind; ++i) write(i, definition);
    if (is_function) write_list(item.list, definition);
    definition.conditions = conditions_of(item);
    definition.begin = tokens_[item.first].begin;
    definition.end = tokens_[item.end - 1].end();
    found_.push_back(std::move(definition));
  }

  /// Returns the branches of #if that an item lies in, but for the guard of a file.
  std::string conditions_of(const SourceItem& item) const {
    std::string conditions;
    for (const SourceBranch& branch : source_.branches_of(item)) {
      const SourceItem& opens = source_.items[branch.marks->front()];
      const SourceItem& next = source_.items[branch.marks->front() + 1];
      const bool guards = opens.what.starts_with("#ifndef") && branch.marks->size() == 2 &&
                          next.what.starts_with("#define") && next.declares == opens.uses;
      if (guards) continue;
      const std::size_t line = tokens_[source_.items[branch.mark()].first].line;
      conditions.insert(0, file_ + ":" + std::to_string(line) + "/");
    }
    return conditions;
  }

  void write(std::size_t i, Definition& definition) const {
    const std::string text(tokens_[i].text);
    definition.as_written += text + " ";
    definition.in_double += (is_word(i) ? promoted_(tokens_[i]) : text) + " ";
  }

  /// Writes the types of the arguments, without names.
  void write_list(std::size_t list, Definition& definition) const {
    const std::size_t close = closing(tokens_, list);
    for (std::size_t i = list; i <= close && i < tokens_.size(); ++i) {
      const bool ends = is(i + 1, ",") || is(i + 1, ")") || is(i + 1, "[");
      const bool is_named = is_word(i) && ends && i > list + 1 && !is(i - 1, ",") &&
                            !is(i - 1, "const") && !is(i - 1, "::");
      if (!is_named) write(i, definition);
    }
  }

  std::string file_;
  CppTokens tokens_;
  SourceItems source_;
  const Promoted& promoted_;
  std::vector<Definition> found_;
};

class Promoter {
 public:
  /// `has_half`: true if the header that declares `half` is included; otherwise `half` may be any
  /// name.
  Promoter(std::string file, bool has_half) : file_(std::move(file)), has_half_(has_half) {}

  bool needs_prelude() const { return needs_prelude_; }

  std::vector<Definition> definitions(std::string_view text) {
    const auto promoted = [this](const CppToken& token) { return word(token.text, token.line); };
    return DefinitionReader(file_, text, promoted).definitions();
  }

  std::string promoted(std::string_view text, std::size_t first_line) {
    std::string result;
    std::size_t kept = 0;
    const CppTokens tokens = cpp_tokens(text);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const CppToken& token = tokens[i];
      const bool is_member = i > 0 && tokens[i - 1].is(".", "->");
      const std::string instead = in_its_place(token, is_member, first_line + token.line - 1);
      if (instead == token.text) continue;
      result += text.substr(kept, token.begin - kept);
      result += instead;
      kept = token.end();
    }
    return result + std::string(text.substr(kept));
  }

 private:
  std::string in_its_place(const CppToken& token, bool is_member, std::size_t line) {
    const std::string as_it_is(token.text);
    switch (token.kind) {
      case CppToken::Kind::number:
        return is_float_literal(token.text) ? "double(" + as_it_is + ")" : as_it_is;
      case CppToken::Kind::word:
        return is_member ? as_it_is : word(token.text, line);
      case CppToken::Kind::directive:
        return directive(token.text, line);
      default:
        return as_it_is;
    }
  }

  std::string word(std::string_view word, std::size_t line) {
    if (means_bits(word)) {
      throw InputError(file_ + ":" + std::to_string(line) + ": " + quote(word) +
                       " does not change when float becomes double, so the kernel cannot be run in "
                       "double precision");
    }
    const std::string_view type = type_in_double(word);
    const bool is_own_name = !has_half_ && (word == "half" || word == "half2");
    if (type != word && !is_own_name) return std::string(type);
    if (const auto found = replacements().find(word); found != replacements().end()) {
      needs_prelude_ = needs_prelude_ || found->second.starts_with("smemtune_");
      return std::string(found->second);
    }
    return intrinsic_in_double(word).value_or(std::string(word));
  }

  /// Returns a directive, in which the text of a macro is promoted.
  std::string directive(std::string_view text, std::size_t line) {
    const std::size_t define = text.find("define");
    if (define == std::string_view::npos || text.find_first_not_of(" \t#") != define) {
      return std::string(text);
    }
    const std::size_t body = define + std::string_view("define").size();
    return std::string(text.substr(0, body)) + promoted(text.substr(body), line);
  }

  std::string file_;
  bool has_half_;
  bool needs_prelude_ = false;
};

/// Returns true if `half` is a type: its header is included, and no variable has the name, as in
/// `int half = n / 2`.
bool is_half_a_type(const KernelSource& source) {
  static const std::set<std::string_view> types = {"int",  "unsigned", "long",    "short",
                                                   "auto", "size_t",   "int32_t", "uint32_t"};
  bool has_header = false;
  for (const KernelSource::File& file : source.files) {
    has_header = has_header || file.text.find("cuda_fp16.h") != std::string::npos;
    const CppTokens tokens = cpp_tokens(file.text);
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (tokens[i].is("half") && types.contains(tokens[i - 1].text)) return false;
    }
  }
  return has_header;
}

/// Returns true if the kernel does not use a definition: one for double if there is one for a
/// narrower type, which becomes double, or a second one for a narrower type.
bool is_displaced(const Definition& own, const std::vector<Definition>& all) {
  if (own.as_written != own.in_double) {
    const auto first = std::ranges::find_if(all, [&](const Definition& other) {
      return other.in_double == own.in_double && other.as_written != other.in_double &&
             own.comes_with(other);
    });
    return first->as_written != own.as_written;
  }
  const bool is_for_double =
      own.is_specialization && own.as_written.find(" double") != std::string::npos;
  return std::ranges::any_of(all, [&](const Definition& other) {
    const bool same = other.in_double == own.in_double && other.as_written != own.as_written;
    const bool primary = is_for_double && other.is_primary && other.name == own.name;
    return (same || primary) && own.comes_with(other);
  });
}

}  // namespace

KernelSource in_double(const KernelSource& source) {
  KernelSource result;
  bool needs_prelude = false;
  const bool has_half = is_half_a_type(source);
  std::vector<std::vector<Definition>> definitions;
  std::vector<Definition> all;
  for (const KernelSource::File& file : source.files) {
    definitions.push_back(Promoter(file.name, has_half).definitions(file.text));
    all.insert(all.end(), definitions.back().begin(), definitions.back().end());
  }
  for (std::size_t i = 0; i < source.files.size(); ++i) {
    const KernelSource::File& file = source.files[i];
    Promoter promoter(file.name, has_half);
    std::string text = file.text;
    for (const Definition& definition : definitions[i]) {
      if (is_displaced(definition, all)) blank(text, definition.begin, definition.end);
    }
    result.files.push_back({.name = file.name, .text = promoter.promoted(text, 1)});
    needs_prelude = needs_prelude || promoter.needs_prelude();
  }
  if (needs_prelude) {
    std::string& first = result.files.front().text;
    first = std::string(kPrelude) + "\n#line 1\n" + first;
  }
  return result;
}

}  // namespace smemtune
