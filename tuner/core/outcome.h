#pragma once

#include <string>
#include <utility>
#include <variant>

namespace smemtune {

/// What became of a configuration. The enumerators are the words of the T4 format and are stored as
/// text: never rename one.
enum class Status {
  correct,
  fits,  ///< Compiled and within the limits; never launched, and never stored.
  constraints,
  compile,
  runtime,
  correctness,
  timeout
};

std::string to_text(Status status);

/// Throws InputError for a word that is not a stored status.
Status parse_status(const std::string& word);

/// What a kernel's results were compared with. The words are stored: never rename one.
enum class ComparedWith {
  unknown,  ///< Stored before this was known.
  definition,
  expected_file,
  another_kernel,
  only_itself,  ///< Its own default configuration: nothing says that this one is right.
};

std::string to_text(ComparedWith compared_with);
ComparedWith parse_compared_with(const std::string& word);  ///< Throws InputError.

/// Why a configuration is no candidate. Not an error of the machine, so not an exception.
struct Failure {
  Status status = Status::runtime;
  std::string
      reason;  ///< One stored word: `shared_bytes`, `registers`, `nan`, `overrun`, `crash`, ...
  std::string detail;  ///< For people, with the limit, the need and the allowance.
  /// The process that found it has lost its device context and must end (an illegal address, a
  /// trap).
  bool context_lost = false;

  bool operator==(const Failure&) const = default;
};

/// Either what was asked for or why this configuration cannot have it.
template <typename T>
class Outcome {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): so that functions return either plainly.
  Outcome(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Outcome(Failure failure) : content_(std::in_place_index<1>, std::move(failure)) {}

  explicit operator bool() const { return content_.index() == 0; }
  const T& operator*() const { return std::get<0>(content_); }
  T& operator*() { return std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }
  T* operator->() { return &std::get<0>(content_); }
  const Failure& failure() const { return std::get<1>(content_); }

 private:
  std::variant<T, Failure> content_;
};

}  // namespace smemtune
