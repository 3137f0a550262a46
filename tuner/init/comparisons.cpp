#include "tuner/init/comparisons.h"

#include "tuner/init/counting_loop.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/names.h"

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;
using ComparedPair = std::pair<const Syntax*, const Syntax*>;

/// Returns true unless a loop `for (i = 0; i < n; ++i)` ends at a number, as one that looks at the
/// first elements only, begins elsewhere or leaves some out.
bool goes_through_all(const ParsedSource& source, const Syntax& syntax) {
  const CountingLoop loop = read_counting_loop(source, syntax);
  const bool is_bounded = loop.compares == "<" || loop.compares == "!=";
  return !loop.counter.empty() && loop.first == "0" && is_bounded && loop.operation == '+' &&
         loop.step == "1" && !number_of(loop.bound);
}

class ComparisonReader {
 public:
  explicit ComparisonReader(const ParsedSource& source) : source_(source) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void read(const Syntax& syntax) {
    switch (syntax.kind) {
      case Kind::block:
        for (const Syntax& part : syntax.parts) {
          part.kind == Kind::variable ? declare(part, syntax.whole) : read(part);
        }
        return;
      case Kind::branch:
        return branch(syntax);
      case Kind::loop:
      case Kind::list_loop:
        return read_part(syntax.parts, goes_through_all(source_, syntax), syntax.parts.size() - 1);
      case Kind::leave:
      case Kind::choice:
        return;
      default:
        add(syntax, syntax.whole, true);
    }
  }

  std::vector<Comparison>& found() { return found_; }

 private:
  void declare(const Syntax& variable, TokenRange statement) {
    if (variable.parts.size() != 1) return;
    if (variable.parts[0].kind == Kind::element) elements_[variable.text] = &variable.parts[0];
    add(variable, statement, false);
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void branch(const Syntax& syntax) {
    const std::size_t before = found_.size();
    if (reports_difference(syntax.parts[0])) add(syntax.parts[0], syntax.whole, true);
    if (found_.size() > before) return;
    read_part(syntax.parts, false, 1);
  }

  /// Reads those parts of a statement from `first` on.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void read_part(const std::vector<Syntax>& parts, bool is_all, std::size_t first) {
    parts_ += is_all ? 0 : 1;
    for (std::size_t i = first; i < parts.size(); ++i) read(parts[i]);
    parts_ -= is_all ? 0 : 1;
  }

  /// Returns true unless the condition holds where two values are the same: what is done then may
  /// be anything.
  static bool reports_difference(const Syntax& condition) {
    return condition.is(Kind::unary, "!") ||
           !has_any(condition, [](const Syntax& part) { return part.is(Kind::binary, "=="); });
  }

  void add(const Syntax& syntax, TokenRange statement, bool is_replaced) {
    std::set<std::string> arrays;
    const auto add_one = [&](const Syntax& compared, const Syntax& expected) {
      const Syntax& element = element_of(compared);
      const bool is_element = element.kind == Kind::element && element.parts[0].kind == Kind::name;
      if (!is_element || !arrays.insert(element.parts[0].text).second) return;
      found_.push_back({.statement = statement,
                        .is_replaced = is_replaced,
                        .array = element.parts[0].text,
                        .element = &element,
                        .expected = &expected,
                        .is_part = parts_ > 0});
    };
    for_each(syntax, [&](const Syntax& part) {
      for (const auto& [one, other] : compared_by(part)) {
        add_one(*one, *other);
        add_one(*other, *one);
      }
    });
  }

  /// Returns the element that a variable was given, or that is converted, else the syntax itself.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  const Syntax& element_of(const Syntax& syntax) const {
    const bool converts = syntax.kind == Kind::call && syntax.parts.size() == 2 &&
                          is_one_of(syntax.text, {"__half2float", "__bfloat162float"});
    if (converts) return element_of(syntax.parts[1]);
    const auto known = syntax.kind == Kind::name ? elements_.find(syntax.text) : elements_.end();
    return known == elements_.end() ? syntax : *known->second;
  }

  const ParsedSource& source_;
  std::map<std::string, const Syntax*> elements_;  ///< Variables that begin as elements.
  int parts_ = 0;  ///< Statements around the place that may leave elements out.
  std::vector<Comparison> found_;
};

/// Returns true for what a difference may be: a small number, or a variable that is named for it.
bool is_tolerance(const Syntax& syntax) {
  constexpr double kLargest = 0.1;
  if (syntax.kind == Kind::name) return holds_any(syntax.text, {"eps", "tol", "thresh"});
  if (syntax.kind != Kind::literal) return false;
  const double value = std::strtod(syntax.text.c_str(), nullptr);
  return value > 0 && value < kLargest;
}

}  // namespace

std::vector<ComparedPair> compared_by(const Syntax& syntax) {
  static const std::initializer_list<std::string_view> kDifferences = {"diff", "err", "delta"};
  const std::vector<Syntax>& parts = syntax.parts;
  const auto difference = [](const Syntax& of) -> std::vector<ComparedPair> {
    const bool is_relative = of.is(Kind::binary, "/");
    const Syntax& whole = is_relative ? of.parts[0] : of;
    if (!whole.is(Kind::binary, "-")) return {};
    return {{&whole.parts[0], &whole.parts[1]}};
  };
  if (syntax.is(Kind::binary, "==") || syntax.is(Kind::binary, "!=")) {
    return {{&parts[0], &parts[1]}};
  }
  const bool exceeds = syntax.is(Kind::binary, ">") || syntax.is(Kind::binary, ">=");
  if (exceeds && is_tolerance(parts[1])) return difference(parts[0]);
  if (syntax.kind == Kind::variable && parts.size() == 1 && holds_any(syntax.text, kDifferences)) {
    return difference(parts[0]);
  }
  if (syntax.kind == Kind::assignment && holds_any(parts[0].text, kDifferences)) {
    return difference(parts[1]);
  }
  if (syntax.kind != Kind::call) return {};
  if (parts.size() == 2 && lower_case(syntax.text).find("abs") != std::string::npos) {
    return difference(parts[1]);
  }
  if (parts.size() < 3 || !holds_any(syntax.text, {"near", "equal", "close", "same"})) return {};
  return {{&parts[1], &parts[2]}};
}

bool is_number(const Syntax& syntax) {
  return syntax.kind == Kind::literal ||
         (syntax.is(Kind::unary, "-") && syntax.parts[0].kind == Kind::literal);
}

bool Comparison::expects_number() const { return is_number(*expected); }

std::vector<Comparison> comparisons_in(const ParsedSource& source, const Syntax& body) {
  ComparisonReader reader(source);
  reader.read(body);
  return std::move(reader.found());
}

}  // namespace smemtune
