#pragma once

#include "tuner/source/source_items.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// A function of the host on the way to a launch: the one that launches, the one that calls it, ...
struct HostFrame {
  std::size_t line = 0;                          ///< Of the launch or the call in it.
  std::string function;                          ///< Empty: outside of functions.
  std::map<std::string, std::string> variables;  ///< What they were made of last before that line.
  /// What an array lists from which a variable is taken, `int sizes[] = {32, 64}; n = sizes[i]`.
  std::map<std::string, std::vector<std::string>> choices;
  std::set<std::string> changed;  ///< Variables that something out of sight may have changed.
  std::map<std::string, std::string> parameters;  ///< Of the frame before, as passed by this one.
  std::map<std::string, std::string> allocated;   ///< Bytes by the name of a device pointer.
};

/// `for (counter = first; counter < bound; counter += step)`, as written.
struct HostLoop {
  std::size_t place = 0;  ///< Of its `for` in the text: tells loops apart.
  std::string counter;
  std::string first;
  std::string compares;  ///< `<`, `<=`, `>`, `>=` or `!=`.
  std::string bound;
  std::string step;
  bool falls = false;  ///< The step is subtracted.
  /// What changes places in its body, `old` and `next` of `swap(old, next)`.
  std::vector<std::pair<std::string, std::string>> swaps = {};

  bool operator==(const HostLoop&) const = default;
};

/// `name<A, B><<<grid, block, shared>>>(arguments)`, as written.
struct LaunchSite {
  std::string kernel;
  std::size_t line = 0;
  std::vector<std::string> template_arguments;
  /// Blocks and threads by dimension, where the expression itself or the dim3 of that name says
  /// them; one text otherwise.
  std::vector<std::string> grid;
  std::vector<std::string> block;
  std::string block_name;  ///< The variable that holds the block, if it is one.
  std::string shared_bytes;
  bool cooperative = false;  ///< By cudaLaunchCooperativeKernel().
  std::vector<std::string> arguments;
  std::vector<HostFrame> frames;      ///< The launch's own first; never empty.
  std::vector<std::string> asserted;  ///< By assert() before it, in the function that launches.
  std::vector<HostLoop> loops;        ///< Around it, in its function, the outermost first.
  bool follows = false;  ///< Upon the launch before it, with nothing else done for it between.
};

/// Every launch of a source, in its order.
std::vector<LaunchSite> launch_sites(const CppTokens& tokens, const std::vector<SourceItem>& items);

}  // namespace smemtune
