#include "tuner/cli/hosts.h"

#include "db/rows.h"
#include "reports/table.h"
#include "tuner/cli/options.h"
#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/core/text.h"
#include "tuner/engine/host_agent.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <unistd.h>

namespace smemtune::cli {
namespace {

constexpr double kLook_s = 0.2;
constexpr double kSilence_s = 8;
constexpr const char* kSilenceVariable = "SMEMTUNE_HOST_SILENCE";

double silence_s() {
  const char* const text = environment(kSilenceVariable);
  return text == nullptr ? kSilence_s : parse_number(kSilenceVariable, text, 0.1, 3600);
}

/// Returns the lines that a program prints.
std::vector<std::string> lines_of(const char* command) {
  std::FILE* const pipe = popen(command, "re");
  if (pipe == nullptr) throw UnavailableError(std::string(command) + ": cannot be started");
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), size);
  }
  if (pclose(pipe) != 0) throw UnavailableError(std::string(command) + ": failed");
  std::vector<std::string> lines;
  for (std::string& line : CLI::detail::split(text, '\n')) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> slurm_nodes() {
  if (environment("SLURM_JOB_ID") == nullptr || environment("SLURM_JOB_NODELIST") == nullptr) {
    throw InputError(
        "--hosts slurm: this is not a Slurm allocation (SLURM_JOB_ID and SLURM_JOB_NODELIST are "
        "not set); run it in sbatch or salloc");
  }
  return lines_of("scontrol show hostnames \"$SLURM_JOB_NODELIST\"");
}

std::vector<std::string> listed_hosts(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string& name : CLI::detail::split(list, ',')) {
    const bool is_name = !name.empty() && name.front() != '-' &&
                         name.find_first_of(" \t\n'\"\\$`;&|<>()") == std::string::npos;
    if (!is_name)
      throw InputError("--hosts: " + quote(name) + " in " + quote(list) + " is not a host name");
    if (std::ranges::find(names, name) != names.end()) {
      throw InputError("--hosts: " + quote(list) + " names " + name + " twice");
    }
    names.push_back(name);
  }
  return names;
}

/// Returns the command of the agent on a host.
std::vector<std::string> agent(const std::string& program) {
  std::array<char, 32> silence{};
  std::snprintf(silence.data(), silence.size(), "%g", silence_s());
  return {program, "__host", silence.data()};
}

std::vector<std::string> by_slurm(const std::string& node, const std::string& program) {
  // Runs in parallel to other steps, with all resources of the job on the node.
  std::vector<std::string> words = {
      "srun",       "--overlap",    "--nodes=1", "--ntasks=1",         "--cpu-bind=none",
      "--mpi=none", "--unbuffered", "--quiet",   "--nodelist=" + node, "--job-name=smemtune"};
  words.push_back("--jobid=" + std::string(environment("SLURM_JOB_ID")));
  for (const std::string& word : agent(program)) words.push_back(word);
  return words;
}

std::vector<std::string> by_ssh(const std::string& host, const std::string& program) {
  if (host == "localhost") return agent(executable());
  return {"ssh", "-T", "-o", "BatchMode=yes", host, shell_command(agent(program))};
}

/// Returns the greetings of the connected hosts.
std::vector<const HostHello*> hellos_of(const Hosts& hosts) {
  std::vector<const HostHello*> hellos;
  for (const auto& host : hosts) {
    if (host->hello()) hellos.push_back(&*host->hello());
  }
  return hellos;
}

const CompilerHello* compiler_of(const HostHello& hello, const std::string& backend) {
  const auto found = hello.compilers.find(backend);
  return found == hello.compilers.end() ? nullptr : &found->second;
}

/// Returns a host with the most common compiler; nullptr if no host has one.
const HostHello* usual_host(const Hosts& hosts, const std::string& backend) {
  std::map<std::string, int> counts;
  const HostHello* usual = nullptr;
  for (const HostHello* const hello : hellos_of(hosts)) {
    if (const auto* const its = compiler_of(*hello, backend)) ++counts[its->sha256];
  }
  for (const HostHello* const hello : hellos_of(hosts)) {
    const auto* const its = compiler_of(*hello, backend);
    if (its == nullptr) continue;
    const bool is_more =
        usual == nullptr || counts[its->sha256] > counts[compiler_of(*usual, backend)->sha256];
    if (is_more) usual = hello;
  }
  return usual;
}

/// Returns the devices of a host that can be tuned: its GPUs and its cores.
std::vector<Device> devices_in(const HostHello& hello) {
  std::vector<Device> devices = hello.gpus;
  devices.push_back(hello.cpu);
  return devices;
}

bool has(const HostHello& hello, const Device& device) {
  const std::vector<Device> its = devices_in(hello);
  return std::ranges::find(its, device.uuid, &Device::uuid) != its.end();
}

std::string hello_text(const HostHello& hello) {
  std::string text = counted(hello.cores, "core");
  std::map<std::string, std::size_t> models;
  for (const Device& gpu : hello.gpus) ++models[gpu.name];
  for (const auto& [name, count] : models) text += ", " + std::to_string(count) + " x " + name;
  const auto* const cuda = compiler_of(hello, "cuda");
  if (cuda != nullptr) text += ", " + cuda->version;
  return text + (hello.why_no_gpu.empty() ? "" : "; " + hello.why_no_gpu);
}

/// Properties that workers for units of one model share on all hosts.
struct ModelOnHosts {
  DeviceChoice choice;
  std::string backend;
  std::string model;
  CompilerHello compiler;
  std::size_t share = 1;  ///< Number of models that are tuned at once.
};

/// Sets a host's share of the compiling. Returns why it has none, or an empty text.
std::string take_compilers(const ModelOnHosts& tuned, const HostHello& hello, int& workers,
                           std::uint64_t& address_space) {
  const auto* const its = compiler_of(hello, tuned.backend);
  if (its == nullptr) {
    const auto why = hello.lacking.find(tuned.backend);
    return "it compiles nothing: " + (why == hello.lacking.end() ? "no compiler" : why->second);
  }
  if (its->sha256 != tuned.compiler.sha256) {
    return "it compiles nothing: it has " + its->version + ", not the build that most hosts have";
  }
  const std::uint64_t asked = tuned.choice.compile_workers;
  const std::uint64_t cores = asked > 0 ? asked : hello.cores;
  workers = static_cast<int>(std::max<std::uint64_t>(1, cores / tuned.share));
  address_space =
      compile_address_space(workers * static_cast<int>(tuned.share), hello.memory_bytes);
  return "";
}

/// Returns the commands of device workers. A host that does not compile uses its own NVRTC, if any.
std::vector<std::vector<std::string>> device_commands(const ModelOnHosts& tuned,
                                                      const HostHello& hello,
                                                      const std::vector<Device>& devices) {
  if (devices.empty()) return {};
  DeviceChoice choice = tuned.choice;
  if (compiler_of(hello, tuned.backend) == nullptr) choice.nvrtc.clear();
  return workers_for(choice, devices).devices;
}

/// Returns what a host contributes that joins while others are at work.
HostJoin joining(const ModelOnHosts& tuned, const HostHello& hello,
                 const std::function<void(const Device&)>& meet) {
  HostJoin join = {.note = hello_text(hello)};
  const std::string why_not =
      take_compilers(tuned, hello, join.compile_workers, join.compile_address_space);
  if (!why_not.empty()) join.note += "; " + why_not;
  std::vector<Device> devices;
  if (tuned.choice.device != "cpu") devices = hello.gpus;
  if (tuned.backend == "cpu") devices.push_back(hello.cpu);
  for (const Device& device : devices) {
    if (db::device_model_key(device) == tuned.model) {
      join.known_devices.push_back(device);
    } else {
      join.note += "; its " + device.name + " is another model, which is tuned separately";
      meet(device);
    }
  }
  join.devices = device_commands(tuned, hello, join.known_devices);
  return join;
}

}  // namespace

std::vector<HostAddress> host_addresses(const DeviceChoice& choice, const HostWelcome& welcome) {
  const bool by_queue = choice.hosts == "slurm";
  const std::string program =
      choice.host_program.empty() ? executable().string() : choice.host_program;
  std::vector<HostAddress> addresses;
  for (const std::string& name : by_queue ? slurm_nodes() : listed_hosts(choice.hosts)) {
    HostAddress address = {.name = name,
                           .carrier = by_queue ? by_slurm(name, program) : by_ssh(name, program),
                           .version = SMEMTUNE_VERSION,
                           .silence_s = silence_s(),
                           .welcome = welcome};
    address.welcome.name = name;
    addresses.push_back(std::move(address));
  }
  return addresses;
}

Hosts connect_hosts(const std::vector<HostAddress>& addresses, const std::atomic<bool>& stop,
                    const std::function<void(const std::string&)>& say) {
  Hosts called;
  for (const HostAddress& address : addresses) {
    called.push_back(std::make_shared<RemoteHost>(address));
  }
  Hosts used;
  std::string why_not;
  while (!called.empty() && !stop) {
    std::vector<WorkerHost*> hosts;
    for (const auto& host : called) hosts.push_back(host.get());
    const std::vector<std::vector<HostEvent>> told = take_from(hosts, in_seconds(kLook_s));
    Hosts asked;
    for (std::size_t i = 0; i < called.size(); ++i) {
      const std::vector<HostEvent>& events = told[i];
      if (events.empty()) {
        asked.push_back(called[i]);
      } else if (events.front().kind == HostEvent::Kind::up) {
        say(called[i]->name() + ": " + hello_text(*called[i]->hello()));
        used.push_back(called[i]);
      } else {
        why_not = called[i]->name() + ": " + events.front().text;
        const bool is_refused = called[i]->is_given_up();
        say("*** going on without " + why_not + (is_refused ? "" : "; it is tried again"));
        if (!is_refused) used.push_back(called[i]);
      }
    }
    called = std::move(asked);
  }
  if (hellos_of(used).empty() && !stop) throw UnavailableError("no host can be used: " + why_not);
  // Restores the order in which the hosts were named.
  const auto place = [&](const std::shared_ptr<RemoteHost>& host) {
    return std::ranges::find(addresses, host->name(), &HostAddress::name) - addresses.begin();
  };
  std::ranges::sort(used, {}, place);
  return used;
}

ChosenDevices choose_devices(const DeviceChoice& choice, const Hosts& hosts) {
  std::vector<Device> gpus;
  std::vector<Device> cpus;
  for (const HostHello* const hello : hellos_of(hosts)) {
    gpus.insert(gpus.end(), hello->gpus.begin(), hello->gpus.end());
    cpus.push_back(hello->cpu);
  }
  if (choice.device == "cpu") return {.devices = cpus, .notice = {}};
  if (!gpus.empty()) return {.devices = gpus, .notice = {}};
  for (const auto& host : hosts) {
    if (!host->hello() || host->hello()->why_no_gpu.empty()) continue;
    throw UnavailableError("no host has a GPU that can be used: " + host->name() + ": " +
                           host->hello()->why_no_gpu + "; --device cpu tunes on their cores");
  }
  return {.devices = cpus,
          .notice = "*** No host has an NVIDIA GPU: tuning on their cores, with the limits of " +
                    cpus.front().limits_of +
                    ".\n*** Their times say nothing about a GPU; correctness does."};
}

std::vector<Device> devices_of(const Hosts& hosts, const std::string& model) {
  std::vector<Device> devices;
  for (const HostHello* const hello : hellos_of(hosts)) {
    for (const Device& device : devices_in(*hello)) {
      if (db::device_model_key(device) == model) devices.push_back(device);
    }
  }
  return devices;
}

std::vector<std::int64_t> nvrtc_versions(const DeviceChoice& choice, const Hosts& hosts) {
  if (choice.nvrtc.empty()) return {};
  const HostHello* const usual = usual_host(hosts, "cuda");
  if (usual == nullptr) {
    const HostHello& first = *hellos_of(hosts).front();
    const auto why = first.lacking.find("cuda");
    throw UnavailableError("--nvrtc: no host has the NVRTC that is named" +
                           (why == first.lacking.end() ? "" : ": " + why->second));
  }
  return usual->nvrtc_versions;
}

WorkerCommand workers_for(const DeviceChoice& choice, const Hosts& hosts,
                          std::span<const Device> devices, std::size_t share,
                          const std::function<void(const std::string&)>& say,
                          const std::function<void(const Device&)>& meet) {
  ModelOnHosts tuned = {.choice = choice,
                        .backend = devices.front().kind == DeviceKind::cpu ? "cpu" : "cuda",
                        .model = db::device_model_key(devices.front()),
                        .compiler = {},
                        .share = share};
  const HostHello* const usual = usual_host(hosts, tuned.backend);
  if (usual == nullptr) {
    throw UnavailableError("no host has a compiler for " + devices.front().name);
  }
  tuned.compiler = *compiler_of(*usual, tuned.backend);
  WorkerCommand command = workers_for(choice, devices);
  command.device_hosts.resize(devices.size());
  for (const auto& host : hosts) {
    HostShare its = {.name = host->name(), .host = host};
    if (host->hello()) {
      const HostHello& hello = *host->hello();
      const std::string why_not =
          take_compilers(tuned, hello, its.compile_workers, its.compile_address_space);
      if (!why_not.empty()) say("*** " + host->name() + ": " + why_not);
      for (std::size_t unit = 0; unit < devices.size(); ++unit) {
        if (!has(hello, devices[unit])) continue;
        command.device_hosts[unit] = command.hosts.size();
        command.devices[unit] = device_commands(tuned, hello, {devices[unit]}).front();
      }
    } else {
      its.join = [tuned, meet, far = host.get()] { return joining(tuned, *far->hello(), meet); };
    }
    command.hosts.push_back(std::move(its));
  }
  return command;
}

std::string names_of(const Hosts& hosts) {
  std::string names;
  for (const auto& host : hosts) {
    if (host->hello()) names += (names.empty() ? "" : ",") + host->name();
  }
  return names;
}

int run_host_agent(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) {
    throw InputError("__host is how smemtune is started on other hosts, not a command");
  }
  // Reserves the original output for the parent.
  const int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (in < 0 || out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw UnavailableError("no file descriptor is left");
  }
  const TemporaryFolder files;
  return host_agent_main(SMEMTUNE_VERSION, parse_number("__host", arguments.front(), 0.1, 3600),
                         describe_host, files.path(), in, out);
}

}  // namespace smemtune::cli
