#include "tuner/cli/device_sharing.h"

#include "reports/table.h"
#include "tuner/core/error.h"

#include <algorithm>
#include <ctime>
#include <thread>
#include <unistd.h>
#include <utility>

namespace smemtune::cli {
namespace {

constexpr auto kLockInterval = std::chrono::milliseconds(200);

// Longer than the interval over which a GPU's load is averaged.
constexpr auto kBusyInterval = std::chrono::milliseconds(1500);

// A desktop or a monitor causes a smaller load.
constexpr int kBusyPercent = 10;

std::string warning(const Device& device, const std::string& what) {
  return "*** " + device_text(device) + " is shared, which disturbs the measurements: " + what;
}

std::string processes_text(const std::vector<DeviceProcess>& processes) {
  std::string text;
  for (const DeviceProcess& process : processes) {
    text += (text.empty() ? "process " : ", process ") + std::to_string(process.id);
    if (process.memory_bytes) {
      text += " (" + format_bytes(static_cast<double>(*process.memory_bytes)) + ")";
    }
  }
  return text;
}

bool contains(const std::vector<DeviceProcess>& processes, pid_t id) {
  return std::ranges::find(processes, id, &DeviceProcess::id) != processes.end();
}

}  // namespace

std::string device_text(const Device& device) {
  if (device.kind == DeviceKind::cpu) return "the CPU device";
  return device.name + " (" + device.uuid + ")";
}

std::vector<DeviceLock> lock_devices(std::vector<Device> devices, const std::string& purpose,
                                     bool wait, const std::atomic<bool>& stop,
                                     const std::function<void(const std::string&)>& say) {
  // All processes use the same order, so that no two of them wait for each other.
  std::ranges::sort(devices, {}, lock_name);
  const LockHolder self = {.process_id = getpid(), .purpose = purpose, .since = std::time(nullptr)};
  std::vector<DeviceLock> locks;
  for (const Device& device : devices) {
    DeviceLock& lock = locks.emplace_back(lock_folder(), lock_name(device));
    std::string said;
    while (!lock.try_lock(self)) {
      if (stop) return locks;
      const auto holder = lock.holder();
      const std::string who = device_text(device) + " is in use by another smemtune" +
                              (holder ? ": " + to_text(*holder) : "");
      if (!wait) throw UnavailableError(who + " (without --no-wait, this run would wait)");
      if (who != said) say("waiting: " + who);
      said = who;
      std::this_thread::sleep_for(kLockInterval);
    }
  }
  return locks;
}

std::string OtherProcesses::before_run(const Device& device, const DeviceUse& use) {
  before_ = use.processes;
  if (!use.processes.empty()) return warning(device, processes_text(use.processes));
  if (use.busy_percent.value_or(0) < kBusyPercent) return "";
  return warning(device, "busy for " + std::to_string(*use.busy_percent) +
                             " % of the time with work that cannot be seen from here");
}

std::string OtherProcesses::during_run(const Device& device, const DeviceUse& use,
                                       const std::vector<pid_t>& ours) const {
  std::vector<DeviceProcess> others = use.processes;
  std::erase_if(others, [&](const DeviceProcess& process) {
    return std::ranges::find(ours, process.id) != ours.end();
  });
  if (others.size() == use.processes.size()) {
    const auto ours_by_another_id = std::ranges::find_if(
        others, [&](const DeviceProcess& process) { return !contains(before_, process.id); });
    if (ours_by_another_id != others.end()) others.erase(ours_by_another_id);
  }
  return others.empty() ? "" : warning(device, processes_text(others));
}

void StartupCheck::look(const Device& device, const DeviceUse& use) {
  const std::string text = others_[device.uuid].before_run(device, use);
  if (!text.empty()) say_(text);
}

StartupCheck::StartupCheck(const std::vector<Device>& devices, Use use, Say say,
                           Clock::time_point now)
    : use_(std::move(use)), say_(std::move(say)), again_at_(now + kBusyInterval) {
  for (const Device& device : devices) {
    DeviceUse found = use_(device);
    if (found.processes.empty() && found.busy_percent.value_or(0) >= kBusyPercent) {
      loaded_.push_back(device);
      found.busy_percent.reset();
    }
    look(device, found);
  }
}

bool StartupCheck::done(Clock::time_point now) {
  if (loaded_.empty()) return true;
  if (now < again_at_) return false;
  for (const Device& device : std::exchange(loaded_, {})) {
    // One of the processes is our worker by now, which has not been given work.
    look(device, {.processes = {}, .busy_percent = use_(device).busy_percent});
  }
  return true;
}

std::string StartupCheck::during_run(const Device& device, const std::vector<pid_t>& ours) {
  return others_[device.uuid].during_run(device, use_(device), ours);
}

}  // namespace smemtune::cli
