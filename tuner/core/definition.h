#pragma once

#include "tuner/core/expression.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// An array on the host, in double precision or as a device has it. `shape` is outermost first;
/// element [i][j] is at i * shape[1] + j.
struct HostArray {
  std::vector<std::int64_t> shape;
  std::vector<double> elements;           ///< Empty if there are `bytes` or is `read`.
  ScalarType type = ScalarType::float64;  ///< Type of the elements on the device.
  /// Bits of each element where doubles may not hold its value: for 64-bit integers, and for
  /// integers that a definition computes exactly. Otherwise empty.
  std::vector<std::uint64_t> bits = {};
  std::vector<std::uint8_t> bytes = {};  ///< The elements as a device has them.
  /// Sets `part` to the bytes from `begin` on, instead of `bytes`; several threads may call it.
  std::function<void(std::size_t begin, std::span<std::uint8_t> part)> read = {};

  std::size_t size() const;
  bool has_bytes() const { return read || !bytes.empty(); }

  /// Returns the array with `elements`, and with `bits` if it is of 64-bit integers, instead of
  /// `bytes`.
  HostArray in_numbers() const;
};

/// Thrown when an evaluation would take more operations than were allowed.
class TooManyOperations : public ExpressionError {
 public:
  using ExpressionError::ExpressionError;
};

/// The values of some or all elements of an array.
struct DefinedElements {
  /// Indices of the elements, in the order of `values`. Empty means 0, 1, 2, ...
  std::vector<std::int64_t> at = {};
  std::vector<double> values = {};
  std::vector<std::uint64_t> bits = {};  ///< Same as HostArray::bits.
  /// Operations spent on them, including those of discarded attempts.
  std::uint64_t operations = 0;
};

/// Limits on the operations (Definition::evaluate) that are spent on one output.
struct DefinitionEffort {
  std::uint64_t whole = 200'000'000;  ///< Most operations for evaluating all elements.
  /// Approximate number of operations for a sample, used when `whole` does not suffice.
  std::uint64_t sample = 25'000'000;
  std::size_t least_elements = 64;            ///< Samples smaller than this may cost up to `whole`.
  std::uint64_t one_element = 1'000'000'000;  ///< Most operations for the first element.
  unsigned threads = 1;
};

/// A formula for what a problem's kernels compute, evaluated on the host: the independent check of
/// the reference kernel. An output of an integer type is evaluated in integers, modulo the type's
/// range, if all that it is made of is integral: no `/` outside of `floor(a / b)`, no sqrt, exp or
/// log, and no fractions. Everything else is evaluated in double precision.
///
///   C[m, n] = sum(k < K, A[m, k] * B[k, n])
///   out[i]  = sum(r < 2 * RADIUS + 1, in[i + r])
///   y[i]    = sum(k < row[i + 1] - row[i], value[row[i] + k] * x[column[row[i] + k]])
///   array[i] = array[i] + 1                          (an inout argument is read as it was before)
///
/// The left side names an output and its indices, one per dimension of its shape, each running over
/// that dimension. The right side may contain numbers, the problem's names, indices, scalars and
/// array elements, + - * / % (the remainder, with the sign of the dividend), comparisons (1 or 0;
/// a problem's name that stands for a word is compared with a word, MATRIX == skewed), && || !, ?:,
/// sum(i < n, x), max(i < n, x), min(i < n, x), sqrt exp log abs floor sin cos tan tanh erf,
/// pow(x, y) or x ** y, a // b for floor(a / b), min and max of two operands, and sizeof(type).
/// The indices of an element and the bounds of a loop are integer expressions (expression.h), which
/// may read elements of integer arrays. Operands that && || ?: do not need are not evaluated.
/// Reading outside an array throws ExpressionError with the index and the shape.
class Definition {
 public:
  /// Compiles `text`. `constants`: the problem's names. `arrays`: the names of array arguments with
  /// their number of dimensions. `scalars`: the names of scalar arguments. Throws ExpressionError.
  static Definition compile(std::string_view text, const Bindings& constants,
                            const std::map<std::string, std::size_t>& arrays,
                            const std::vector<std::string>& scalars);

  /// Returns the name of the output that the definition gives.
  const std::string& output() const;

  /// Returns the names of the arrays that the definition reads.
  const std::vector<std::string>& arrays() const;

  /// Evaluates every element. `arrays` holds every array that is read, and the output with its
  /// shape and type (and its contents, if the definition reads them). The result has `bits` if it
  /// was evaluated in integers. Throws ExpressionError, and TooManyOperations if more than
  /// `max_operations` would be needed: additions, comparisons, ..., and one for each turn of a sum.
  HostArray evaluate(const std::map<std::string, HostArray>& arrays,
                     const std::map<std::string, double>& scalars,
                     std::uint64_t max_operations = 200'000'000, unsigned threads = 1) const;

  /// Evaluates every element if the effort allows it, otherwise a random sample of them that is
  /// spread over the output (spread_sample), at least one element. Throws ExpressionError, and
  /// TooManyOperations if not even one element may be evaluated.
  DefinedElements evaluate_some(const std::map<std::string, HostArray>& arrays,
                                const std::map<std::string, double>& scalars,
                                const DefinitionEffort& effort, std::uint64_t seed) const;

 private:
  struct Node;
  struct Program;
  class Parser;
  class Analysis;
  class Evaluation;
  class Elements;
  std::shared_ptr<const Program> program_;
};

/// Returns the indices of about `wanted` different elements of an array, or of all elements if it
/// has no more. Every prefix of the result is spread over the array. The first and the last element
/// come first; a quarter of the indices lie on the faces of the array (its first and last rows,
/// columns, ...); the array is divided into equal parts, and each of the remaining indices lies in
/// a part of its own. The result depends only on the arguments.
std::vector<std::int64_t> spread_sample(std::span<const std::int64_t> shape, std::size_t wanted,
                                        std::uint64_t seed);

}  // namespace smemtune
