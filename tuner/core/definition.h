#pragma once

#include "tuner/core/expression.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// A host array in double precision. `shape` is outermost first; element [i][j] is at
/// i * shape[1] + j.
struct HostArray {
  std::vector<std::int64_t> shape;
  std::vector<double> elements;
  ScalarType type = ScalarType::float64;  ///< Of the elements on the device.
  /// The bits of each element, where doubles may not hold it: of 64-bit integers, and of integers
  /// that a definition gives exactly. Else empty.
  std::vector<std::uint64_t> bits = {};
};

/// Evaluating would take longer than was allowed.
class TooManyOperations : public ExpressionError {
 public:
  using ExpressionError::ExpressionError;
};

/// Some elements of an array, or all of them.
struct DefinedElements {
  std::vector<std::int64_t> at =
      {};  ///< Their numbers, in the order of the values; empty: 0, 1, 2, ...
  std::vector<double> values = {};
  std::vector<std::uint64_t> bits = {};  ///< HostArray::bits.
  std::uint64_t operations = 0;          ///< That they cost, with what was tried besides.

  std::int64_t element(std::size_t i) const {
    return at.empty() ? static_cast<std::int64_t>(i) : at[i];
  }
};

/// How many operations (Definition::evaluate) are spent on an output.
struct DefinitionEffort {
  std::uint64_t whole = 200'000'000;  ///< At most so many on all of its elements, ...
  std::uint64_t sample = 25'000'000;  ///< ... else about so many on a sample. ...
  std::size_t least_elements = 64;    ///< ... A smaller one than this may cost as much as `whole`.
  std::uint64_t one_element = 1'000'000'000;  ///< What its first element may cost.
};

/// What a problem's kernels compute, in one line, evaluated on the host: the independent check of
/// the reference kernel. An output of an integer type is evaluated in whole numbers, modulo the
/// type's range, where everything that it is made of is whole: no `/` outside of `floor(a / b)`, no
/// sqrt, exp or log, and no fractions. All else is evaluated in double precision.
///
///   C[m, n] = sum(k < K, A[m, k] * B[k, n])
///   out[i]  = sum(r < 2 * RADIUS + 1, in[i + r])
///   array[i] = array[i] + 1                          (an inout argument is read as it was before)
///
/// The left side names an output and its indices, one per dimension of its shape, each running over
/// that dimension. On the right: numbers, the problem's names, indices, scalars and array elements,
/// + - * / % (the remainder, of the sign of what is divided), comparisons (1 or 0), && || !, ?:,
/// sum(i < n, x), max(i < n, x), min(i < n, x), sqrt exp log abs floor and min, max of two,
/// sizeof(type); an element's indices and the bounds are integer expressions (expression.h). What
/// && || ?: do not need is not evaluated. Reading outside an array throws ExpressionError with the
/// index and the shape.
class Definition {
 public:
  /// `constants`: the problem's names. `arrays`: the names of array arguments with their number of
  /// dimensions. `scalars`: the names of scalar arguments. Throws ExpressionError.
  static Definition compile(std::string_view text, const Bindings& constants,
                            const std::map<std::string, std::size_t>& arrays,
                            const std::vector<std::string>& scalars);

  /// Name of the argument that the definition gives.
  const std::string& output() const;

  /// Names of the arrays that it reads.
  const std::vector<std::string>& arrays() const;

  /// Evaluates every element. `arrays` holds every array that is read, and the output with its
  /// shape and type (and its contents, where the definition reads it). The result has `bits` where
  /// it was evaluated in whole numbers. Throws ExpressionError, and
  /// TooManyOperations when more than `max_operations` would be needed: additions, comparisons,
  /// ..., one for each turn of a sum.
  HostArray evaluate(const std::map<std::string, HostArray>& arrays,
                     const std::map<std::string, double>& scalars,
                     std::uint64_t max_operations = 200'000'000) const;

  /// Evaluates every element where the effort allows that, else a random sample of them that is
  /// spread over the output (sample.h), one element at least. Throws likewise: TooManyOperations
  /// where not even one may be evaluated.
  DefinedElements evaluate_some(const std::map<std::string, HostArray>& arrays,
                                const std::map<std::string, double>& scalars,
                                const DefinitionEffort& effort, std::uint64_t seed) const;

 private:
  struct Node;
  struct Program;
  class Parser;
  class Evaluation;
  std::shared_ptr<const Program> program_;
};

}  // namespace smemtune
