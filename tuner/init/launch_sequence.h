#pragma once

#include "tuner/source/kernel_file.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// A loop `for (i = first; ...)` around launches of a sequence, which use its counter.
struct SequenceLoop {
  std::string counter;  ///< Name in the space for the number of turns so far: 0, 1, ...
  /// Number of turns, in the host's names; empty if it cannot be said.
  std::string times;
  std::string header;     ///< The loop as the host has it: `while (n > 1)`.
  std::size_t line = 0;   ///< Line of the header.
  std::size_t first = 0;  ///< Number of the first launch in it...
  std::size_t end = 0;    ///< ... and of the launch behind the last.
  /// Pairs that the host swaps in each turn: at first texts of the host, in the end arguments.
  std::vector<std::pair<std::string, std::string>> swaps = {};
};

/// Launches that the host does one after the other and that a space has as one kernel.
struct LaunchSequence {
  /// In their order. Their texts have the names of `loops` for the host's counters, and each site
  /// has the arguments of all.
  std::vector<LaunchSite> sites;
  std::vector<std::vector<std::string>> arguments;  ///< The arguments that each passes, by name.
  std::vector<SequenceLoop> loops;
  KernelFunction whole;  ///< A kernel with all arguments that does what all launches do.
  LaunchSite launch;     ///< A launch of `whole`.
};

/// Returns true if a loop around a launch does other work in each turn: the launch uses its
/// counter, it swaps the arguments, or nothing tells how often it turns.
bool is_used(const CountingLoop& loop, const LaunchSite& site);

/// Returns the launches that belong together with that of `kernel`, if they are of several kernels
/// or in a loop whose counter they use; nullopt if it is launched by itself.
std::optional<LaunchSequence> sequence_of(const KernelFile& file, const std::string& kernel);

/// Returns true if two launches pass the same, apart from what they write. REQUIRES: the kernel of
/// the first is the file's.
bool passes_the_same(const KernelFile& file, const LaunchSite& one, const LaunchSite& other);

}  // namespace smemtune
