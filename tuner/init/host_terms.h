#pragma once

#include "tuner/core/expression.h"
#include "tuner/source/launch_sites.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

/// Texts of the host's, in the names of a space: what is passed for an argument is called by the
/// argument's name, variables by what they were made of, up to the functions that call the one that
/// launches. Refers to the launch.
class HostTerms {
 public:
  explicit HostTerms(const LaunchSite& site) : site_(site), terms_(site.frames.size()) {}

  /// `number`: of the launch's arguments, which is called `name` here.
  void add_argument(std::size_t number, const std::string& name);

  /// A text of the function that launches, such as `block.x`.
  void add(const std::string& text, const std::string& ours);

  /// A variable of a frame.
  void add_to_frame(std::size_t frame, const std::string& text, const std::string& ours) {
    terms_[frame].emplace_back(text, ours);
  }

  /// A text that means the same everywhere, such as a macro's name.
  void add_everywhere(const std::string& text, const std::string& ours);

  /// What a text of that frame is in our names, if it is an expression of them.
  std::optional<std::string> in_our_names(const std::string& text, const Scope& scope,
                                          std::size_t frame = 0) const;

  /// Variables of the host, each with its frame, that keep a text from being an expression of our
  /// names: nothing says what they are, or what does cannot be followed. None where there is more.
  std::vector<std::pair<std::size_t, std::string>> unknown_names(const std::string& text,
                                                                 const Scope& scope,
                                                                 std::size_t frame = 0) const;

  /// What a text of that frame is as a number, where that can be calculated: of sizes, variables
  /// and what `expanded` makes of macros.
  std::optional<double> number(const std::string& text, const Bindings& sizes, std::size_t frame,
                               const std::function<std::string(std::string)>& expanded) const;

  /// What is passed for an argument in a frame; empty: not known.
  std::string passed(std::size_t number, std::size_t frame) const;

  const std::map<std::string, std::string>& variables(std::size_t frame) const {
    return site_.frames[frame].variables;
  }

  /// The values that the host takes for a variable, one after the other; empty: it does not.
  std::vector<std::int64_t> choices(const std::string& name) const;

  /// Whether the function that launches overrides what it was passed for that variable.
  bool overrides(const std::string& name) const;

 private:
  using Terms = std::vector<std::pair<std::string, std::string>>;
  struct Unresolved {
    std::string text;
    std::size_t frame = 0;
  };

  std::optional<std::string> resolved(const std::string& text, const Scope& scope,
                                      std::size_t frame, Unresolved& rest) const;
  std::string in_variables(const std::string& text, std::size_t frame, const Scope& scope) const;

  const LaunchSite& site_;
  std::vector<Terms> terms_;  ///< By frame.
};

/// `text` with whole terms (one token or several, such as `a.x`) replaced; unchanged where it would
/// be too long for an expression.
std::string substituted(const std::string& text,
                        const std::vector<std::pair<std::string, std::string>>& terms);

/// As it is for whole numbers: without casts, and with `ceil(a / b)` as ceil_div(a, b).
std::string without_casts(const std::string& text);

/// Without parentheses around single names and numbers.
std::string plain_tokens(const std::string& text);

/// Without those around all of it.
std::string without_parentheses(const std::string& text);

/// A whole number and nothing else.
std::optional<std::int64_t> number_of(std::string_view text);

}  // namespace smemtune
