#pragma once

#include "tuner/core/kernel_template.h"
#include "tuner/core/outcome.h"
#include "tuner/core/value.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace smemtune {

/// How a space's kernels are proved right.
struct Verify {
  std::string reference;      ///< The kernel whose default configuration gives the answer.
  std::vector<Problem> also;  ///< Further sizes at which every configuration must be right.
  /// The kernel whose default configuration gives the answers for the problems of `also`, instead
  /// of the reference, such as a function of the host that one thread runs. It is not searched.
  /// Empty: none.
  std::string also_reference = {};
  std::vector<ExpressionText> definitions;  ///< What the reference must compute (definition.h).
  /// `smemtune init` read them in the reference itself, and nobody has confirmed them: that they
  /// agree says nothing, and that they do not is only told.
  bool definition_is_a_guess = false;
  /// What the reference must give: .npy files, by output. For problems whose outputs have their
  /// shapes.
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

  /// Whether definitions or files give all that the kernel computes, or another kernel gives any of
  /// it. What was compared with them in the end, a result says (ComparedOutput).
  bool has_other_answers(const KernelTemplate& kernel) const;

  /// Whether any kernel is compared with a double-precision run of the reference.
  bool derives_tolerances() const;
};

/// A kernel's source with everything it includes by `#include "..."`, so that it can be compiled
/// without reading files, and identified by what it says.
struct KernelSource {
  struct File {
    std::string name;  ///< As it is written in the #include; the template's own path for the first.
    std::string text;

    bool operator==(const File&) const = default;
  };
  std::vector<File> files;  ///< The template first.

  bool operator==(const KernelSource&) const = default;
};

}  // namespace smemtune
