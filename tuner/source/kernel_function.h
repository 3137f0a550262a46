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
  int pointers = 0;  ///< Number of * (or arrays) between the type and the name.
  bool is_const = false;
  Access access = Access::unknown;
  /// True if it may leave elements unchanged; see may_leave_elements().
  bool leaves_elements = false;
  /// The type that tex1Dfetch reads from a texture object; empty when not known.
  std::string texel;

  bool is_texture() const { return type == "cudaTextureObject_t" && pointers == 0; }
};

struct TemplateParameter {
  std::string kind;  ///< `typename`, `int`, `bool`, ...
  std::string name;
  std::string default_text;  ///< Empty if there is none.

  bool is_type() const { return kind == "typename" || kind == "class"; }
};

/// A variable in __shared__ or __constant__ memory.
struct SharedArray {
  std::string type;
  std::string name;  ///< With its namespaces if it is a constant.
  /// Texts as written. Empty for a variable and for `extern ... []`.
  std::vector<std::string> extents;
  bool is_dynamic = false;
};

/// A __global__ function that has a body.
struct KernelFunction {
  std::string name;  ///< With its namespaces.
  std::size_t line = 0;
  std::vector<TemplateParameter> template_parameters;
  std::vector<KernelParameter> parameters;
  std::vector<std::string> launch_bounds;  ///< Texts as written; empty if there are none.
  std::vector<SharedArray> shared;         ///< Variables of its body.
  std::set<std::string> names;             ///< Every identifier of its body...
  std::set<std::string> reached;           ///< ... and of everything that it uses.
  /// Dimensions of threadIdx or blockDim that the kernel or a function that it reaches uses: 1 to
  /// 3.
  int block_dimensions = 1;
  int grid_dimensions = 1;       ///< Likewise for blockIdx.
  bool uses_block_size = false;  ///< True if it reads blockDim, so that any block may do.
  /// True if it takes the square root, logarithm or power of a value that it has read.
  bool needs_positive_numbers = false;
  /// True, by dimension, if blockIdx is multiplied with blockDim: the grid follows from the block.
  std::array<bool, 3> strides_by_block = {};
  /// The name that an index made from blockIdx is compared with, by dimension; may be empty.
  std::array<std::string, 3> extents = {};
  std::vector<std::size_t> other_lines = {};  ///< Lines of its other versions, in branches of #if.
};

/// Returns the parameter that a declaration declares; nullopt if it declares none.
std::optional<KernelParameter> kernel_parameter(const CppTokens& tokens, TokenRange part);

/// Returns the template parameters of an item; empty if it is no template.
std::vector<TemplateParameter> template_parameters(const CppTokens& tokens, const SourceItem& item);

/// Describes a kernel that has a body by its own text; what it reaches is left empty.
KernelFunction kernel_of(const CppTokens& tokens, const SourceItem& item, AccessReader& access);

/// Adds what a function's body needs: dimensions, positive numbers. The function is the kernel
/// itself or one that it calls.
void use_body(const CppTokens& tokens, TokenRange body, KernelFunction& kernel);

/// Returns the variables that are declared behind `space`: __shared__ or __constant__.
std::vector<SharedArray> arrays_of(const CppTokens& tokens, TokenRange range,
                                   std::string_view space);

}  // namespace smemtune
