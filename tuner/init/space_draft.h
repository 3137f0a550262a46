#pragma once

#include "tuner/source/kernel_file.h"

#include <string>
#include <vector>

namespace smemtune {

/// What the space of a draft is about.
struct DraftRequest {
  std::string name;                  ///< Of the space.
  std::string written_from;          ///< The file that was read, for people.
  std::string source;                ///< What the kernels' "source" is to be.
  std::vector<std::string> kernels;  ///< Names of the file's kernels, all of one signature.
  /// Instead, all that the host launches together with the first, as one kernel.
  bool together = false;
  /// A kernel of the file that one thread runs to say what is right, and the host's function that
  /// it calls. Empty: none.
  std::string witness = {};
  std::string witness_of = {};
};

/// What a draft makes of an argument, or of a name of the problem, for people.
struct DraftedArgument {
  std::string name;
  std::string role = {};     ///< `input`, ..., `size`, `value`; `problem`.
  std::string shape = {};    ///< Of a buffer; a scalar's value.
  std::string said_by = {};  ///< The line of the host that says so; empty: the kernel alone.
  bool is_guess = false;
};

struct SpaceDraft {
  std::string text;  ///< Of the space file.
  std::vector<DraftedArgument> arguments;
  std::vector<std::string> launches;  ///< `k: block THREADS, grid ...; line 12`, one a kernel.
};

/// The numbers (macros, constants) of a file that its kernels could be tuned by, as their names and
/// values tell.
std::vector<NamedNumber> tunable_numbers(const KernelFile& file);

/// The numbers that change what is computed: sizes, radii.
std::vector<NamedNumber> problem_numbers(const KernelFile& file);

/// Kernels that take the same arguments as `kernel`, itself included, in the file's order; at most
/// 16.
std::vector<std::string> kernels_like(const KernelFile& file, const std::string& kernel);

/// Kernels that the host launches together with `kernel`, itself included, in the order of their
/// launches; empty: it is launched by itself.
std::vector<std::string> kernels_launched_with(const KernelFile& file, const std::string& kernel);

/// A space file for a source, ready to be edited: what the source shows is filled in and described,
/// what it cannot show is a text that begins with TODO, and a default that is a guess is said to be
/// one. REQUIRES: the kernels are the file's.
SpaceDraft draft_space(const FlatSource& source, const KernelFile& given,
                       const DraftRequest& asked);

}  // namespace smemtune
