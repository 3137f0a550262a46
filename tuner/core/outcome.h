#pragma once

#include <string>
#include <utility>
#include <variant>

namespace smemtune {

/// The outcome of a configuration. The enumerators are the words of the T4 format and are stored as
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

/// Parses a stored status. Throws InputError for any other word.
Status parse_status(const std::string& word);

/// The reference that a kernel's results were compared with. The words are stored: never rename
/// one.
enum class ComparedWith {
  unknown,  ///< Stored by a version that did not record it.
  definition,
  expected_file,
  another_kernel,
  only_itself,  ///< The kernel's own default configuration, which need not be right.
};

std::string to_text(ComparedWith compared_with);
ComparedWith parse_compared_with(const std::string& word);  ///< Throws InputError.

/// Why a configuration is not a candidate. This is not an error of the machine, so not an
/// exception.
struct Failure {
  Status status = Status::runtime;
  /// One stored word: `shared_bytes`, `registers`, `nan`, `overrun`, `crash`, ...
  std::string reason;
  std::string detail;  ///< Text for people, with the limit, the need and the allowance.
  /// True if the process that found the failure has lost its device context and must end (after an
  /// illegal address or a trap).
  bool context_lost = false;

  bool operator==(const Failure&) const = default;
};

/// Either a value, or the reason why a configuration cannot have it.
template <typename T>
class Outcome {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): functions return either of them directly.
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
