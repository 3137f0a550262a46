#pragma once

#include "tuner/source/flat_source.h"
#include "tuner/source/kernel_function.h"
#include "tuner/source/launch_site.h"
#include "tuner/source/macros.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Reads what a .cu file tells about its kernels, as far as that can be seen without compiling it.
// The source may be anything: what is not understood is left out, and nothing here throws or runs
// away.

namespace smemtune {

/// A number with a name: `#define NAME 16`, or `const int NAME = 16;` outside functions.
struct NamedNumber {
  std::string name;
  std::int64_t value = 0;
  std::size_t line = 0;
  bool is_guarded = false;  ///< True if it is defined under `#ifndef NAME`.
};

/// A name that the device's part uses and nothing defines: a macro that is defined on the command
/// line.
struct MissingName {
  std::string name;
  std::size_t line = 0;  ///< Line of its first use.
  bool is_type = false;  ///< True if something is declared with it.
};

/// An enumeration: `enum class Mode { plain, fast };`.
struct Enumeration {
  std::string name;                     ///< Includes its namespaces.
  std::vector<std::string> words = {};  ///< `Mode::plain`, as a kernel's entry has them.
};

/// The scalars that a structure or an enumeration consists of, as on the GPU.
struct TypeLayout {
  std::string type;       ///< The scalars' type.
  int count = 0;          ///< Their number.
  std::size_t bytes = 0;  ///< Size, padding included.
  bool is_mixed = false;  ///< True if there are scalars of several types.
  bool is_record = false;
};

using TypeLayouts = std::map<std::string, TypeLayout>;  // Keyed by the type's name.

/// Lines that the kernels do not need.
struct LeftOut {
  std::size_t first_line = 0;
  std::size_t last_line = 0;
  std::string what;  ///< `main`, `#include <iostream>`.
  /// True if the device cannot have it, or it is part of the source itself.
  bool is_hosts = false;
};

/// A place of the host that may have the expected results, as its name says.
struct Answer {
  std::size_t line = 0;
  std::string name;  ///< Name of a file that is opened for reading, or of a list of numbers.
  bool is_file = false;
};

/// Pairs of arrays whose elements are compared.
using ComparedArrays = std::set<std::pair<std::string, std::string>>;

/// A call of a function that the source has, and what it passes by the names of the parameters.
struct HostCall {
  std::string caller;
  std::string callee;
  std::map<std::string, std::string> passed;
  std::size_t line = 0;
};

/// Gives what a function of the host expects of an array's elements, or computes for them, as a
/// function of the host that stores it there.
struct HostCheck {
  std::string function;   ///< The one that expects it.
  std::string name;       ///< The name of the function that stores.
  std::string array;      ///< The parameter that it stores to.
  std::string text = {};  ///< Empty if it cannot be a function of its own.
  std::size_t line = 0;
  /// True if it is made from a loop: what a call passes for its parameters are these variables.
  bool is_loop = false;
  /// True if the array is not that of the results, but the loop fills it for comparison.
  bool is_filled = false;
  /// True if it may leave elements out: the loop does not go through all, or a condition stands
  /// before it.
  bool is_part = false;
  /// True if it gives a total that the host works out, which the array's first element should be, or
  /// all of its elements together (`is_of_all`).
  bool is_total = false;
  bool is_of_all = false;
  bool is_printed = false;  ///< True if the host only prints the two beside each other.
  /// The function whose variable the array is; empty for `function`.
  std::string results_in = {};
  std::map<std::string, std::string> passed = {};
  /// Its store if that is simple, in the names of `function`; its loops over the elements are
  /// `axis_a`, `axis_b`, ...
  std::optional<SingleStore> store = {};
};

/// A product that a function of the host has a library compute. Its `axis_a` and `axis_b` run over
/// the elements that it stores; where the library adds to what was there, the value has that, too.
struct LibraryProduct {
  std::string function;
  SingleStore store;
};

/// The findings of init's read_host() in a source.
struct HostPart {
  std::vector<LaunchSite> launches;  ///< In its order, with what the host does on the way to each.
  /// Functions that only return an expression: `int blocks(int n) { return (n + 255) / 256; }`.
  Macros functions;
  TypeLayouts layouts;                         ///< Layouts of types that the source defines.
  std::vector<Enumeration> enumerations = {};  ///< Those with a name.
  /// The numbers that the names in enumerations stand for.
  std::map<std::string, std::string> enumerators = {};
  /// Values that the host's loops store to the elements of an array, or to those of the array that
  /// it copies there, by the array's name.
  std::map<std::string, std::string> fills;
  std::set<std::string> zeroed = {};  ///< Pointers to memory that the host sets to zero.
  /// For constants, the names of what the host copies to it by cudaMemcpyToSymbol(), and of the
  /// other places that it copies the same data to.
  std::map<std::string, std::set<std::string>> copied_to_constants;
  std::vector<Answer> answers = {};
  std::vector<HostCall> calls = {};  ///< Also those that checks stand for.
  std::vector<HostCheck> checks = {};
  std::vector<LibraryProduct> products = {};
  std::map<std::string, ComparedArrays> compared_arrays = {};  ///< Keyed by function.
  /// The copies between host and device: the pointers to and from.
  std::set<std::pair<std::string, std::string>> copies = {};
};

struct KernelFile : HostPart {
  std::vector<KernelFunction> kernels;
  std::vector<NamedNumber> numbers;  ///< Numbers that a kernel reaches and that have one value.
  std::vector<MissingName> missing;  ///< Filled in by init's add_kernel_uses().
  ComparedNumbers compared;
  Meanings meanings;
  Macros function_macros;
  std::vector<SharedArray> constants;  ///< __constant__ variables that a kernel reaches.
  /// Names of texture references, `texture<float> t;`.
  std::vector<std::string> texture_references;
  std::vector<LeftOut> left_out;   ///< Lines that are the host's, in the text's order.
  std::set<std::string> names;     ///< Every identifier of the text.
  std::set<std::string> declared;  ///< Names declared outside of functions.
  std::string device_text;         ///< The text without the lines that are left out.
  /// The text with blanks for these and for #includes: each line has its number.
  std::string device_lines;
};

/// Reads a source. The device's part is the kernels and what they reach: __device__ functions,
/// types, constants, macros, and headers that the device has. `guard` names numbers whose
/// definitions are put under #ifndef in device_text, so that a value can be passed on the command
/// line. `only` names the kernels whose text is wanted; empty for all.
KernelFile read_kernel_file(const FlatSource& source, const std::set<std::string>& guard = {},
                            const std::set<std::string>& only = {});

}  // namespace smemtune
