#pragma once

#include "tuner/core/result.h"
#include "tuner/engine/module.h"
#include "tuner/engine/static_reject.h"
#include "tuner/engine/variant.h"
#include "tuner/search/strategy.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A configuration that the strategy asked for and has not been told of yet.
struct InFlight {
  Candidate candidate;
  std::uint64_t place = 0;  ///< In the order asked.
  Result result = {};
  std::optional<Variant> variant = std::nullopt;
  std::vector<std::uint64_t> numbers = {};  ///< Of what the compile queue was asked for...
  std::size_t not_compiled = 0;             ///< ... and how many of them are not ready.
  std::vector<Module> modules = {};         ///< Once it is compiled.
  std::string identity = {};                ///< Once it is compiled.
  StaticLimits limits = {};                 ///< From what had been told when it was asked.
  bool hopeless = false;                    ///< It is beyond those limits.
  bool in_full = false;                     ///< However far it is behind.
  bool known = false;
  bool on_device = false;
  bool done = false;
  bool shared = false;  ///< Measured with another of the same identity.
  std::string output_class = {};
  bool saved = false;  ///< Its result is in the log.
  bool begun = false;  ///< The log knows that it is about to touch a device.
  int lost_hosts = 0;  ///< That were measuring it.
};

}  // namespace smemtune
