#pragma once

#include "tuner/source/source_items.h"

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// The uses that a kernel's body makes of the memory that a pointer leads to. `added`: only
/// atomicAdd() and its like write there.
enum class Access { unknown, read, written, added, both };

struct KernelParameter {
  std::string name;
  std::string type;  ///< Without const, & and *: `float`, `T`, `unsigned int`.
  int pointers = 0;  ///< Number of * (or arrays) between the type and the name.
  bool is_const = false;
  // Members that init's add_kernel_uses() fills in for a pointer:
  Access access = Access::unknown;
  /// True if some elements are left unchanged where others are written: each store stands behind a
  /// condition on more than an upper bound, or goes where other data say.
  bool leaves_elements = false;
  /// True if its elements take part in an index of another array: their initial values decide what
  /// is read and written. Not where a mask or the remainder of an unsigned number bounds the index.
  bool indexes = false;
  /// Arrays that single elements of it index, and those that a loop from one of its elements to
  /// another indexes, as for the rows of a sparse matrix. An empty text stands for other indices.
  std::set<std::string> index_of = {};
  std::set<std::string> bounds_of = {};
  /// True if each block stores one element, the sum of what its threads add up.
  bool is_block_sum = false;
  /// True if its elements decide how often a loop runs or how far a value is shifted, or go where
  /// that cannot be seen.
  bool counts = false;
  /// The type that tex1Dfetch reads from a texture object; empty when not known.
  std::string texel;

  /// Returns true for a pointer through which nothing forbids to write.
  bool may_be_written() const { return pointers > 0 && !is_const && access != Access::read; }
  bool is_written() const { return may_be_written() && access != Access::unknown; }
  bool is_texture() const { return type == "cudaTextureObject_t" && pointers == 0; }
};

struct TemplateParameter {
  std::string kind;  ///< `typename`, `int`, `bool`, ...
  std::string name;
  std::string default_text;  ///< Empty if there is none.

  bool is_type() const { return kind == "typename" || kind == "class"; }
  bool is_template() const { return kind.starts_with("template"); }
};

/// A variable in __shared__ or __constant__ memory.
struct SharedArray {
  std::string type;
  std::string name;  ///< Includes the namespaces of a constant.
  /// Texts as written. Empty for a variable and for `extern ... []`.
  std::vector<std::string> extents;
  bool is_dynamic = false;
};

/// The value that a kernel's only store gives an element. In the texts local names are replaced by
/// their values, a thread's number among all in a dimension is called `axis_x`, `axis_y` or
/// `axis_z`, and a loop that adds up is `sum(k < bound_of[n], ...)`.
struct SingleStore {
  std::string array = {};
  std::string index = {};
  std::string value = {};
  std::vector<std::string> conditions = {};  ///< All must hold for the element to be written.
  /// True if it is a sum over threads, of a block for each element or of the grid for the only one.
  bool is_of_threads = false;
};

/// A number in a kernel, or the extent of an array, that ties it to the size of its block.
struct BlockNumber {
  enum class Kind {
    thread,  ///< A thread's number is calculated with this, or compared with it.
    tile,    ///< blockIdx is multiplied by it.
    array,   ///< Each thread uses an element of its own of a shared array of that extent.
    scaled,  ///< Each thread uses several of them.
    whole,   ///< Its elements are also chosen by what does not depend on the block's size.
    result   ///< No number: each block stores what it makes of its threads' elements.
  };
  Kind kind = Kind::thread;
  std::size_t axis = 0;
  std::string text = {};
  std::size_t line = 0;
};

/// A __global__ function that has a body.
struct KernelFunction {
  std::string name;  ///< Includes its namespaces.
  std::size_t line = 0;
  std::vector<TemplateParameter> template_parameters;
  std::vector<KernelParameter> parameters;
  std::vector<std::string> launch_bounds;  ///< Texts as written; empty if there are none.
  std::vector<SharedArray> shared;         ///< Variables of its body.
  std::set<std::string> reached;  ///< Every identifier of its body and of everything that it uses.
  /// Dimensions of threadIdx or blockDim that the kernel or a function that it reaches uses: 1 to
  /// 3.
  int block_dimensions = 1;
  int grid_dimensions = 1;       ///< Likewise for blockIdx.
  bool uses_block_size = false;  ///< True if it reads blockDim, so that any block may do.
  /// True if it takes the square root, logarithm or power of a value that it has read.
  bool needs_positive_numbers = false;
  /// True, by dimension, if blockIdx is multiplied with blockDim: the grid follows from the block.
  /// Filled in by init.
  std::array<bool, 3> strides_by_block = {};
  /// The name that an index made from blockIdx is compared with, by dimension; may be empty. Filled
  /// in by init.
  std::array<std::string, 3> extents = {};
  std::vector<std::string> asserts = {};    ///< Conditions of static_assert(), filled in by init.
  std::vector<std::string> divisions = {};  ///< Conditions under which steps and unroll factors
                                            ///< divide what loops count to; likewise.
  /// Names in the conditions of its `for` loops, except loops that all threads share.
  std::set<std::string> loop_bounds = {};
  /// Constants that the block's extents seem to be, by how the kernel numbers elements; likewise.
  std::array<std::string, 3> thread_extents = {};
  std::array<std::string, 3> tiles = {};  ///< Constants by which blockIdx is multiplied; likewise.
  std::vector<BlockNumber> block_numbers = {};  ///< Likewise.
  std::array<bool, 3> loops_by_block = {};  ///< True, by dimension, for loops in steps of blockDim.
  std::optional<SingleStore> store = {};    ///< Likewise, if the body has no other.
  std::vector<std::size_t> other_lines = {};  ///< Lines of its other versions, in branches of #if.

  /// Adds what another kernel reaches and uses.
  void add_uses_of(const KernelFunction& other);
};

/// Returns the parameter that a declaration declares; nullopt if it declares none.
std::optional<KernelParameter> kernel_parameter(const CppTokens& tokens, TokenRange part);

/// Returns the template parameters of an item; empty if it is no template.
std::vector<TemplateParameter> template_parameters(const CppTokens& tokens, const SourceItem& item);

/// Describes a kernel that has a body by its own text; what it reaches is left empty.
KernelFunction kernel_of(const CppTokens& tokens, const SourceItem& item);

/// Adds what a function's body needs: dimensions, positive numbers. The function is the kernel
/// itself or one that it calls.
void use_body(const CppTokens& tokens, TokenRange body, KernelFunction& kernel);

/// Returns the variables that are declared behind `space`: __shared__ or __constant__.
std::vector<SharedArray> arrays_of(const CppTokens& tokens, TokenRange range,
                                   std::string_view space);

}  // namespace smemtune
