#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// A function of the host on the way to a launch: the one that launches, the one that calls it, ...
struct HostFrame {
  std::size_t line = 0;  ///< Line of the launch or the call in it.
  std::string function;  ///< Empty outside of functions.
  /// The last values that they were given before that line.
  std::map<std::string, std::string> variables;
  /// The elements of the array that a variable is taken from:
  /// `int sizes[] = {32, 64}; n = sizes[i]`.
  std::map<std::string, std::vector<std::string>> choices;
  /// Variables that code out of sight may have changed, or a loop, whose line this is then.
  std::map<std::string, std::size_t> changed;
  /// Names of values that variables had before, `n__1`, and these variables.
  std::map<std::string, std::string> former;
  /// Parameters of the previous frame, as this one passes them.
  std::map<std::string, std::string> parameters;
  std::map<std::string, std::string> allocated;  ///< Bytes, by the name of a device pointer.

  /// Returns the value of a variable; another text unchanged.
  const std::string& value_of(const std::string& text) const {
    const auto variable = variables.find(text);
    return variable == variables.end() ? text : variable->second;
  }
};

/// A loop `for (counter = first; counter < bound; counter += step)`, as written, or one like
/// `while (n > 1) n /= 2;`, which counts as well.
struct CountingLoop {
  std::size_t place = 0;  ///< Number of its first token in the text: tells loops apart.
  std::size_t line = 0;
  /// The variable that counts; empty if the loop is not understood.
  std::string counter;
  std::string first;
  std::string compares;  ///< `<`, `<=`, `>`, `>=` or `!=`.
  std::string bound;
  char operation = '+';  ///< Operation of the step on the counter: one of + - * /.
  std::string step;
  std::string header;                  ///< Its text as written: `while (n > 1)`.
  std::set<std::string> changes = {};  ///< Variables that it gives other values.
  /// Pairs that its body swaps, `old` and `next` of `swap(old, next)`.
  std::vector<std::pair<std::string, std::string>> swaps = {};

  bool operator==(const CountingLoop&) const = default;
};

/// A launch `name<A, B><<<grid, block, shared>>>(arguments)`, as written.
struct LaunchSite {
  std::string kernel;
  std::size_t line = 0;
  std::vector<std::string> template_arguments;
  /// Blocks and threads by dimension if the expression itself or the dim3 of that name gives them;
  /// else one text.
  std::vector<std::string> grid;
  std::vector<std::string> block;
  std::string block_name;  ///< The variable that holds the block, if there is one.
  std::string shared_bytes;
  bool cooperative = false;  ///< True if launched by cudaLaunchCooperativeKernel().
  std::vector<std::string> arguments;
  /// Types that the arguments have or point to, as `float`; empty for what is no variable or
  /// unknown.
  std::vector<std::string> types;
  std::vector<HostFrame> frames;      ///< The launch's own function first; never empty.
  std::vector<std::string> asserted;  ///< Conditions of assert() before it, in its function.
  std::vector<CountingLoop> loops;    ///< Loops around it in its function, the outermost first.
  /// True if an `if` or `switch` of its function chooses between it and other launches.
  bool is_chosen = false;
  /// Conditions on it that change from turn to turn of a loop: their lines and texts.
  std::vector<std::pair<std::size_t, std::string>> conditions;
  /// True if it follows the previous launch, with nothing else done for it in between.
  bool follows = false;

  /// Returns the text of an argument; empty if it is passed fewer.
  std::string argument(std::size_t number) const {
    return number < arguments.size() ? arguments[number] : "";
  }

  /// Returns the texts of its arguments, its grid and its block.
  std::vector<std::string> texts() const {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), grid.begin(), grid.end());
    all.insert(all.end(), block.begin(), block.end());
    return all;
  }
};

}  // namespace smemtune
