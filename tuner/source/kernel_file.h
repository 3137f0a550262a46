#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// What a .cu file says of its kernels, as far as that can be seen without compiling it. The source
// may be anything: what is not understood is left out, and nothing here throws or runs away.

namespace smemtune {

/// How a kernel's body uses what a pointer leads to.
enum class Access { unknown, read, written, both };

struct KernelParameter {
  std::string name;
  std::string type;  ///< Without const, & and *: `float`, `T`, `unsigned int`.
  int pointers = 0;  ///< How many * (or arrays) stand between the name and the type.
  bool is_const = false;
  Access access = Access::unknown;
  std::string texel;  ///< Of a texture object: the type that tex1Dfetch reads; empty: not known.

  bool is_texture() const { return type == "cudaTextureObject_t" && pointers == 0; }
};

struct TemplateParameter {
  std::string kind;  ///< `typename`, `int`, `bool`, ...
  std::string name;
  std::string default_text;  ///< Empty: none.

  bool is_type() const { return kind == "typename" || kind == "class"; }
};

/// Of __shared__ or __constant__ memory.
struct SharedArray {
  std::string type;
  std::string name;                  ///< Of a constant, with its namespaces.
  std::vector<std::string> extents;  ///< As written. Empty for a variable and for `extern ... []`.
  bool is_dynamic = false;
};

/// A __global__ function that has a body.
struct KernelFunction {
  std::string name;  ///< With its namespaces.
  std::size_t line = 0;
  std::vector<TemplateParameter> template_parameters;
  std::vector<KernelParameter> parameters;
  std::vector<std::string> launch_bounds;  ///< As written; empty: none.
  std::vector<SharedArray> shared;         ///< Of its body.
  std::set<std::string> names;             ///< Every identifier of it...
  std::set<std::string> reached;           ///< ... and of all that it uses.
  /// Of threadIdx or blockDim that it or a function that it reaches uses: 1 to 3.
  int block_dimensions = 1;
  int grid_dimensions = 1;       ///< Of blockIdx.
  bool uses_block_size = false;  ///< It reads blockDim, so that any block may do.
  /// By dimension, the name that an index made from blockIdx is compared with; may be empty.
  std::array<std::string, 3> extents = {};
  std::vector<std::size_t> other_lines = {};  ///< Of its other versions, in branches of #if.
};

/// `#define NAME 16`, or `const int NAME = 16;` outside functions.
struct NamedNumber {
  std::string name;
  std::int64_t value = 0;
  std::size_t line = 0;
  bool is_macro = true;
  bool is_guarded = false;  ///< Under `#ifndef NAME`.
  std::size_t begin = 0;    ///< Of its lines in the text...
  std::size_t end = 0;      ///< ... line feed included.
};

/// A name that the device's part uses and nothing defines: a macro that is to be handed over.
struct MissingName {
  std::string name;
  std::size_t line = 0;      ///< Where it is used first.
  bool is_constant = false;  ///< It stands where only a constant can.
};

/// `name<A, B><<<grid, block, shared>>>(arguments)`, as written.
struct LaunchSite {
  std::string kernel;
  std::size_t line = 0;
  std::vector<std::string> template_arguments;
  /// Blocks and threads by dimension, where the expression itself or the dim3 of that name says
  /// them; one text otherwise.
  std::vector<std::string> grid;
  std::vector<std::string> block;
  std::string block_name;  ///< The variable that holds the block, if it is one.
  std::string shared_bytes;
  std::vector<std::string> arguments;
  /// What the variables that these texts name were made of last, by name, and theirs.
  std::map<std::string, std::string> variables;
  std::vector<std::string> asserted;  ///< By assert() before it, in the function that launches.
};

/// Lines that the kernels do not need.
struct LeftOut {
  std::size_t first_line = 0;
  std::size_t last_line = 0;
  std::string what;  ///< `main`, `#include <iostream>`.
};

struct KernelFile {
  std::vector<KernelFunction> kernels;
  std::vector<NamedNumber> numbers;  ///< That a kernel reaches, and that have one value.
  std::vector<MissingName> missing;
  std::map<std::string, std::set<std::int64_t>> compared;  ///< What #if compares a name with.
  /// What a macro without arguments, a typedef or a using stands for, one text by branch of #if;
  /// those of the headers, too.
  std::map<std::string, std::vector<std::string>> meanings;
  std::vector<LaunchSite> launches;
  std::vector<SharedArray> constants;  ///< __constant__ variables that a kernel reaches.
  std::vector<LeftOut> left_out;       ///< What is the host's, in the text's order.
  std::set<std::string> names;         ///< Every identifier of the text.
  std::string device_text;             ///< Without what is left out.
};

/// Reads a source. The device's part are the kernels and what they reach: __device__ functions,
/// types, constants, macros, and headers that the device has. `headers`: the texts of the files
/// that it includes by #include "...", by name; kept where they declare what is reached. `guard`
/// names numbers whose definitions are put under #ifndef in device_text, so that a value can be
/// handed over. `only` names the kernels whose text is wanted; empty: all.
KernelFile read_kernel_file(std::string_view text,
                            const std::map<std::string, std::string>& headers = {},
                            const std::set<std::string>& guard = {},
                            const std::set<std::string>& only = {});

/// The names between quotation marks of a source's #include "..." lines.
std::vector<std::string> quoted_includes(std::string_view text);

}  // namespace smemtune
