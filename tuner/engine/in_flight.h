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

/// A configuration that the strategy has asked for and whose result it has not been told yet.
struct InFlight {
  Candidate candidate;
  std::uint64_t place = 0;  ///< Position in the order asked.
  Result result = {};
  std::optional<Variant> variant = std::nullopt;
  std::vector<std::uint64_t> numbers = {};  ///< Numbers in the compile queue.
  std::size_t not_compiled = 0;             ///< How many of `numbers` are not ready.
  std::vector<Module> modules = {};         ///< Set once it is compiled.
  std::string identity = {};                ///< Set once it is compiled.
  StaticLimits limits = {};                 ///< Limits from the results told when it was asked.
  bool hopeless = false;                    ///< True if it is beyond those limits.
  bool in_full = false;                     ///< True if it is to be measured in full, however slow
                                            ///< it is.
  bool known = false;
  bool on_device = false;
  bool done = false;
  bool shared = false;  ///< True if measured with another of the same identity.
  std::string output_class = {};
  bool saved = false;  ///< True if its result is in the log.
  bool begun = false;  ///< True if the log has recorded that it is about to use a device.
  int lost_hosts = 0;  ///< Number of hosts lost while measuring it.
};

}  // namespace smemtune
