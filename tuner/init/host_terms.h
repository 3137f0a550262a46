#pragma once

#include "tuner/core/expression.h"
#include "tuner/source/launch_site.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

/// Texts of one token or several, such as `a.x`, and those that stand for them.
using Terms = std::vector<std::pair<std::string, std::string>>;

/// The device's multiprocessors in expressions of a space.
inline constexpr std::string_view kSmCount = "sm_count";

/// Returns `text` with its terms replaced; unchanged if the result would be too long for an
/// expression.
std::string substituted(const std::string& text, const Terms& terms);

/// Translates texts of the host into the names of a space: a text that is passed for an argument
/// becomes the argument's name, and variables and macros become what they stand for, up to the
/// functions that call the one that launches. Refers to the launch.
class HostTerms {
 public:
  using Expander = std::function<std::string(const std::string&)>;

  /// `scope`: our names. `expanded`: returns a text with the source's macros expanded.
  HostTerms(const LaunchSite& site, Scope scope, Expander expanded)
      : site_(site),
        scope_(std::move(scope)),
        expanded_(std::move(expanded)),
        terms_(site.frames.size()) {}

  /// Adds argument `number` of the launch, which the space calls `name`.
  void add_argument(std::size_t number, const std::string& name);

  /// Adds a text of a frame, such as `block.x`; the first frame is the function that launches.
  void add(const std::string& text, const std::string& ours, std::size_t frame = 0) {
    if (frame < terms_.size()) terms_[frame].emplace_back(text, ours);
  }

  /// Adds a text that means the same everywhere, such as a macro's name.
  void add_everywhere(const std::string& text, const std::string& ours);

  /// Returns a text of that frame in our names; nullopt if it is no expression of them.
  std::optional<std::string> in_our_names(const std::string& text, std::size_t frame = 0) const;

  /// Returns a text of that frame with what the space has other names for replaced.
  std::string in_terms(const std::string& text, std::size_t frame) const {
    return substituted(text, terms_[frame]);
  }

  /// Returns the variables of the host, each with its frame, that keep a text from being an
  /// expression of our names: nothing says what they are, or their values cannot be followed. Empty
  /// if something else keeps it from that as well.
  std::vector<std::pair<std::size_t, std::string>> unknown_names(const std::string& text) const;

  /// Returns a text of that frame as a formula of sizes with a finite value, `1 / sqrt(D)`, if it
  /// is made of these. Where it names no size it is the value itself.
  std::optional<std::string> formula(const std::string& text, const Bindings& sizes,
                                     std::size_t frame) const;

  /// Returns the text that is passed for an argument in a frame; empty when not known.
  std::string passed(std::size_t number, std::size_t frame) const;

  /// Returns the same, or its value if it is a variable.
  std::string passed_value(std::size_t number, std::size_t frame) const {
    return site_.frames[frame].value_of(passed(number, frame));
  }

  const std::map<std::string, std::string>& variables(std::size_t frame) const {
    return site_.frames[frame].variables;
  }

  /// Returns the values that the host takes for a variable, one after the other; empty if it does
  /// not.
  std::vector<std::int64_t> choices(const std::string& name) const;

  /// Returns true if the function that launches overrides the value that it was passed for that
  /// variable.
  bool overrides(const std::string& name) const;

 private:
  struct Unresolved {
    std::string text;
    std::size_t frame = 0;
  };

  /// Reads a text in our names; nullopt if it is not understood.
  using Reader = std::function<std::optional<std::string>(const std::string&)>;

  std::optional<std::string> followed(std::string text, std::size_t frame, const Reader& read,
                                      Unresolved& rest) const;
  bool has_own_variable(const std::string& text, std::size_t frame) const;
  std::string deeper(const std::string& text, std::size_t frame) const;
  std::string in_variables(const std::string& text, std::size_t frame) const;
  std::optional<std::string> compiled(const std::string& text) const;

  const LaunchSite& site_;
  Scope scope_;
  Expander expanded_;
  std::vector<Terms> terms_;  ///< Terms of each frame.
};

/// Returns a text as it reads for whole numbers: without casts, and with `ceil(a / b)` as
/// ceil_div(a, b).
std::string without_casts(const std::string& text);

/// Returns numbers without suffixes: `0.5` for `0.5f`, `16.0` for `16.`.
std::string without_suffixes(const std::string& text);

/// Returns a text with CUDA's functions by their names in definitions: `sqrt` for `sqrtf`.
std::string with_functions_of_definitions(const std::string& text);

std::string without_blanks(std::string text);

/// Returns a text without parentheses around single names and numbers.
std::string plain_tokens(const std::string& text);

/// Returns a text in parentheses unless it is one token or `sizeof(T)`.
std::string in_parentheses(const std::string& text);

/// Returns the names in texts, and in the texts that `values` says these names stand for.
std::set<std::string> names_behind(
    std::vector<std::string> texts,
    const std::function<std::vector<std::string>(const std::string&)>& values);

/// Returns the value of a variable, if it has one.
std::vector<std::string> value_among(const std::map<std::string, std::string>& variables,
                                     const std::string& name);

/// Returns true if a text uses a name.
bool has_name(const std::string& text, std::string_view name);

/// Returns a text without parentheses around all of it.
std::string without_parentheses(const std::string& text);

/// Returns the variable in `&a`, `(void**)&a`, `&a[0]`, `a.data()`, `a.get()`; empty if there is
/// none.
std::string pointer_in(const std::string& text);

/// Returns true for `0`, `NULL` and `nullptr`.
bool is_null_pointer(std::string_view text);

/// Returns the value of a text that is a whole number and nothing else.
std::optional<std::int64_t> number_of(std::string_view text);

}  // namespace smemtune
