#include "tuner/cli/signature_probe.h"

#include <algorithm>

namespace smemtune::cli {
namespace {

constexpr const char* kMark = "smemtune: ";

// Its names are none that kernels have as macros, such as K.
constexpr const char* kTraits = R"cuda(

namespace smemtune_probe {
template <class SmtType> struct bare { using type = SmtType; };
template <class SmtType> struct bare<const SmtType> { using type = SmtType; };
template <class SmtType> struct bare<volatile SmtType> { using type = SmtType; };
template <class SmtType> struct bare<const volatile SmtType> { using type = SmtType; };
enum { other, integer, floating, nothing };
template <class SmtType> struct kind { static constexpr int value = other; static constexpr int bytes = sizeof(SmtType); };
template <> struct kind<void> { static constexpr int value = nothing; static constexpr int bytes = 1; };
template <int smt_value, int smt_size> struct number { static constexpr int value = smt_value; static constexpr int bytes = smt_size; };
template <> struct kind<bool> : number<integer, 1> {};
template <> struct kind<char> : number<integer, 1> {};
template <> struct kind<signed char> : number<integer, 1> {};
template <> struct kind<unsigned char> : number<integer, 1> {};
template <> struct kind<short> : number<integer, 2> {};
template <> struct kind<unsigned short> : number<integer, 2> {};
template <> struct kind<int> : number<integer, 4> {};
template <> struct kind<unsigned> : number<integer, 4> {};
template <> struct kind<long> : number<integer, sizeof(long)> {};
template <> struct kind<unsigned long> : number<integer, sizeof(long)> {};
template <> struct kind<long long> : number<integer, 8> {};
template <> struct kind<unsigned long long> : number<integer, 8> {};
template <> struct kind<float> : number<floating, 4> {};
template <> struct kind<double> : number<floating, 8> {};
// What the space says is a number of a kind and size; half is `other` of 2 bytes.
template <class SmtType> constexpr bool holds(int wanted, int bytes) {
  using SmtKind = kind<typename bare<SmtType>::type>;
  return SmtKind::value == nothing ? true
       : SmtKind::value == other   ? SmtKind::bytes % bytes == 0
       : wanted == other     ? SmtKind::value == integer && SmtKind::bytes == bytes
                             : SmtKind::value == wanted && SmtKind::bytes == bytes;
}
template <class SmtType> struct argument {
  static constexpr bool buffer(int, int) { return false; }
  static constexpr bool scalar(int wanted, int bytes) { return kind<SmtType>::value != other ? holds<SmtType>(wanted, bytes) : kind<SmtType>::bytes == bytes; }
  static constexpr bool structure(int bytes) { return sizeof(SmtType) == bytes; }
};
template <class SmtType> struct argument<SmtType*> {
  static constexpr bool buffer(int wanted, int bytes) { return holds<SmtType>(wanted, bytes); }
  static constexpr bool scalar(int, int) { return false; }
  static constexpr bool structure(int) { return false; }
};
struct absent {
  static constexpr bool buffer(int, int) { return true; }
  static constexpr bool scalar(int, int) { return true; }
  static constexpr bool structure(int) { return true; }
};
template <int smt_place, class... SmtRest> struct nth { using type = absent; };
template <class SmtFirst, class... SmtRest> struct nth<0, SmtFirst, SmtRest...> { using type = argument<typename bare<SmtFirst>::type>; };
template <int smt_place, class SmtFirst, class... SmtRest> struct nth<smt_place, SmtFirst, SmtRest...> : nth<smt_place - 1, SmtRest...> {};
template <class SmtFirst> struct signature;
template <class... SmtRest> struct signature<void (*)(SmtRest...)> {
  static constexpr int count = sizeof...(SmtRest);
  template <int smt_place> using at = typename nth<smt_place, SmtRest...>::type;
};
}  // namespace smemtune_probe
)cuda";

std::string kind_of(ScalarType type) {
  if (is_floating(type) && size_of(type) <= 2) return "other";
  return is_floating(type) ? "floating" : "integer";
}

/// How the argument's place in the signature is asked about it, and what to call it.
struct Question {
  std::string call;
  std::string passed;
};

Question question(const Argument& argument) {
  const std::string type(cuda_name(argument.type));
  const std::string number = "(smemtune_probe::" + kind_of(argument.type) + ", " +
                             std::to_string(size_of(argument.type)) + ")";
  if (argument.is_texture()) return {"structure(8)", "a texture object"};
  if (argument.is_tensor_map()) return {"structure(128)", "a tensor map"};
  if (argument.is_buffer()) return {"buffer" + number, "a pointer to " + type};
  if (argument.raw_bytes > 0) {
    const std::string bytes = std::to_string(argument.raw_bytes);
    return {"structure(" + bytes + ")", "a struct of " + bytes + " bytes"};
  }
  return {"scalar" + number, "a value of type " + type};
}

std::string literal(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string signature_probe(const KernelInstance& instance) {
  std::string text = kTraits;
  for (const LaunchShape& launch : instance.launches) {
    const std::string& entry = launch.name_expression;
    const std::string signature = "smemtune_probe::signature<decltype(&" + entry + ")>";
    text += "static_assert(" + signature + "::count == " + std::to_string(launch.arguments.size()) +
            ", " +
            literal(kMark + entry + " does not take " + std::to_string(launch.arguments.size()) +
                    " arguments, as the space passes") +
            ");\n";
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const auto argument =
          std::ranges::find(instance.arguments, launch.arguments[i], &Argument::name);
      if (argument == instance.arguments.end()) continue;
      const Question asked = question(*argument);
      text += "static_assert(" + signature + "::at<" + std::to_string(i) + ">::" + asked.call +
              ", " +
              literal(kMark + std::string("argument ") + std::to_string(i + 1) + " of " + entry +
                      " is of another type: the space passes " + asked.passed + " for '" +
                      argument->name + "'") +
              ");\n";
    }
  }
  return text;
}

std::vector<std::string> signature_faults(const std::string& log) {
  std::vector<std::string> faults;
  for (std::size_t line = 0; line < log.size();) {
    const std::size_t end = std::min(log.find('\n', line), log.size());
    const std::string_view text(log.data() + line, end - line);
    line = end + 1;
    const std::size_t mark = text.find(kMark);
    // Lines of the source are quoted too.
    if (mark == text.npos || text.find("error") > mark) continue;
    const std::string_view message = text.substr(mark + std::string_view(kMark).size());
    const std::string fault(message.substr(0, message.rfind('"')));
    if (std::ranges::find(faults, fault) == faults.end()) faults.push_back(fault);
  }
  return faults;
}

}  // namespace smemtune::cli
