#include "db/import.h"
#include "db/json_forms.h"
#include "db/result_store.h"
#include "db/sqlite.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace smemtune::cli {
namespace {

/// Reads files in a separate thread, a few runs or parts of runs ahead of the consumer.
class ReadAhead {
 public:
  ReadAhead(const std::vector<std::filesystem::path>& files, const db::ImportNames& names,
            db::Runs runs)
      : thread_([this, files, names, runs] { read(files, names, runs); }) {}

  ~ReadAhead() {
    {
      const std::lock_guard lock(mutex_);
      is_unwanted_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Returns the next run, or part of one, of the current file, or an ImportedFile when that file
  /// has ended. Throws what reading it threw. REQUIRES: not all files have ended.
  std::variant<db::RunRecord, db::ImportedFile> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !items_.empty(); });
    Item item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    if (auto* error = std::get_if<std::exception_ptr>(&item)) std::rethrow_exception(*error);
    if (auto* run = std::get_if<db::RunRecord>(&item)) return std::move(*run);
    return std::get<db::ImportedFile>(std::move(item));
  }

  /// Lets the reading thread free the memory that it allocated, which would cost more in another
  /// thread.
  void discard(db::RunRecord&& used) {
    const std::lock_guard lock(mutex_);
    used_.push_back(std::move(used));
  }

 private:
  using Item = std::variant<db::RunRecord, db::ImportedFile, std::exception_ptr>;

  /// Maximum number of items read ahead; a run, or part of one, may have thousands of results.
  static constexpr std::size_t kMostAhead = 4;

  void read(const std::vector<std::filesystem::path>& files, const db::ImportNames& names,
            db::Runs runs) {
    try {
      for (const std::filesystem::path& file : files) {
        put(db::read_runs(file, names, runs, [this](db::RunRecord&& run) { put(std::move(run)); }));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      items_.emplace_back(std::current_exception());
      changed_.notify_all();
    }
  }

  void put(Item&& item) {
    std::vector<db::RunRecord> used;  // Freed after the lock is released.
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_unwanted_ || items_.size() < kMostAhead; });
    if (is_unwanted_) throw Error("nobody asks for what is read any more");
    items_.push_back(std::move(item));
    used.swap(used_);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::vector<db::RunRecord> used_;
  bool is_unwanted_ = false;  ///< True if no more items are needed.
  std::thread thread_;
};

using db::Json;

/// Options of `import` and `merge`.
struct ImportOptions {
  std::filesystem::path database;
  std::vector<std::filesystem::path> files;
  db::ImportNames names;
  bool json = false;
};

/// The contents of a file, and what became of them.
struct Imported {
  db::ImportedFile file;
  db::Added added;
  std::map<std::string, std::uint64_t> statuses;  ///< Number of results with each status.
};

/// Stores the runs of the next file.
Imported store_next(ReadAhead& files, db::ResultStore& store) {
  Imported imported;
  for (;;) {
    auto read = files.next();
    if (auto* end = std::get_if<db::ImportedFile>(&read)) {
      imported.file = std::move(*end);
      return imported;
    }
    const auto count = [&imported](const db::RunRecord& record) {
      for (const db::RunRecord::Entry& entry : record.entries) {
        ++imported.statuses[to_text(entry.result.status)];
      }
    };
    auto record = std::get<db::RunRecord>(std::move(read));
    count(record);
    imported.added += store.add(std::move(record), [&](db::RunRecord& part) {
      files.discard(std::move(part));
      part = std::get<db::RunRecord>(files.next());
      count(part);
    });
  }
}

/// Prints a line for each entry that was left out, as far as their faults were kept.
void say_left_out(const db::ImportedFile& file) {
  for (const std::string& fault : file.odd.faults) {
    say("smemtune: " + printable(file.origin.file + ": " + fault) + "; left out");
  }
  const std::uint64_t more = file.odd.count - file.odd.faults.size();
  if (more > 0) {
    say("smemtune: " + printable(file.origin.file) + ": " + format_count(more) + " more left out");
  }
}

std::string text_of(const Imported& imported) {
  const db::Added& added = imported.added;
  std::string text = imported.file.origin.file + ": " + imported.file.origin.format;
  if (!imported.file.origin.device.empty()) text += " on " + imported.file.origin.device;
  text += ": " + counted(added.added + added.known + added.conflicting, "result");
  const char* separator = " (";
  for (const auto& [status, count] : imported.statuses) {
    text += separator + format_count(count) + " " + status;
    separator = ", ";
  }
  if (!imported.statuses.empty()) text += ")";
  text += "; " + format_count(added.added) + " new, " + format_count(added.known) + " known";
  if (added.conflicting > 0) {
    text += ", " + format_count(added.conflicting) +
            " that differ from a known result of the same measurement, kept beside it";
  }
  if (imported.file.odd.count > 0)
    text += ", " + format_count(imported.file.odd.count) + " left out";
  return printable(text);
}

Json json_of(const Imported& imported) {
  const db::Origin& origin = imported.file.origin;
  return {{"file", origin.file},
          {"format", origin.format},
          {"sha256", origin.file_sha256},
          {"device", origin.device},
          {"cut_off", imported.file.cut_off},
          {"left_out", imported.file.odd.count},
          {"faults", imported.file.odd.faults},
          {"statuses", imported.statuses},
          {"new", imported.added.added},
          {"known", imported.added.known},
          {"conflicting", imported.added.conflicting}};
}

void add_files(const ImportOptions& options, const db::ImportNames& names, db::Runs runs) {
  db::leave_memory_uncounted();
  db::ResultStore store(options.database);
  Json files = Json::array();
  ReadAhead reader(options.files, names, runs);
  for (const std::filesystem::path& file : options.files) {
    const Imported imported = store_next(reader, store);
    if (imported.file.cut_off) {
      std::fprintf(stderr, "smemtune: %s is cut off; the results before the cut were imported\n",
                   printable(file.string()).c_str());
    }
    say_left_out(imported.file);
    // Printed as soon as the file is stored, whatever happens to the next one.
    if (!options.json) write_out(text_of(imported) + "\n");
    files.push_back(json_of(imported));
  }
  if (options.json) {
    const char* format = runs == db::Runs::ours ? "smemtune-merge" : "smemtune-import";
    write_document(db::document_text(format, 1, {{"files", std::move(files)}}));
  }
}

void add_import_options(CLI::App& app, ImportOptions& options) {
  add_database(app, options.database);
  add_value(app, "files", options.files,
            "Kernel Tuner cache files, T4, KTT's JSON, exports and databases of smemtune; .gz too",
            "FILE")
      ->required();
  add_value(app, "--device-name", options.names.device,
            "Device of files that do not name one, as its driver calls it", "NAME");
  add_value(app, "--space", options.names.space,
            "For caches, T4 and KTT: the space that the results belong to [the kernel's name]",
            "NAME");
  add_value(app, "--kernel", options.names.kernel,
            "For caches, T4 and KTT: the kernel's name, instead of the file's", "NAME");
  app.add_flag("--json", options.json, "Print as JSON");
}

int run_import(const ImportOptions& options) {
  add_files(options, options.names, db::Runs::imported);
  return 0;
}

void add_merge_options(CLI::App& app, ImportOptions& options) {
  add_value(app, "files", options.files, "Databases and exports of smemtune", "FILE")->required();
  add_value(app, "--into", options.database, "Database to merge into; created if it does not exist",
            "FILE")
      ->required();
  app.add_flag("--json", options.json, "Print as JSON");
}

int run_merge(const ImportOptions& options) {
  for (const std::filesystem::path& file : options.files) {
    std::error_code ignored;
    if (std::filesystem::equivalent(file, options.database, ignored)) {
      throw InputError(quote(file.string()) + " is the database that --into names");
    }
  }
  add_files(options, {}, db::Runs::ours);
  return 0;
}

}  // namespace

void add_import_commands(Commands& commands) {
  commands.add<ImportOptions>("import", "Import results of other tuners and other people",
                              add_import_options, run_import);
  commands.add<ImportOptions>("merge", "Merge databases of several machines", add_merge_options,
                              run_merge);
}

}  // namespace smemtune::cli
