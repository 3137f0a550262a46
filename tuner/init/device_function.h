#pragma once

#include "tuner/source/kernel_function.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// New texts for pieces of a source. Key: where one begins; value: where it ends, and its new text.
using Edits = std::map<std::size_t, std::pair<std::size_t, std::string>>;

/// A function that only the host has, and the edits that make it one of the device.
struct NeededFunction {
  const SourceItem* item = nullptr;
  Edits edits;
};

/// Returns the functions that a function of the host calls, before those that call them; the last
/// one is the function itself. What they allocate comes from a heap that
/// with_functions_for_device() adds. Empty if one of them uses what only the host has, or is
/// defined behind a call of it.
std::vector<NeededFunction> needed_by(const CppTokens& tokens, const SourceItems& read,
                                      const SourceItem& item);

/// The parameters of a function of the host as a kernel can pass them: a vector as a pointer to its
/// elements and its size, a structure with pointers as those members that the function uses.
struct HostSignature {
  /// A piece of a parameter, by the host's text for it: `v`, `.size()` or `m`, `.width`.
  struct Piece {
    std::string parameter;
    std::string behind;
    bool is_member = false;
  };
  struct Structure {
    std::string type;
    bool is_pointer = false;
  };

  std::vector<KernelParameter> parameters;
  std::set<std::string> types;                  ///< Template parameters that are types.
  std::map<std::string, Piece> pieces;          ///< Keyed by the name in `parameters`.
  std::map<std::string, Structure> structures;  ///< Keyed by the function's parameter.

  /// Returns what a call of the function passes for a parameter, given the text of each argument by
  /// the function's own names; nullopt if it passes nothing.
  std::optional<std::string> passed(const KernelParameter& parameter,
                                    const std::map<std::string, std::string>& texts) const;
};

/// Returns a function's parameters; none if a kernel cannot pass one of them.
HostSignature host_signature(const CppTokens& tokens, const SourceItems& read,
                             const SourceItem& item);

/// A kernel of one thread, which calls a function.
struct CallingKernel {
  std::string name;
  std::string function;
  std::vector<KernelParameter> taken;  ///< Its parameters.
  std::vector<std::string> given;      ///< The arguments of its call.
  std::string result;                  ///< Pointer to the function's result; may be empty.
};

/// Returns a source in which the device has these functions as well, the last of which has this
/// signature, and a kernel that calls it. Every line keeps its number.
std::string with_functions_for_device(const std::string& source, const CppTokens& tokens,
                                      const std::vector<NeededFunction>& functions,
                                      const HostSignature& signature, const CallingKernel& kernel);

}  // namespace smemtune
