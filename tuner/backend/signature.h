#pragma once

#include "tuner/core/outcome.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

struct CompileRequest;

/// An argument that the space passes to an entry.
struct PassedArgument {
  enum class Kind {
    value,
    buffer,
    texture,
    tensor_map,
    structure,  ///< Bytes passed by value.
  };
  std::string name;
  Kind kind = Kind::value;
  ScalarType type = ScalarType::float32;  ///< Type of a value, or of a buffer's elements.
  std::int64_t bytes = 0;                 ///< Size of a structure.
  /// True for a buffer that some entry of the kernel must be able to write.
  bool is_result = false;
  bool is_zero = false;  ///< True for an integer that may stand for a null pointer.

  bool operator==(const PassedArgument&) const = default;
};

/// A launch of an entry, `gemm_tiled<float, 32>`, and the arguments that it is passed, in order.
struct PassedArguments {
  std::string name_expression;
  std::vector<PassedArgument> arguments;

  bool operator==(const PassedArguments&) const = default;
};

/// The launches of one kernel, without duplicates.
using Signature = std::vector<PassedArguments>;

/// Return CUDA C++ to be compiled behind the request's source: assertions that each entry takes as
/// many arguments as the space passes, and each of them as a parameter of its type. The text needs
/// no more than C++11 and instantiates no entry. It is empty if the request has no signatures.
///
/// Integers of one size are one type, whatever their names and signs; an enumeration is an integer.
/// A buffer may be taken as void*, as vectors or structures of its elements, as integer vectors
/// that carry them, or as an unsigned 64-bit address; a buffer of integers may hold the bits of a
/// half, bfloat16 or 8-bit float. A structure whose members are unknown is judged by its size.
std::string signature_assertions(const CompileRequest& request);

/// The errors that a compiler reported for a program that contains signature_assertions().
struct SignatureLog {
  std::vector<std::string> faults;  ///< One for each failed assertion, with its place.
  bool has_other_errors = false;    ///< True if the source itself has errors.
  /// True if some error lies in the assertions, whether a fault or not.
  bool is_about_assertions = false;
};

/// Parse the errors of NVRTC, g++ or clang++.
SignatureLog read_signature_log(const CompileRequest& request, const std::string& log);

/// Return the failure `compile/signature` if there are faults and the source has no other errors.
std::optional<Failure> signature_failure(const SignatureLog& log);

/// Return the request without its signatures.
CompileRequest without_signatures(const CompileRequest& request);

}  // namespace smemtune
