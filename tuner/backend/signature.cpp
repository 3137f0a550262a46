#include "tuner/backend/signature.h"

#include "tuner/backend/compiler.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

namespace smemtune {
namespace {

/// The file name that compilers report for the assertions.
constexpr std::string_view kAssertions = "smemtune_signature";

// Every name begins with smt or smemtune, so that no macro of a kernel has the same name. The types
// of cuda_fp16.h and its kin are declared here, because the source may not include these headers.
// There are no static data members, because each would become a variable of every module, which
// takes longer to load then.
constexpr const char* kSignatureTraits = R"cuda(

#line 1 "smemtune_signature.h"
struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
namespace smemtune_signature {
template <bool smt_fits, class SmtType> struct smt_passes;
template <class SmtType> struct smt_passes<true, SmtType> {};
template <int smt_count> struct smt_number {};
template <class SmtType> struct smt_bare { typedef SmtType smt_type; static constexpr bool smt_const() { return false; } };
template <class SmtType> struct smt_bare<const SmtType> : smt_bare<SmtType> { static constexpr bool smt_const() { return true; } };
template <class SmtType> struct smt_bare<volatile SmtType> : smt_bare<SmtType> {};
template <class SmtType> struct smt_bare<const volatile SmtType> : smt_bare<SmtType> { static constexpr bool smt_const() { return true; } };
enum { smt_other, smt_integer, smt_real, smt_half, smt_bfloat16, smt_e4m3, smt_e5m2, smt_void, smt_address };
template <int smt_k, int smt_size, int smt_element = smt_size> struct smt_kind { static constexpr int smt_is() { return smt_k; } static constexpr int smt_bytes() { return smt_size; } static constexpr int smt_each() { return smt_element; } };
template <class SmtType> struct smt_about : smt_kind<__is_enum(SmtType) ? smt_integer : smt_other, sizeof(SmtType)> {};
template <class SmtType> struct smt_about<SmtType*> : smt_kind<smt_address, 8> {};
template <> struct smt_about<void> : smt_kind<smt_void, 1> {};
template <> struct smt_about<bool> : smt_kind<smt_integer, 1> {};
template <> struct smt_about<char> : smt_kind<smt_integer, 1> {};
template <> struct smt_about<signed char> : smt_kind<smt_integer, 1> {};
template <> struct smt_about<unsigned char> : smt_kind<smt_integer, 1> {};
template <> struct smt_about<char16_t> : smt_kind<smt_integer, 2> {};
template <> struct smt_about<char32_t> : smt_kind<smt_integer, 4> {};
template <> struct smt_about<short> : smt_kind<smt_integer, 2> {};
template <> struct smt_about<unsigned short> : smt_kind<smt_integer, 2> {};
template <> struct smt_about<int> : smt_kind<smt_integer, 4> {};
template <> struct smt_about<unsigned> : smt_kind<smt_integer, 4> {};
template <> struct smt_about<long> : smt_kind<smt_integer, sizeof(long)> {};
template <> struct smt_about<unsigned long> : smt_kind<smt_integer, sizeof(long)> {};
template <> struct smt_about<long long> : smt_kind<smt_integer, 8> {};
template <> struct smt_about<unsigned long long> : smt_kind<smt_integer, 8> {};
template <> struct smt_about<float> : smt_kind<smt_real, 4> {};
template <> struct smt_about<double> : smt_kind<smt_real, 8> {};
template <> struct smt_about<__half> : smt_kind<smt_half, 2> {};
template <> struct smt_about<__nv_bfloat16> : smt_kind<smt_bfloat16, 2> {};
template <> struct smt_about<__nv_fp8_e4m3> : smt_kind<smt_e4m3, 1> {};
template <> struct smt_about<__nv_fp8_e5m2> : smt_kind<smt_e5m2, 1> {};
template <> struct smt_about<float1> : smt_kind<smt_real, 4> {};
template <> struct smt_about<float2> : smt_kind<smt_real, 8, 4> {};
template <> struct smt_about<float3> : smt_kind<smt_real, 12, 4> {};
template <> struct smt_about<float4> : smt_kind<smt_real, 16, 4> {};
template <> struct smt_about<double1> : smt_kind<smt_real, 8> {};
template <> struct smt_about<double2> : smt_kind<smt_real, 16, 8> {};
template <> struct smt_about<double3> : smt_kind<smt_real, 24, 8> {};
template <> struct smt_about<__half2> : smt_kind<smt_half, 4, 2> {};
template <> struct smt_about<__nv_bfloat162> : smt_kind<smt_bfloat16, 4, 2> {};
// Whether what is wanted may be taken as SmtAbout: as its like, as its bits, or carried by vectors
// of larger elements.
template <class SmtAbout, int smt_k, int smt_size> struct smt_holds {
  static constexpr bool smt_bits() { return smt_size == SmtAbout::smt_each() && (smt_k == smt_integer || SmtAbout::smt_is() == smt_integer) && smt_k != smt_real && SmtAbout::smt_is() != smt_real; }
  static constexpr bool smt_carried() { return SmtAbout::smt_each() < SmtAbout::smt_bytes() && smt_size < SmtAbout::smt_each() && smt_k != smt_real; }
  static constexpr bool smt_value() { return SmtAbout::smt_is() == smt_void    ? true
    : SmtAbout::smt_is() == smt_address ? smt_k == smt_integer && smt_size == 8
    : SmtAbout::smt_is() == smt_other   ? SmtAbout::smt_bytes() % smt_size == 0
    : (SmtAbout::smt_is() == smt_k && SmtAbout::smt_each() == smt_size) || smt_bits() || smt_carried(); }
};
template <class SmtType> struct smt_parameter {
  typedef smt_about<SmtType> smt_its;
  static constexpr bool smt_writes() { return true; }
  template <int smt_k, int smt_size> static constexpr bool smt_buffer() { return false; }
  template <int smt_k, int smt_size, bool smt_zero> static constexpr bool smt_number() {
    return smt_its::smt_is() == smt_other ? smt_its::smt_bytes() == smt_size
         : smt_its::smt_each() == smt_its::smt_bytes() && smt_its::smt_bytes() == smt_size &&
           (smt_its::smt_is() == smt_k || (smt_its::smt_is() == smt_integer && smt_k != smt_real));
  }
  template <int smt_size> static constexpr bool smt_bytes() { return sizeof(SmtType) == smt_size; }
  template <int smt_size> static constexpr bool smt_handle() { return sizeof(SmtType) == smt_size && (smt_its::smt_is() == smt_other || smt_its::smt_is() == smt_integer); }
};
struct smt_word : smt_parameter<long long> {
  template <int smt_k, int smt_size> static constexpr bool smt_buffer() { return true; }
};
template <> struct smt_parameter<unsigned long> : smt_word {};
template <> struct smt_parameter<unsigned long long> : smt_word {};
template <class SmtType> struct smt_parameter<SmtType*> {
  static constexpr bool smt_writes() { return !smt_bare<SmtType>::smt_const(); }
  template <int smt_k, int smt_size> static constexpr bool smt_buffer() { return smt_holds<smt_about<typename smt_bare<SmtType>::smt_type>, smt_k, smt_size>::smt_value(); }
  template <int smt_k, int smt_size, bool smt_zero> static constexpr bool smt_number() { return smt_zero && smt_size == 8; }
  template <int smt_size> static constexpr bool smt_bytes() { return false; }
  template <int smt_size> static constexpr bool smt_handle() { return false; }
};
struct smt_absent {};
template <> struct smt_parameter<smt_absent> {
  static constexpr bool smt_writes() { return true; }
  template <int smt_k, int smt_size> static constexpr bool smt_buffer() { return true; }
  template <int smt_k, int smt_size, bool smt_zero> static constexpr bool smt_number() { return true; }
  template <int smt_size> static constexpr bool smt_bytes() { return true; }
  template <int smt_size> static constexpr bool smt_handle() { return true; }
};
template <int smt_place, class... SmtRest> struct smt_nth { typedef smt_absent smt_type; };
template <class SmtFirst, class... SmtRest> struct smt_nth<0, SmtFirst, SmtRest...> { typedef SmtFirst smt_type; };
template <int smt_place, class SmtFirst, class... SmtRest> struct smt_nth<smt_place, SmtFirst, SmtRest...> : smt_nth<smt_place - 1, SmtRest...> {};
template <class SmtEntry> struct smt_takes;
template <class... SmtRest> struct smt_takes<void (*)(SmtRest...)> {
  static constexpr int smt_count() { return sizeof...(SmtRest); }
  template <int smt_place> struct smt_at : smt_nth<smt_place, SmtRest...> {};
};
template <class SmtEntry, int smt_place> struct smt_is {
  typedef typename smt_bare<typename smt_takes<SmtEntry>::template smt_at<smt_place>::smt_type>::smt_type smt_type;
  typedef smt_parameter<smt_type> smt_as;
};
}
)cuda";

std::string number_kind(ScalarType type) {
  switch (type) {
    case ScalarType::float16:
      return "smt_half";
    case ScalarType::bfloat16:
      return "smt_bfloat16";
    case ScalarType::float8_e4m3:
      return "smt_e4m3";
    case ScalarType::float32:
    case ScalarType::float64:
      return "smt_real";
    default:
      return "smt_integer";
  }
}

std::string passed_text(const PassedArgument& argument) {
  const std::string name = "'" + argument.name + "'";
  switch (argument.kind) {
    case PassedArgument::Kind::buffer:
      return name + ", a buffer of " + std::string(cuda_name(argument.type));
    case PassedArgument::Kind::texture:
      return name + ", a texture object";
    case PassedArgument::Kind::tensor_map:
      return name + ", a tensor map";
    case PassedArgument::Kind::structure:
      return name + ", a struct of " + std::to_string(argument.bytes) + " bytes";
    case PassedArgument::Kind::value:
      break;
  }
  return name + ", a value of type " + std::string(cuda_name(argument.type));
}

/// Returns the call of the member of smt_parameter that must return true.
std::string asked(const PassedArgument& argument) {
  const std::string type = "smemtune_signature::" + number_kind(argument.type) + ", " +
                           std::to_string(size_of(argument.type));
  switch (argument.kind) {
    case PassedArgument::Kind::buffer:
      return "smt_buffer<" + type + ">()";
    case PassedArgument::Kind::texture:
      return "smt_handle<8>()";
    case PassedArgument::Kind::tensor_map:
      return "smt_handle<128>()";
    case PassedArgument::Kind::structure:
      return "smt_bytes<" + std::to_string(argument.bytes) + ">()";
    case PassedArgument::Kind::value:
      break;
  }
  return "smt_number<" + type + ", " + (argument.is_zero ? "true" : "false") + ">()";
}

/// Returns the line of the source where a __global__ function with the entry's name is declared,
/// `k.cu:12`, or only the file if there is none, as in a macro.
std::string place_of_entry(const KernelSource& source, const std::string& expression) {
  std::string name = expression.substr(0, expression.find('<'));
  name = name.substr(name.find_last_of(": &") + 1);
  for (const KernelSource::File& file : source.files) {
    const std::string_view text = file.text;
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      const auto is_part = [&](std::size_t i) {
        return i < text.size() && (is_letter(text[i]) || is_digit(text[i]));
      };
      const std::size_t behind = at + name.size();
      const std::size_t open = text.find_first_not_of(" \t\r\n", behind);
      if (is_part(at - 1) || is_part(behind) || open == text.npos || text[open] != '(') continue;
      const std::size_t begin = text.find_last_of(";}", at);
      const std::size_t first = begin == text.npos ? 0 : begin;
      if (text.substr(first, at - first).find("__global__") == text.npos) continue;
      const auto line =
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      return file.name + ":" + std::to_string(line + 1);
    }
  }
  return source.files.front().name;
}

/// A line of the assertions, and the message for its failure: `before`, the type or number that the
/// kernel has, `behind`.
struct Assertion {
  std::string condition;
  std::string shown;
  std::string entry;
  std::string before;
  std::string behind;
};

std::string names_of(const std::vector<PassedArgument>& arguments) {
  return joined(arguments, ", ", [](const PassedArgument& argument) { return argument.name; });
}

Assertion count_assertion(const PassedArguments& launch) {
  const std::string count = "smemtune_signature::smt_takes<decltype(" +
                            address_of_entry(launch.name_expression) + ")>::smt_count()";
  const std::size_t passed = launch.arguments.size();
  return {count + " == " + std::to_string(passed), "smemtune_signature::smt_number<" + count + ">",
          launch.name_expression, launch.name_expression + " takes ",
          " arguments, but the space passes " + std::to_string(passed) +
              (passed == 0 ? "" : ": " + names_of(launch.arguments))};
}

std::string parameter_of(const PassedArguments& launch, std::size_t i) {
  return "smemtune_signature::smt_is<decltype(" + address_of_entry(launch.name_expression) + "), " +
         std::to_string(i) + ">";
}

Assertion type_assertion(const PassedArguments& launch, std::size_t i) {
  const std::string parameter = parameter_of(launch, i);
  return {parameter + "::smt_as::" + asked(launch.arguments[i]), parameter + "::smt_type",
          launch.name_expression,
          "argument " + std::to_string(i + 1) + " of " + launch.name_expression + " is of type ",
          ", but the space passes " + passed_text(launch.arguments[i])};
}

/// Returns the assertions that, for each of its results, one of the places at which a kernel is
/// passed the result takes no pointer to const.
std::vector<Assertion> written_assertions(const Signature& signature) {
  std::map<std::string, Assertion> results;
  for (const PassedArguments& launch : signature) {
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      if (!launch.arguments[i].is_result) continue;
      const std::string& name = launch.arguments[i].name;
      const std::string parameter = parameter_of(launch, i);
      Assertion& one = results[name];
      if (one.condition.empty()) {
        one = type_assertion(launch, i);
        one.behind = ", which cannot be written, but the space passes '" + name + "', a result";
        one.condition.clear();
      } else {
        one.condition += " || ";
      }
      one.condition += parameter + "::smt_as::smt_writes()";
    }
  }
  std::vector<Assertion> assertions;
  for (auto& [name, assertion] : results) assertions.push_back(std::move(assertion));
  return assertions;
}

std::vector<Assertion> assertions_of(const CompileRequest& request) {
  std::vector<Assertion> assertions;
  for (const Signature& signature : request.signatures) {
    for (const PassedArguments& launch : signature) {
      assertions.push_back(count_assertion(launch));
      for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
        assertions.push_back(type_assertion(launch, i));
      }
    }
    for (Assertion& assertion : written_assertions(signature)) {
      assertions.push_back(std::move(assertion));
    }
  }
  return assertions;
}

bool is_error(std::string_view line) { return line.find("error:") != line.npos; }

/// Returns the number of the assertion in an error of NVRTC (`file(3): error`), g++ or clang
/// (`file:3:14: error`), from 1; 0 if the error names none.
std::size_t assertion_line(std::string_view line) {
  if (!line.starts_with(kAssertions) || line.size() <= kAssertions.size()) return 0;
  const char after = line[kAssertions.size()];
  if (after != '(' && after != ':') return 0;
  return std::strtoul(std::string(line.substr(kAssertions.size() + 1)).c_str(), nullptr, 10);
}

/// Returns `const float*` for `... smt_passes<false, const float *>' ...`; empty if there is none.
std::string shown_type(std::string_view line) {
  constexpr std::string_view kMark = "smt_passes<false, ";
  const std::size_t mark = line.rfind(kMark);
  if (mark == line.npos) return "";
  const std::size_t begin = mark + kMark.size();
  std::size_t end = begin;
  for (int depth = 0; end < line.size(); ++end) {
    if (line[end] == '<' || line[end] == '(') ++depth;
    if ((line[end] == '>' || line[end] == ')') && --depth < 0) break;
  }
  std::string type(line.substr(begin, end - begin));
  while (type.ends_with(' ')) type.pop_back();
  for (std::size_t at = type.find(" *"); at != type.npos; at = type.find(" *")) type.erase(at, 1);
  constexpr std::string_view kNumber = "smemtune_signature::smt_number<";
  if (!type.starts_with(kNumber)) return type;
  type.erase(0, kNumber.size());
  return type.substr(0, type.find('>'));
}

}  // namespace

std::string signature_assertions(const CompileRequest& request) {
  const std::vector<Assertion> assertions = assertions_of(request);
  if (assertions.empty()) return "";
  std::string text = kSignatureTraits;
  text += "#line 1 \"" + std::string(kAssertions) + "\"\n";
  for (const Assertion& assertion : assertions) {
    text += "static_assert(sizeof(smemtune_signature::smt_passes<(" + assertion.condition + "), " +
            assertion.shown + ">) > 0, \"\");\n";
  }
  // Only the assertions matter: the compiler need translate nothing of the source.
  if (request.name_expressions.empty()) text += "static_assert(false, \"the end\");\n";
  return text;
}

SignatureLog read_signature_log(const CompileRequest& request, const std::string& log) {
  SignatureLog read;
  std::set<std::string> miscounted;
  const std::vector<Assertion> assertions = assertions_of(request);
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line(log.data() + begin, end - begin);
    begin = end + 1;
    if (line.starts_with(' ') || !is_error(line)) continue;
    if (!line.starts_with(kAssertions)) {
      read.has_other_errors = true;
      continue;
    }
    read.is_about_assertions = true;
    const std::size_t number = assertion_line(line);
    if (number == 0 || number > assertions.size()) continue;
    const Assertion& assertion = assertions[number - 1];
    const std::string type = shown_type(line);
    if (type.empty() || type.find("error") != type.npos) continue;
    if (miscounted.contains(assertion.entry)) continue;
    if (assertion.before.ends_with(" takes ")) miscounted.insert(assertion.entry);
    const std::string fault = place_of_entry(request.source, assertion.entry) + ": " +
                              assertion.before + type + assertion.behind;
    if (std::ranges::find(read.faults, fault) == read.faults.end()) read.faults.push_back(fault);
  }
  return read;
}

std::optional<Failure> signature_failure(const SignatureLog& log) {
  if (log.faults.empty() || log.has_other_errors) return std::nullopt;
  return failure({Status::compile, "signature"}, joined(log.faults, "\n"));
}

CompileRequest without_signatures(const CompileRequest& request) {
  CompileRequest plain = request;
  plain.signatures.clear();
  return plain;
}

}  // namespace smemtune
