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

/// How the hosts of `--hosts` are reached. Throws InputError for names that are none, and where
/// `slurm` is asked for outside of an allocation.
std::vector<HostAddress> host_addresses(const DeviceChoice& choice, const HostWelcome& welcome);

/// Calls them all, and waits until each has said what it has or cannot be had, which is said
/// loudly. Those that are away may come later; only those that are refused are not returned, and
/// others when `stop` is set. Throws UnavailableError when none is there.
Hosts connect_hosts(const std::vector<HostAddress>& addresses, const std::atomic<bool>& stop,
                    const std::function<void(const std::string&)>& say);

/// The devices to tune on: the GPUs of all hosts, or their cores where no host has one or `--device
/// cpu` is given. Throws UnavailableError where there are GPUs and none can be used.
ChosenDevices choose_devices(const DeviceChoice& choice, const Hosts& hosts);

/// The devices of a model (db::device_model_key()) on these hosts.
std::vector<Device> devices_of(const Hosts& hosts, const std::string& model);

/// The versions of DeviceChoice::nvrtc on the hosts that compile. Throws UnavailableError when no
/// host has them all.
std::vector<std::int64_t> nvrtc_versions(const DeviceChoice& choice, const Hosts& hosts);

/// How the workers for units of one model are started: device workers where the units are, compile
/// workers on every host that has the compiler that most of them have. What a host that is away has
/// of both is taken in when it comes; `meet` is told of each device of another model that it has.
/// `share`: how many models are tuned at once and share the cores. REQUIRES: each of the devices is
/// on one of the hosts.
WorkerCommand workers_for(const DeviceChoice& choice, const Hosts& hosts,
                          std::span<const Device> devices, std::size_t share,
                          const std::function<void(const std::string&)>& say,
                          const std::function<void(const Device&)>& meet);

/// Of those that are there: `node1,node2`.
std::string names_of(const Hosts& hosts);

/// What runs on another host, called by its carrier: `smemtune __host SILENCE`. Returns the exit
/// status.
int run_host_agent(const std::vector<std::string>& arguments);

}  // namespace smemtune::cli
