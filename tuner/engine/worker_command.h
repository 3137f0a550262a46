#pragma once

#include "tuner/core/device.h"
#include "tuner/engine/worker_host.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace smemtune {

/// The workers of a host that was away when the others began.
struct HostJoin {
  int compile_workers = 0;
  std::uint64_t compile_address_space = 0;
  std::vector<std::vector<std::string>> devices = {};  ///< See WorkerCommand; of the same model.
  std::vector<Device> known_devices = {};
  std::string note = {};  ///< For people: what the host has, and what of that is used.
};

/// A host and its number of compile workers.
struct HostShare {
  std::string name;  ///< For people; empty: this machine.
  std::shared_ptr<WorkerHost> host;
  int compile_workers = 0;
  std::uint64_t compile_address_space = 0;  ///< See WorkerCommand.
  /// For a host that is away at first: called once when it is there.
  std::function<HostJoin()> join = {};
};

/// How to start the worker processes: this executable again, with these arguments.
struct WorkerCommand {
  std::vector<std::string> compile;  ///< Command line of a compile worker; [0] is the executable's
                                     ///< path.
  /// Command lines of the device workers, one for each unit, all of one model; empty when none is
  /// needed.
  std::vector<std::vector<std::string>> devices;
  /// The devices of these workers, if known: compiling then begins before the workers have greeted.
  /// Empty: wait for their greetings.
  std::vector<Device> known_devices = {};
  /// Hosts of the workers; empty: this machine.
  std::vector<HostShare> hosts = {};
  std::vector<std::size_t> device_hosts = {};  ///< For each device, the index of its host in
                                               ///< `hosts`.
  int compile_workers = 1;                     ///< When there are no `hosts`.
  /// Address space of a compile worker, in bytes; 0: no limit, as for sanitizer builds, which
  /// reserve terabytes.
  std::uint64_t compile_address_space = 0;
  double compile_timeout_s = 120;  ///< A compile worker is killed when one compile takes longer.
  double hello_timeout_s = 60;     ///< For a device worker's start: driver, context.
};

}  // namespace smemtune
