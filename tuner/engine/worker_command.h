#pragma once

#include "tuner/core/device.h"
#include "tuner/engine/worker_host.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace smemtune {

/// What a host has that was away when the others began.
struct HostJoin {
  int compile_workers = 0;
  std::uint64_t compile_address_space = 0;
  std::vector<std::vector<std::string>> devices = {};  ///< As in WorkerCommand, of the same model.
  std::vector<Device> known_devices = {};
  std::string note = {};  ///< For people: what it has, and what of that is used.
};

/// A host, and how many of the compile workers it has.
struct HostShare {
  std::string name;  ///< For people; empty: this machine.
  std::shared_ptr<WorkerHost> host;
  int compile_workers = 0;
  std::uint64_t compile_address_space = 0;  ///< As in WorkerCommand.
  /// Of a host that is away at first: asked once, when it is there.
  std::function<HostJoin()> join = {};
};

/// How worker processes are started: this executable again, with these words.
struct WorkerCommand {
  std::vector<std::string> compile;  ///< argv of a compile worker; [0] is the executable's path.
  /// argv of the device workers, each on a unit of its own, all of one model; empty: none is
  /// needed.
  std::vector<std::vector<std::string>> devices;
  /// What each of them runs on, where that is known: compiling begins before they have said so.
  /// Empty: their greetings are waited for.
  std::vector<Device> known_devices = {};
  /// Where they run; empty: on this machine.
  std::vector<HostShare> hosts = {};
  std::vector<std::size_t> device_hosts = {};  ///< Of each device, which of `hosts` it is on.
  int compile_workers = 1;                     ///< Where there are no `hosts`.
  /// Address space of a compile worker, in bytes; 0: no limit, as for sanitizer builds, which
  /// reserve terabytes.
  std::uint64_t compile_address_space = 0;
  double compile_timeout_s = 120;  ///< A compile worker is killed when one compile takes longer.
  double hello_timeout_s = 60;     ///< For a device worker's start: driver, context.
};

}  // namespace smemtune
