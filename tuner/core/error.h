#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace smemtune {

/// Something is wrong with the machine or with what the user gave. A configuration that fails is no
/// Error but data: see outcome.h.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file or an option is wrong. Exit status 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The reference kernel does not compile, launch or compute what it should, so that nothing can be
/// compared with it. The message has its log. Exit status 3.
class ReferenceError : public InputError {
 public:
  using InputError::InputError;
};

/// What was asked for is wanted no more: the time is up, or a signal came. No fault of anything.
class Cancelled : public Error {
 public:
  using Error::Error;
};

/// The results database cannot be used: locked, corrupt, newer, not ours. Exit status 4.
class StoreError : public Error {
 public:
  using Error::Error;
  StoreError(const std::filesystem::path& file, const std::string& why)
      : Error(file.string() + ": " + why) {}
};

/// A GPU, driver, NVRTC or host compiler that was asked for is missing or broken. Exit status 5.
class UnavailableError : public Error {
 public:
  using Error::Error;
};

}  // namespace smemtune
