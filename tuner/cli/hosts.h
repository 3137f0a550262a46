#pragma once

#include "tuner/cli/backends.h"
#include "tuner/engine/remote_host.h"

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cli {

using Hosts = std::vector<std::shared_ptr<RemoteHost>>;

/// Returns how to reach the hosts of `--hosts`. Throws InputError for invalid names, and for
/// `slurm` outside of an allocation.
std::vector<HostAddress> host_addresses(const DeviceChoice& choice, const HostWelcome& welcome);

/// Calls all hosts and waits until each has answered or cannot be reached; the latter is reported
/// prominently. Returns the hosts in the order of the addresses, including unreachable ones, which
/// may join later, but not those that were refused; fewer if `stop` is set. Throws UnavailableError
/// if no host has answered.
Hosts connect_hosts(const std::vector<HostAddress>& addresses, const std::atomic<bool>& stop,
                    const std::function<void(const std::string&)>& say);

/// Returns the devices to tune on: the GPUs of all hosts, or their cores if no host has a GPU or
/// `--device cpu` is given. Throws UnavailableError if there are GPUs but none can be used.
ChosenDevices choose_devices(const DeviceChoice& choice, const Hosts& hosts);

/// Returns the devices of a model (db::device_model_key()) on these hosts.
std::vector<Device> devices_of(const Hosts& hosts, const std::string& model);

/// Returns the versions of DeviceChoice::nvrtc on the hosts that compile. Throws UnavailableError
/// if no host has all of them.
std::vector<std::int64_t> nvrtc_versions(const DeviceChoice& choice, const Hosts& hosts);

/// Returns how to start the workers for units of one model: device workers where the units are,
/// compile workers on every host whose compiler is the one that most hosts have. When a host that
/// is away joins later, its devices and compilers are used, too; `meet` is called for each of its
/// devices of another model. `share`: the number of models that are tuned at once and share the
/// cores. REQUIRES: each device is on one of the hosts.
WorkerCommand workers_for(const DeviceChoice& choice, const Hosts& hosts,
                          std::span<const Device> devices, std::size_t share,
                          const std::function<void(const std::string&)>& say,
                          const std::function<void(const Device&)>& meet);

/// Returns the names of the connected hosts: `node1,node2`.
std::string names_of(const Hosts& hosts);

/// Runs the agent on another host, which is started through ssh or Slurm: `smemtune __host
/// SILENCE`. Returns the exit status.
int run_host_agent(const std::vector<std::string>& arguments);

}  // namespace smemtune::cli
