#pragma once

#include "tuner/source/access.h"
#include "tuner/source/source_items.h"

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

struct KernelParameter {
  std::string name;
  std::string type;  ///< Without const, & and *: `float`, `T`, `unsigned int`.
  int pointers = 0;  ///< How many * (or arrays) stand between the name and the type.
  bool is_const = false;
  Access access = Access::unknown;
  bool leaves_elements = false;  ///< Of what it writes; see may_leave_elements().
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
  /// It takes the square root, logarithm or power of what it has read.
  bool needs_positive_numbers = false;
  /// By dimension, whether blockIdx is multiplied with blockDim: the grid follows from the block.
  std::array<bool, 3> strides_by_block = {};
  /// By dimension, the name that an index made from blockIdx is compared with; may be empty.
  std::array<std::string, 3> extents = {};
  std::vector<std::size_t> other_lines = {};  ///< Of its other versions, in branches of #if.
};

/// Of a parameter's declaration; nullopt where it is none.
std::optional<KernelParameter> kernel_parameter(const CppTokens& tokens, TokenRange part);

/// What its own text says of a kernel that has a body; what it reaches is left empty.
KernelFunction kernel_of(const CppTokens& tokens, const SourceItem& item, AccessReader& access);

/// Adds what a function's body needs: dimensions, positive numbers. Of the kernel itself or what it
/// calls.
void use_body(const CppTokens& tokens, TokenRange body, KernelFunction& kernel);

/// Those declared behind `space`: __shared__ or __constant__.
std::vector<SharedArray> arrays_of(const CppTokens& tokens, TokenRange range,
                                   std::string_view space);

}  // namespace smemtune
