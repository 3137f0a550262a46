#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace smemtune {

/// An error of the machine or in what the user gave. A configuration that fails is not an Error but
/// data: see outcome.h.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A wrong file or option. Exit status 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The reference kernel does not compile, launch or compute what it should, so that nothing can be
/// compared with it. The message contains its log. Exit status 3.
class ReferenceError : public InputError {
 public:
  using InputError::InputError;
};

/// The work is no longer wanted: the time is up, or a signal came. Nothing is at fault.
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
