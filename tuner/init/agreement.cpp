#include "tuner/init/agreement.h"

#include "tuner/core/definition.h"
#include "tuner/init/elements.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace smemtune {
namespace {

/// The arguments of a space, with values for a small problem.
class SmallProblem {
 public:
  /// `unit` divides each size. Throws ExpressionError if a size or a value is none yet.
  SmallProblem(const SpaceNames& names, const Json& arguments, std::int64_t unit = 1)
      : problem_(names.problem()), arguments_(arguments) {
    std::int64_t size =
        unit == 1 ? 12 : 0;  // Each name has another one, to tell rows from columns.
    for (auto& [name, value] : problem_.items()) {
      if (value.is_number_integer()) value = std::min(value.get<std::int64_t>(), ++size * unit);
    }
    names_ = bindings_of(problem_);
    for (const Json& argument : arguments_) {
      const std::string name = argument["name"];
      if (argument.contains("shape")) {
        dimensions_.emplace(name, argument["shape"].size());
      } else if (!argument["value"].is_null()) {
        scalars_.emplace(name, scalar(argument["value"]));
        scalar_names_.push_back(name);
      }
    }
  }

  /// Gives the arrays elements. Throws ExpressionError if their size is none.
  void fill(const Contents& contents) {
    for (const Json& argument : arguments_) add_array(argument, contents);
  }

  Definition compiled(const std::string& text) const {
    return Definition::compile(text, names_, dimensions_, scalar_names_);
  }

  std::vector<double> values(const std::string& text) const {
    constexpr std::uint64_t kMostOperations = 10'000'000;
    return compiled(text).evaluate(arrays_, scalars_, kMostOperations).elements;
  }

 private:
  double scalar(const Json& value) const {
    if (value.is_number()) return value.get<double>();
    if (!value.is_string()) throw ExpressionError("no value");
    const Definition one =
        Definition::compile("x[i] = " + value.get<std::string>(), names_, {{"x", 1}}, {});
    return one.evaluate({{"x", {{1}, {}}}}, {}).elements.front();
  }

  void add_array(const Json& argument, const Contents& contents) {
    if (!argument.contains("shape")) return;
    const std::string name = argument["name"];
    std::string type = argument["type"];
    if (problem_.contains(type)) type = problem_[type];
    HostArray array = {
        .shape = {}, .elements = {}, .type = scalar_type(type).value_or(ScalarType::float64)};
    std::size_t elements = 1;
    for (const Json& extent : argument["shape"]) {
      const std::string text = plain_text(extent);
      const auto number = value_with(text, {&problem_});
      if (!number || *number < 1 || *number > kMostElements) throw ExpressionError("no extent");
      array.shape.push_back(*number);
      elements *= static_cast<std::size_t>(*number);
      if (elements > kMostElements) throw ExpressionError("too many elements");
    }
    array.elements.resize(elements);
    const bool is_cleared = argument.value("compare", "") == "sum";
    for (std::size_t i = 0; !is_cleared && i < elements; ++i) {
      const auto any = static_cast<double>(i * 2654435761 % 101 + 1);
      array.elements[i] = is_floating_name(type) ? any / 64 : any;
    }
    HostArray& added = arrays_[name] = std::move(array);
    const auto known = contents.find(name);
    if (known != contents.end()) added.elements = values(known->second);
  }

  static constexpr int kMostElements = 1'000'000;
  Json problem_;
  const Json& arguments_;
  Bindings names_;
  std::map<std::string, std::size_t> dimensions_;
  std::map<std::string, double> scalars_;
  std::vector<std::string> scalar_names_;
  std::map<std::string, HostArray> arrays_;
};

}  // namespace

std::optional<bool> agree_in_total(const std::string& one, const std::string& other,
                                   const SpaceNames& names, const Json& arguments,
                                   const Contents& contents) {
  constexpr double kTolerance = 1e-6;
  constexpr std::int64_t kUnit = 4096;
  try {
    SmallProblem problem(names, arguments, kUnit);
    problem.fill(contents);
    const std::vector<double> left = problem.values(one);
    const std::vector<double> right = problem.values(other);
    const double sum = std::accumulate(left.begin(), left.end(), 0.0);
    const double expected = std::accumulate(right.begin(), right.end(), 0.0);
    return std::abs(sum - expected) <= kTolerance * std::abs(expected);
  } catch (const ExpressionError&) {
    return std::nullopt;
  }
}

std::optional<bool> agree(const std::string& one, const std::string& other, const SpaceNames& names,
                          const Json& arguments, const Contents& contents) {
  constexpr double kTolerance = 1e-4;
  try {
    SmallProblem problem(names, arguments);
    problem.fill(contents);
    if (problem.compiled(one).output() != problem.compiled(other).output()) return false;
    return std::ranges::equal(problem.values(one), problem.values(other), [](double a, double b) {
      return std::abs(a - b) <= kTolerance * std::max({1.0, std::abs(a), std::abs(b)});
    });
  } catch (const ExpressionError&) {
    return std::nullopt;
  }
}

bool reads_others(const std::string& definition, const SpaceNames& names, const Json& arguments) {
  const Definition compiled = SmallProblem(names, arguments).compiled(definition);
  return std::ranges::any_of(compiled.arrays(),
                             [&](const std::string& array) { return array != compiled.output(); });
}

}  // namespace smemtune
