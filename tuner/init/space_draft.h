#pragma once

#include "tuner/source/kernel_file.h"

#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// What the space of a draft is about.
struct DraftRequest {
  std::string name;                  ///< Of the space.
  std::string written_from;          ///< The file that was read, for people.
  std::string source;                ///< What the kernels' "source" is to be.
  std::vector<std::string> kernels;  ///< Names of the file's kernels, all of one signature.
};

/// The numbers (macros, constants) of a file that its kernels could be tuned by, as their names and
/// values tell.
std::vector<NamedNumber> tunable_numbers(const KernelFile& file);

/// Those that change what is computed: sizes, radii.
std::vector<NamedNumber> problem_numbers(const KernelFile& file);

/// Kernels that take the same arguments as `kernel`, itself included, in the file's order.
std::vector<std::string> kernels_like(const KernelFile& file, const std::string& kernel);

/// A space file for a source, ready to be edited: what the source shows is filled in and described,
/// what it cannot show (shapes, the grid) is a text that begins with TODO. REQUIRES: the kernels
/// are the file's.
std::string draft_space(const KernelFile& file, const DraftRequest& request);

}  // namespace smemtune
