// Writes a database of a given number of results, to measure the cost of queries on large
// databases: 40 device models, 5 spaces of 5 kernels, 10 problems each, and as many configurations
// of five parameters as that takes. Every device tunes every space in one run: each configuration
// is screened, one of fifty fails, and the eight fastest of a kernel and problem are in finals.
//
//   smemtune_big_database FILE RESULTS

#include "db/columns.h"
#include "db/database_file.h"
#include "db/result_store.h"
#include "db/run_rows.h"
#include "db/sqlite.h"
#include "tuner/core/hash.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace smemtune;
using db::Statement;

constexpr std::int64_t kDevices = 40;
constexpr std::int64_t kSpaces = 5;
constexpr std::int64_t kKernels = 5;  // Number per space, as kProblems is.
constexpr std::int64_t kProblems = 10;
constexpr std::int64_t kFailsEvery = 50;
constexpr std::size_t kFinalists = 8;

Device planted_device(std::int64_t number) {
  Device device;
  device.name = "Planted GPU " + std::to_string(number);
  device.uuid = "GPU-" + std::to_string(number);
  device.architecture = "sm_90";
  device.compute_major = 9;
  device.sm_count = static_cast<int>(number);
  device.driver_version = "13.0";
  device.runtime_version = "13.0";
  return device;
}

Configuration planted_configuration(std::int64_t number) {
  return {{"DEPTH", 8 << number % 5},
          {"ITEMS", number / 625},
          {"TILE_X", 1 << number / 5 % 5},
          {"TILE_Y", 1 << number / 25 % 5},
          {"UNROLL", 1 + number / 125 % 5}};
}

/// Returns a number from 0 to 1, the same for the same arguments.
double random_of(std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto seed = static_cast<std::uint64_t>(a * 1'000'003 + b);
  return static_cast<double>(random_bits(seed, static_cast<std::uint64_t>(c)) >> 11) * 0x1p-53;
}

/// Returns a planted time. The cost of a parameter's value is partly common to all devices and
/// partly specific to the device.
double planted_ms(std::int64_t device, std::int64_t kernel, std::int64_t problem,
                  const Configuration& configuration) {
  double log_ms = 0.02 * static_cast<double>(device) + 0.3 * static_cast<double>(problem);
  std::int64_t parameter = kernel * 8;
  for (const auto& [name, value] : configuration) {
    const std::int64_t level = std::get<std::int64_t>(value);
    ++parameter;
    log_ms += 0.3 * random_of(parameter, level, 0) + 0.2 * random_of(parameter, level, device);
  }
  return std::exp(log_ms);
}

std::string insert_sql(const std::string& table, const std::vector<std::string>& names) {
  return "INSERT INTO " + table + " (" + joined(names, ", ") +
         ") VALUES (:" + joined(names, ", :") + ")";
}

class Writer {
 public:
  Writer(const db::Connection& connection, std::int64_t configurations)
      : connection_(connection),
        configurations_(configurations),
        kernel_(connection, insert_sql("kernel", {"id", "space_id", "name", "hash"})),
        current_(connection,
                 insert_sql("current_kernel", {"model_id", "space_id", "name", "kernel_id"})),
        problem_(connection, insert_sql("problem", {"id", "space_id", "key", "values_json"})),
        configuration_(connection, insert_sql("configuration", {"id", "space_id", "kernel_name",
                                                                "key", "values_json"})),
        result_(connection),
        best_(connection,
              insert_sql("best", {"model_id", "problem_id", "kernel_id", "configuration_id",
                                  "result_id", "run_id", "stage", "median_ms"})),
        count_(connection, insert_sql("run_count", {"run_id", "results", "correct"})) {
    launch_.shape.name_expression = "planted<float, 16, 4, 2, 1>";
    launch_.shape.arguments = {"a", "b", "c"};
  }

  void add_space(std::int64_t space) {
    for (std::int64_t i = 0; i < kProblems; ++i) {
      const Problem problem = {{"N", std::int64_t{1024} << i}, {"T", "float"}};
      problem_.bind(":id", space * kProblems + i + 1).bind(":space_id", space + 1);
      problem_.bind(":key", key(problem)).bind(":values_json", db::to_json(problem)).run();
    }
    for (std::int64_t i = 0; i < kKernels; ++i) {
      const std::string name = "kernel_" + std::to_string(i);
      kernel_.bind(":id", space * kKernels + i + 1).bind(":space_id", space + 1);
      kernel_.bind(":name", name).bind(":hash", "planted").run();
      for (std::int64_t number = 0; number < configurations_; ++number) {
        const Configuration values = planted_configuration(number);
        configuration_.bind(":id", configuration_id(space * kKernels + i, number))
            .bind(":space_id", space + 1)
            .bind(":kernel_name", name)
            .bind(":key", key(values))
            .bind(":values_json", db::to_json(values))
            .run();
      }
    }
  }

  /// Adds a run, whose id is the number of its pair of model and space.
  void add_run(std::int64_t model, std::int64_t space) {
    run_ = model * kSpaces + space + 1;
    model_ = model + 1;
    number_ = 0;
    correct_ = 0;
    for (std::int64_t i = 0; i < kKernels; ++i) {
      const std::int64_t kernel = space * kKernels + i;
      current_.bind(":model_id", model_).bind(":space_id", space + 1);
      current_.bind(":name", "kernel_" + std::to_string(i)).bind(":kernel_id", kernel + 1).run();
      for (std::int64_t problem = 0; problem < kProblems; ++problem) {
        add_kernel(kernel, space * kProblems + problem);
      }
    }
    count_.bind(":run_id", run_).bind(":correct", correct_);
    count_.bind(":results", kKernels * kProblems * configurations_).run();
  }

 private:
  std::int64_t configuration_id(std::int64_t kernel, std::int64_t number) const {
    return kernel * configurations_ + number + 1;
  }

  void add_kernel(std::int64_t kernel, std::int64_t problem) {
    std::vector<std::pair<double, std::int64_t>> ranked;
    for (std::int64_t number = 0; number < configurations_; ++number) {
      Result result;
      result.configuration = planted_configuration(number);
      result.is_default = number == 0;
      if (number % kFailsEvery == kFailsEvery - 1) {
        result.status = Status::constraints;
        result.reason = "shared_bytes";
        result.detail = "planted: 65536 bytes of shared memory per block, 49152 allowed";
        add(kernel, problem, number, result);
        continue;
      }
      const double ms = planted_ms(model_, kernel, problem, result.configuration);
      ranked.emplace_back(ms, number);
      result.stage = Stage::screen;
      result.measurement = summarize(std::vector{ms * 1.01, ms, ms * 1.002});
      add(kernel, problem, number, result);
      ++correct_;
    }
    const std::size_t finalists = std::min(kFinalists, ranked.size());
    std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(finalists));
    for (std::size_t i = 0; i < finalists; ++i) {
      const auto [ms, number] = ranked[i];
      Result result;
      result.stage = Stage::final;
      result.chosen = i == 0;
      result.is_default = number == 0;
      std::vector<double> samples(60, ms);
      for (std::size_t j = 0; j < samples.size(); ++j) {
        samples[j] *= 1 + 0.01 * random_of(kernel, problem, static_cast<std::int64_t>(j));
      }
      result.measurement = summarize(samples);
      add(kernel, problem, number, result);
      if (!result.chosen) continue;
      best_.bind(":model_id", model_)
          .bind(":problem_id", problem + 1)
          .bind(":kernel_id", kernel + 1)
          .bind(":configuration_id", configuration_id(kernel, number))
          .bind(":result_id", connection_.last_insert_id())
          .bind(":run_id", run_)
          .bind(":stage", "final")
          .bind(":median_ms", result.measurement.median_ms)
          .run();
    }
  }

  void add(std::int64_t kernel, std::int64_t problem, std::int64_t number, Result& result) {
    ++number_;
    result.launches = {launch_};
    result.metrics = {{"flops", 1e9}};
    result_.store({.run_id = run_,
                   .number = number_,
                   .environment_id = model_,
                   .subject = {.group = {model_, kernel + 1, problem + 1},
                               .configuration_id = configuration_id(kernel, number)},
                   .at_unix = 1.8e9 + static_cast<double>(number_)},
                  result);
  }

  const db::Connection& connection_;
  std::int64_t configurations_;
  Statement kernel_;
  Statement current_;
  Statement problem_;
  Statement configuration_;
  db::ResultRows result_;
  Statement best_;
  Statement count_;
  LaunchResult launch_;
  std::int64_t run_ = 0;
  std::int64_t model_ = 0;
  std::int64_t number_ = 0;
  std::int64_t correct_ = 0;
};

void write_database(const std::string& file, std::int64_t results) {
  constexpr std::int64_t kGroups = kDevices * kSpaces * kKernels * kProblems;
  {
    db::ResultStore store(file);
    for (std::int64_t device = 0; device < kDevices; ++device) {
      for (std::int64_t space = 0; space < kSpaces; ++space) {
        Run run;
        run.id = sha256(std::to_string(device * kSpaces + space)).substr(0, 32);
        run.space = "planted_" + std::to_string(space);
        run.space_json = "{}";
        run.device = planted_device(device + 1);
        run.compiler = "NVRTC 13.0";
        run.strategy = "exhaustive";
        run.started_unix = 1.8e9 + static_cast<double>(device * kSpaces + space);
        store.begin_run(run);
        store.end_run(run.id, "complete");
      }
    }
  }
  const db::Connection connection = db::open_database(file, db::OpenMode::read_write, 0);
  // Nobody reads the database yet, and an incomplete one is written again.
  connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  Writer writer(connection, std::max<std::int64_t>(1, results / kGroups));
  db::Transaction transaction(connection);
  for (std::int64_t space = 0; space < kSpaces; ++space) writer.add_space(space);
  for (std::int64_t device = 0; device < kDevices; ++device) {
    for (std::int64_t space = 0; space < kSpaces; ++space) writer.add_run(device, space);
  }
  transaction.commit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::atoll(argv[2]) < 1) {
    std::fprintf(stderr, "usage: smemtune_big_database FILE RESULTS\n");
    return 2;
  }
  try {
    write_database(argv[1], std::atoll(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
