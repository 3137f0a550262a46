#pragma once

#include "tuner/init/host_calls.h"
#include "tuner/source/kernel_file.h"

namespace smemtune {

/// Bytes, by the name of the pointer or array that they are for.
using Sizes = std::map<std::string, std::string>;

/// The sizes of memory that the functions of a host allocate. A null function stands for what lies
/// outside of them.
class HostMemory {
 public:
  /// Reads `cudaMalloc(&a, bytes)`, `cudaMallocPitch(&a, &pitch, width, height)`,
  /// `cudaGetSymbolAddress(&a, array)`, `cudaMemcpy(a, b, bytes)`, `cudaMemset(a, 0, bytes)`.
  void read_call(const CallText& text, const DeclaredFunction* function, HostState& state);
  /// Adds what the callee allocates for its parameters.
  void pass_back(const CallText& text, const FunctionCall& call, HostState& state);
  /// Notes the pointer that a function returns.
  void add_returned(const std::string& pointer, const DeclaredFunction& function);
  /// Adds what the callee allocates and returns to a pointer.
  void give_returned(const std::string& pointer, const FunctionCall& call, HostState& state);
  /// Adds an array of this function alone: others may have arrays of the same name. The array of a
  /// member function may be its class's, and counts for all functions.
  void add_host_array(const std::string& name, const std::string& bytes,
                      const DeclaredFunction* function);

  /// Returns the sizes that count in all functions: none for a pointer to what functions allocate
  /// or copy by a parameter for which calls pass different things.
  Sizes common(const std::vector<HostCall>& calls, const Callers& callers) const;
  /// Returns a function's state as a frame, with the sizes of its arrays and the common ones.
  HostFrame frame(const DeclaredFunction& function, const HostState& state,
                  const Sizes& common) const;

 private:
  void add_size(const std::string& pointer, const std::string& bytes,
                const DeclaredFunction& function, const HostState& state);

  Sizes own_;        ///< Those of what functions allocate.
  Sizes allocated_;  ///< Without those that member functions allocate.
  Sizes copied_;
  /// Bytes that functions allocate for their parameters, by numbers of these.
  std::map<const DeclaredFunction*, std::map<std::size_t, std::string>> for_parameters_;
  std::map<const DeclaredFunction*, std::string> returned_;
  /// Functions, and the parameters that they make the sizes of pointers of.
  std::map<std::string, std::set<std::pair<const DeclaredFunction*, std::string>>> sized_by_;
  std::map<const DeclaredFunction*, Sizes> of_host_;  ///< Those of the host's arrays.
};

/// Returns the bytes in a value that allocates: `malloc(bytes)`, `calloc(n, size)`, `new T[n]`.
std::optional<std::string> allocated_bytes(const CppTokens& tokens, TokenRange value);

}  // namespace smemtune
