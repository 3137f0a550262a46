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
    structure,  ///< Bytes by value.
  };
  std::string name;
  Kind kind = Kind::value;
  ScalarType type = ScalarType::float32;  ///< Of a value, or of a buffer's elements.
  std::int64_t bytes = 0;                 ///< Of a structure.
  bool is_result = false;  ///< A buffer that some entry of the kernel has to be able to write.
  bool is_zero = false;    ///< An integer that may stand for a null pointer.

  bool operator==(const PassedArgument&) const = default;
};

/// A launch of an entry: `gemm_tiled<float, 32>` and what it is passed, in order.
struct PassedArguments {
  std::string name_expression;
  std::vector<PassedArgument> arguments;

  bool operator==(const PassedArguments&) const = default;
};

/// The launches of one kernel, each different one once.
using Signature = std::vector<PassedArguments>;

/// Return CUDA C++ to be compiled behind the request's source: assertions that each entry takes as
/// many arguments as the space passes, and each of them as a parameter of its type. It needs no
/// more than C++11 and instantiates no entry. Empty where the request has no signatures.
///
/// Integers of one size are one type, whatever their names and signs; an enumeration is an integer.
/// A buffer may be taken as void*, as vectors or structures of its elements, as integer vectors
/// that carry them, or as an unsigned 64-bit address; a buffer of integers may hold the bits of a
/// half, bfloat16 or 8-bit float. A structure whose members are unknown is judged by its size.
std::string signature_assertions(const CompileRequest& request);

/// What a compiler said of a program that contains signature_assertions().
struct SignatureLog {
  std::vector<std::string> faults;   ///< One for each assertion that does not hold, with its place.
  bool has_other_errors = false;     ///< Of the source itself.
  bool is_about_assertions = false;  ///< Some error lies in the assertions, whether a fault or not.
};

/// Read the errors of NVRTC, g++ or clang++.
SignatureLog read_signature_log(const CompileRequest& request, const std::string& log);

/// The failure `compile/signature` where there are faults and the source has no other errors.
std::optional<Failure> signature_failure(const SignatureLog& log);

/// The same request with nothing asserted of it.
CompileRequest without_signatures(const CompileRequest& request);

}  // namespace smemtune
