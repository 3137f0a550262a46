#pragma once

#include "tuner/core/kernel_template.h"
#include "tuner/core/outcome.h"
#include "tuner/core/value.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace smemtune {

/// How a space's kernels are verified.
struct Verify {
  std::string reference;      ///< Kernel whose default configuration computes the expected results.
  std::vector<Problem> also;  ///< Further problems for which every configuration must be right.
  /// Kernel whose default configuration computes the expected results for the problems of `also`,
  /// instead of the reference, such as a function of the host that one thread runs. It is not
  /// searched. Empty if there is none.
  std::string also_reference = {};
  /// Definitions of what the reference must compute (definition.h).
  std::vector<ExpressionText> definitions;
  /// True if `smemtune init` derived the definitions from the reference itself and nobody has
  /// confirmed them: agreement with them proves nothing, and a difference is only reported.
  bool definition_is_a_guess = false;
  /// Results that the reference must give: .npy files by output, for the problems whose outputs
  /// have the files' shapes.
  std::map<std::string, DataFile> expected;

  bool operator==(const Verify&) const = default;
};

/// A space file: one family of problems and the kernels that solve it.
struct Space {
  std::filesystem::path file;
  std::string name;
  std::string description;
  std::vector<Problem> problems;
  std::vector<Problem> cpu_problems;
  Verify verify;
  std::vector<KernelTemplate> kernels;

  const KernelTemplate* kernel(std::string_view kernel_name) const;

  /// Returns whether definitions or files give all that the kernel computes, or another kernel
  /// computes any of it. What a result was actually compared with is stored in the result
  /// (ComparedOutput).
  bool has_other_answers(const KernelTemplate& kernel) const;

  /// Returns whether any kernel is compared with a double-precision run of the reference.
  bool derives_tolerances() const;
};

/// A kernel's source with everything that it includes by `#include "..."`, so that it can be
/// compiled without reading files, and identified by its text.
struct KernelSource {
  struct File {
    /// Name as written in the #include; for the first file, the template's own path.
    std::string name;
    std::string text;

    bool operator==(const File&) const = default;
  };
  std::vector<File> files;  ///< Files of the source, the template first.

  bool operator==(const KernelSource&) const = default;
};

}  // namespace smemtune
