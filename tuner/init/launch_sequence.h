#pragma once

#include "tuner/source/kernel_file.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// `for (i = first; ...)` around launches of a sequence, which use its counter.
struct SequenceLoop {
  std::string counter;    ///< As the space is to call how often it went round: 0, 1, ...
  std::string times;      ///< How often it goes round, in the host's names.
  std::size_t first = 0;  ///< Number of the first launch in it...
  std::size_t end = 0;    ///< ... and of the one behind the last.
  /// What the host swaps in it: texts of the host, and in the end the arguments.
  std::vector<std::pair<std::string, std::string>> swaps = {};
};

/// What the host launches one after the other, which a space has as one kernel.
struct LaunchSequence {
  /// In their order. Their texts have the names of `loops` for the host's counters, and each has
  /// the arguments of all.
  std::vector<LaunchSite> sites;
  std::vector<std::vector<std::string>> arguments;  ///< Which of them each passes, by name.
  std::vector<SequenceLoop> loops;
  KernelFunction whole;  ///< A kernel with all arguments, that does what all of them do.
  LaunchSite launch;     ///< Of it.
};

/// The launches to which that of `kernel` belongs, where they are of several kernels or in a loop
/// whose counter they use; nullopt: it is launched by itself.
std::optional<LaunchSequence> sequence_of(const KernelFile& file, const std::string& kernel);

}  // namespace smemtune
