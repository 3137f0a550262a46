#include "db/json_forms.h"
#include "reports/table.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/device.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {
namespace {

using db::Json;

struct DevicesOptions {
  /// List the published GPUs and those in the database instead of those in this machine.
  bool known = false;
  std::filesystem::path database;
  bool json = false;
};

std::string numbered_device(std::size_t number, const Device& device) {
  const auto bytes = [](std::int64_t count) { return format_bytes(static_cast<double>(count)); };
  std::string text = std::to_string(number) + "  " + device.name + "  " + device.architecture +
                     (device.uuid.empty() ? "" : "  " + device.uuid) + "\n";
  Table table({"", ""});
  table.add_row({"multiprocessors", std::to_string(device.sm_count)});
  table.add_row({"threads", std::to_string(device.max_threads_per_block) + " per block, " +
                                std::to_string(device.max_threads_per_sm) +
                                " per multiprocessor in at most " +
                                std::to_string(device.max_blocks_per_sm) + " blocks"});
  table.add_row({"shared memory", bytes(device.shared_bytes_per_block) + " per block, " +
                                      bytes(device.max_shared_bytes_per_block) + " with opt-in, " +
                                      bytes(device.shared_bytes_per_sm) + " per multiprocessor, " +
                                      bytes(device.reserved_shared_bytes_per_block) +
                                      " reserved per block"});
  table.add_row(
      {"registers", format_count(static_cast<std::uint64_t>(device.registers_per_block)) +
                        " per block, " +
                        format_count(static_cast<std::uint64_t>(device.registers_per_sm)) +
                        " per multiprocessor"});
  table.add_row({"constant memory", bytes(device.constant_bytes)});
  table.add_row({"L2 cache", bytes(device.l2_bytes)});
  table.add_row({"memory", bytes(device.memory_bytes)});
  if (!device.driver_version.empty()) {
    table.add_row({"driver", "CUDA " + device.driver_version});
  }
  return text + table.text("   ");
}

void add_devices_options(CLI::App& app, DevicesOptions& options) {
  app.add_flag("--known", options.known,
               "List the GPUs whose limits are known: published ones and those of stored runs");
  add_database(app, options.database);
  app.add_flag("--json", options.json, "Print as JSON");
}

/// Prints the devices and their limits. Throws UnavailableError if there is no GPU or driver.
int run_devices(const DevicesOptions& options) {
  std::vector<Device> devices = options.known ? published_devices() : present_gpus();
  const std::size_t published = devices.size();
  if (options.known) {
    const std::vector<Device> met = met_devices(options.database);
    devices.insert(devices.end(), met.begin(), met.end());
  }
  std::string text;
  if (options.json) {
    Json json = Json::array();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      json.push_back(db::device_json(devices[i]));
      if (options.known) json.back()["known_from"] = i < published ? "published" : "database";
    }
    write_document(db::document_text("smemtune-devices", 1, {{"devices", std::move(json)}}));
    return 0;
  }
  if (options.known) {
    Table table({"name", "arch", ">SMs", ">shared/block", ">shared/SM", ">threads/SM",
                 ">registers/SM", "=known from"});
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Device& device = devices[i];
      table.add_row({device.name, device.architecture, std::to_string(device.sm_count),
                     format_bytes(static_cast<double>(device.max_shared_bytes_per_block)),
                     format_bytes(static_cast<double>(device.shared_bytes_per_sm)),
                     std::to_string(device.max_threads_per_sm),
                     std::to_string(device.registers_per_sm),
                     i < published ? "published limits" : "a stored run"});
    }
    text = table.text();
  } else {
    for (std::size_t i = 0; i < devices.size(); ++i) text += numbered_device(i, devices[i]);
  }
  write_out(text);
  return 0;
}

}  // namespace

void add_devices_command(Commands& commands) {
  commands.add<DevicesOptions>("devices", "List the GPUs of this machine and their limits",
                               add_devices_options, run_devices);
}

}  // namespace smemtune::cli
