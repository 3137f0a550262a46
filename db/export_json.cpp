#include "db/export_json.h"

#include "db/device_model.h"
#include "db/export_order.h"
#include "db/json_values.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace smemtune::db {

namespace {

// Members stay in the order in which they are written here.
using nlohmann::ordered_json;

ordered_json dimensions(const Dim3& dimensions) {
  return ordered_json::array({dimensions[0], dimensions[1], dimensions[2]});
}

ordered_json utc(double unix_seconds) {
  const std::string text = utc_text(unix_seconds);
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json device(const Device& device) {
  ordered_json object = {{"kind", device.kind == DeviceKind::gpu ? "gpu" : "cpu"},
                         {"name", device.name},
                         {"model", device_model_key(device)},
                         {"uuid", device.uuid},
                         {"architecture", device.architecture},
                         {"compute_capability", std::to_string(device.compute_major) + "." +
                                                    std::to_string(device.compute_minor)},
                         {"sm_count", device.sm_count},
                         {"max_threads_per_sm", device.max_threads_per_sm},
                         {"registers_per_sm", device.registers_per_sm},
                         {"shared_bytes_per_block", device.shared_bytes_per_block},
                         {"max_shared_bytes_per_block", device.max_shared_bytes_per_block},
                         {"shared_bytes_per_sm", device.shared_bytes_per_sm},
                         {"l2_bytes", device.l2_bytes},
                         {"memory_bytes", device.memory_bytes},
                         {"memory_bus_bits", device.memory_bus_bits},
                         {"ecc", device.ecc}};
  if (!device.limits_of.empty()) object["limits_of"] = device.limits_of;
  return object;
}

ordered_json launch(const LaunchResult& launch) {
  const LaunchShape& shape = launch.shape;
  const Resources& resources = launch.resources;
  const Occupancy& occupancy = launch.occupancy;
  return {{"entry", shape.name_expression},
          {"grid", dimensions(shape.grid)},
          {"block", dimensions(shape.block)},
          {"dynamic_shared_bytes", shape.dynamic_shared_bytes},
          {"arguments", shape.arguments},
          {"resources",
           {{"registers_per_thread", resources.registers_per_thread},
            {"static_shared_bytes", resources.static_shared_bytes},
            {"stack_bytes", resources.stack_bytes},
            {"spill_store_bytes", resources.spill_store_bytes},
            {"spill_load_bytes", resources.spill_load_bytes},
            {"constant_bytes", resources.constant_bytes},
            {"barriers", resources.barriers},
            {"wgmma_serialized", resources.wgmma_serialized}}},
          {"occupancy",
           {{"percent", json_number(occupancy.percent)},
            {"blocks_per_sm", occupancy.blocks_per_sm},
            {"warps_per_sm", occupancy.warps_per_sm},
            {"limiters", occupancy.limiters()}}}};
}

ordered_json time(const Result& result) {
  const Measurement& measured = result.measurement;
  return {{"median_ms", json_number(measured.median_ms)},
          {"median_low_ms", json_number(measured.median_low_ms)},
          {"median_high_ms", json_number(measured.median_high_ms)},
          {"min_ms", json_number(measured.min_ms)},
          {"q1_ms", json_number(measured.q1_ms)},
          {"q3_ms", json_number(measured.q3_ms)},
          {"max_ms", json_number(measured.max_ms)},
          {"mean_ms", json_number(measured.mean_ms)},
          {"samples", measured.samples_ms.size()},
          {"launches_per_sample", measured.launches_per_sample},
          {"discarded", measured.discarded},
          {"sm_clock_mhz", json_number(measured.sm_clock_mhz)},
          {"throttled", measured.throttled},
          {"stage", to_text(result.stage)}};
}

/// Work per time of the metrics that have a usual unit.
ordered_json throughput(const Result& result) {
  ordered_json object = ordered_json::object();
  const auto add = [&](const char* metric, const char* name) {
    if (result.metrics.contains(metric)) object[name] = json_number(giga_per_s(result, metric));
  };
  add("flops", "gflop_per_s");
  add("bytes", "gb_per_s");
  return object;
}

ordered_json metrics(const Result& result) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, work] : result.metrics) object[name] = json_number(work);
  return object;
}

ordered_json entry(const StoredResult& stored) {
  const Result& result = stored.result;
  ordered_json launches = ordered_json::array();
  for (const LaunchResult& one : result.launches) launches.push_back(launch(one));
  return {{"space", stored.space},
          {"kernel", result.kernel},
          {"problem", json_bindings(result.problem)},
          {"device", device(stored.device)},
          {"parameters", json_bindings(result.configuration)},
          {"is_default", result.is_default},
          {"is_reference", result.is_reference},
          {"launches", std::move(launches)},
          {"time", time(result)},
          {"metrics", metrics(result)},
          {"throughput", throughput(result)},
          {"verification",
           {{"verified", true},
            {"max_absolute_error", json_number(result.max_absolute_error)},
            {"max_relative_error", json_number(result.max_relative_error)}}},
          {"provenance",
           {{"kernel_hash", stored.kernel_hash},
            {"stale", stored.stale},
            {"cubin_sha256", result.cubin_sha256},
            {"compile_ms", json_number(result.compile_ms)},
            {"driver", stored.device.driver_version},
            {"runtime", stored.device.runtime_version},
            {"compiler", stored.compiler},
            {"tool_version", stored.tool_version},
            {"host", stored.host},
            {"run", stored.run_id},
            {"measured_utc", utc(stored.at_unix)}}}};
}

[[noreturn]] void cannot_write(const std::filesystem::path& file, const std::string& why) {
  throw InputError(file.string() + ": cannot be written: " + why);
}

/// Closes and removes a temporary file unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) {
    // Its own name per process; O_EXCL skips what a dead process of the same id left behind.
    for (int number = 0; descriptor_ < 0; ++number) {
      std::string name = target.string();
      name.append(".").append(std::to_string(getpid()));
      name.append("-").append(std::to_string(number)).append(".tmp");
      path_ = name;
      descriptor_ = open(path_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0644);
      if (descriptor_ < 0 && (errno != EEXIST || number == 100)) {
        cannot_write(target, std::strerror(errno));
      }
    }
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!renamed_) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  int descriptor() const { return descriptor_; }

  void rename_to(const std::filesystem::path& target) {
    const int closed = close(std::exchange(descriptor_, -1));
    if (closed != 0) cannot_write(target, std::strerror(errno));
    if (rename(path_.c_str(), target.c_str()) != 0) cannot_write(target, std::strerror(errno));
    renamed_ = true;
  }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

void write_all(int descriptor, const std::string& text, const std::filesystem::path& file) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(descriptor, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_write(file, std::strerror(errno));
    written += static_cast<std::size_t>(count);
  }
}

/// What is at the place; nullopt: nothing. Throws InputError where a file cannot take it.
std::optional<struct stat> replaceable(const std::filesystem::path& file) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return std::nullopt;
  if (S_ISDIR(found.st_mode)) cannot_write(file, "it is a folder");
  if (!S_ISREG(found.st_mode)) cannot_write(file, "it is not a regular file");
  return found;
}

/// So that the new name survives a loss of power.
void sync_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);  // Some file systems cannot; the file itself is safe.
  close(descriptor);
}

}  // namespace

std::string export_json(const std::vector<StoredResult>& best,
                        const std::vector<KernelDefaults>& defaults) {
  ordered_json entries = ordered_json::array();
  for (const StoredResult* stored : in_export_order(best)) entries.push_back(entry(*stored));
  ordered_json default_entries = ordered_json::array();
  for (const KernelDefaults& one : in_export_order(defaults)) {
    default_entries.push_back({{"space", one.space},
                               {"kernel", one.kernel},
                               {"parameters", json_bindings(one.configuration)}});
  }
  const ordered_json document = {{"format", "smemtune-best"},
                                 {"version", 1},
                                 {"best", std::move(entries)},
                                 {"defaults", std::move(default_entries)}};
  // Stored text may come from anywhere: what is no UTF-8 becomes U+FFFD.
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void write_whole_file(const std::filesystem::path& file, const std::string& text) {
  if (file == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
      cannot_write("standard output", std::strerror(errno));
    }
    return;
  }
  const auto found = replaceable(file);
  TemporaryFile temporary(file);
  struct stat made {};
  // What the umask left of 0644; for its owner only until it is whole.
  if (fstat(temporary.descriptor(), &made) != 0 || fchmod(temporary.descriptor(), 0600) != 0) {
    cannot_write(file, std::strerror(errno));
  }
  write_all(temporary.descriptor(), text, file);
  const mode_t mode = (found ? found->st_mode : made.st_mode) & 0777;
  if (fchmod(temporary.descriptor(), mode) != 0 || fsync(temporary.descriptor()) != 0) {
    cannot_write(file, std::strerror(errno));
  }
  temporary.rename_to(file);
  sync_folder(file);
}

void check_writable(const std::filesystem::path& file) {
  if (file == "-") return;
  replaceable(file);
  const TemporaryFile temporary(file);
}

}  // namespace smemtune::db
