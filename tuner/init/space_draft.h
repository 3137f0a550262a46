#pragma once

#include "tuner/init/host_function.h"
#include "tuner/source/kernel_file.h"

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A request to draft a space.
struct DraftRequest {
  std::string name = {};             ///< Name of the space.
  std::string written_from = {};     ///< The file that was read, for people.
  std::string source = {};           ///< Value of the kernels' "source".
  std::vector<std::string> kernels;  ///< Names of the file's kernels, all of one signature.
  /// Instead: the space has one kernel, of all that the host launches together with the first one.
  bool together = false;
  /// True if kernels behind the first may be left out: those whose block is not known, and those
  /// that the host never launches and of which anything else is not known, except plain ones.
  bool may_leave_out = false;
  /// A function of the host that says what is right; the file has the kernel that calls it.
  std::optional<HostFunction> witness = {};
};

/// The draft of an argument, or of a name of the problem, for people.
struct DraftedArgument {
  std::string name;
  std::string role = {};     ///< `input`, ..., `size`, `value`; `problem`.
  std::string shape = {};    ///< Shape of a buffer, or value of a scalar.
  std::string said_by = {};  ///< The line of the host that shows it; empty if only the kernel does.
  bool is_guess = false;
};

struct SpaceDraft {
  std::vector<std::string> kernels;  ///< Those of the request that the space has.
  std::string text;                  ///< Text of the space file.
  std::vector<DraftedArgument> arguments;
  /// `k: block THREADS, grid ...; line 12`, one for each kernel.
  std::vector<std::string> launches;
  /// True if a role or a default is a guess, which the source does not show.
  bool has_guesses = false;
  bool has_witness = false;  ///< True if the function of the host says what is right.
};

/// Returns the numbers (macros, constants) of a file that its kernels could be tuned by, as their
/// names and values suggest.
std::vector<NamedNumber> tunable_numbers(const KernelFile& file);

/// Returns the numbers that change what is computed: sizes, radii.
std::vector<NamedNumber> problem_numbers(const KernelFile& file);

/// Returns the kernel to draft a space for: the first that the host launches, else the first; if it
/// can be, one of the source itself. None is taken that init has added (copies.h); nullptr if there
/// is no other.
const KernelFunction* first_kernel(const FlatSource& source, const KernelFile& file);

/// Returns the kernels that take the same arguments as `kernel`, itself included, in the file's
/// order, but those first that the host launches; at most 16.
std::vector<std::string> kernels_like(const KernelFile& file, const std::string& kernel);

/// Returns those of some kernels that take the same which compute what the host expects of them, or
/// else what the first one computes, as far as their definitions tell. Kernels that warm the GPU up
/// are left out.
std::vector<std::string> computing_the_same(const KernelFile& file,
                                            std::vector<std::string> kernels);

/// Returns the kernels that the host launches together with `kernel`, itself included, in the order
/// of their launches; empty if it is launched by itself.
std::vector<std::string> kernels_launched_with(const KernelFile& file, const std::string& kernel);

/// Returns a kernel that takes what the first of these kernels takes, or all of them if they are
/// launched together, with the types that the host passes in place of template parameters.
KernelFunction as_launched(const KernelFile& file, const DraftRequest& request);

/// Returns the launch of the first of these kernels, or the one that stands for all if they are
/// launched together; without frames if there is none.
LaunchSite launch_of(const KernelFile& file, const DraftRequest& request);

/// Returns what the host does around the launches of these kernels and a draft of them leaves out:
/// a loop that also launches others on the same buffers, or copies these from or to the host. Each
/// is a line for people.
std::vector<std::string> left_out_around(const FlatSource& source, const KernelFile& file,
                                         const std::vector<std::string>& kernels);

/// Returns a space file for a source, ready to be edited: what the source shows is filled in and
/// described, what it cannot show is a text that begins with TODO, and a default that is a guess is
/// marked as one. REQUIRES: the kernels are the file's.
SpaceDraft draft_space(const FlatSource& source, const KernelFile& given,
                       const DraftRequest& asked);

}  // namespace smemtune
