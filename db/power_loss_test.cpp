// Simulates a power failure at every moment of a run. A layer under SQLite records all requests to
// the disk, from which the possible states of the disk are constructed: data that was not synced
// may be present, missing, or present in part, sector by sector and in any order.

#include "db/database_file.h"
#include "db/folder_test_support.h"
#include "db/result_store.h"
#include "db/sqlite.h"
#include "tuner/core/device.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace smemtune::db {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSector = 512;

/// A request to the disk.
struct Request {
  enum class Kind { write, truncate, sync, remove } kind;
  std::string file;
  std::size_t offset = 0;  ///< For truncate, the new size.
  std::string bytes = {};
};

std::vector<Request>* requests = nullptr;

/// A file as SQLite sees it, with its name.
struct Recorded {
  sqlite3_file base;
  sqlite3_file* real;
  const char* name;
};

Recorded* of(sqlite3_file* file) { return reinterpret_cast<Recorded*>(file); }
sqlite3_file* real(sqlite3_file* file) { return of(file)->real; }
std::string name_of(sqlite3_file* file) { return fs::path(of(file)->name).filename(); }

int close_file(sqlite3_file* file) {
  const int code = real(file)->pMethods->xClose(real(file));
  sqlite3_free(real(file));
  return code;
}
int read(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
  return real(file)->pMethods->xRead(real(file), to, size, offset);
}
int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
  requests->push_back(
      {Request::Kind::write, name_of(file), static_cast<std::size_t>(offset),
       std::string(static_cast<const char*>(from), static_cast<std::size_t>(size))});
  return real(file)->pMethods->xWrite(real(file), from, size, offset);
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  requests->push_back({Request::Kind::truncate, name_of(file), static_cast<std::size_t>(size)});
  return real(file)->pMethods->xTruncate(real(file), size);
}
int sync(sqlite3_file* file, int) {
  requests->push_back({Request::Kind::sync, name_of(file)});
  return SQLITE_OK;  // Nothing is synced: the disk of the test is the list of requests.
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}
int lock(sqlite3_file* file, int level) { return real(file)->pMethods->xLock(real(file), level); }
int unlock(sqlite3_file* file, int level) {
  return real(file)->pMethods->xUnlock(real(file), level);
}
int check_reserved(sqlite3_file* file, int* is) {
  return real(file)->pMethods->xCheckReservedLock(real(file), is);
}
int control(sqlite3_file* file, int op, void* argument) {
  return real(file)->pMethods->xFileControl(real(file), op, argument);
}
int sector_size(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
int characteristics(sqlite3_file* file) {
  return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

// Version 1 of the interface: without shared memory and mapped files.
const sqlite3_io_methods kMethods = {
    1,       close_file,     read,    write,       truncate,        sync,    file_size, lock,
    unlock,  check_reserved, control, sector_size, characteristics, nullptr, nullptr,   nullptr,
    nullptr, nullptr,        nullptr};

sqlite3_vfs* system_files = nullptr;

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  Recorded* recorded = of(file);
  recorded->base.pMethods = nullptr;
  recorded->name = name;
  recorded->real = static_cast<sqlite3_file*>(sqlite3_malloc(system_files->szOsFile));
  if (recorded->real == nullptr) return SQLITE_NOMEM;
  std::memset(recorded->real, 0, static_cast<std::size_t>(system_files->szOsFile));
  const int code = system_files->xOpen(system_files, name, recorded->real, flags, out_flags);
  if (recorded->real->pMethods == nullptr) {
    sqlite3_free(recorded->real);
  } else {
    recorded->base.pMethods = &kMethods;
  }
  return code;
}

int remove_file(sqlite3_vfs*, const char* name, int sync_folder) {
  requests->push_back({Request::Kind::remove, fs::path(name).filename()});
  return system_files->xDelete(system_files, name, sync_folder);
}

/// During its lifetime, every file that SQLite opens is recorded.
class Recorder {
 public:
  Recorder() {
    requests = &requests_;
    system_files = sqlite3_vfs_find(nullptr);
    files_ = *system_files;
    files_.zName = "recorder";
    files_.szOsFile = sizeof(Recorded);
    files_.pNext = nullptr;
    files_.xOpen = open_file;
    files_.xDelete = remove_file;
    sqlite3_vfs_register(&files_, 1);
  }
  ~Recorder() {
    sqlite3_vfs_unregister(&files_);
    sqlite3_vfs_register(system_files, 1);
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  Recorder(Recorder&&) = delete;
  Recorder& operator=(Recorder&&) = delete;

  const std::vector<Request>& requests_until_now() const { return requests_; }

 private:
  std::vector<Request> requests_;
  sqlite3_vfs files_ = {};
};

void apply(std::string& contents, const Request& request) {
  if (request.kind == Request::Kind::truncate) contents.resize(request.offset);
  if (request.kind != Request::Kind::write) return;
  contents.resize(std::max(contents.size(), request.offset + request.bytes.size()));
  contents.replace(request.offset, request.bytes.size(), request.bytes);
}

/// A file on a disk: its guaranteed contents and the requests since.
struct OnDisk {
  /// True if its name survives the power failure, because the file was synced once.
  bool is_named = false;
  std::string synced;
  std::vector<Request> since;

  void take(const Request& request) {
    if (request.kind == Request::Kind::sync) {
      is_named = true;
      for (const Request& one : since) apply(synced, one);
      since.clear();
    } else {
      since.push_back(request);
    }
  }
};

enum class Loss { all, nothing, torn };
using Disk = std::map<std::string, OnDisk>;

/// Returns the contents of a file that may be found after the power failure.
std::string after_power_loss(const OnDisk& file, Loss loss, std::mt19937_64& random) {
  std::string contents = file.synced;
  if (loss == Loss::all) return contents;
  for (const Request& request : file.since) {
    if (loss == Loss::nothing) {
      apply(contents, request);
    } else if (request.kind != Request::Kind::write) {
      if (random() % 2 == 0) apply(contents, request);
    } else {
      for (std::size_t at = 0; at < request.bytes.size();) {
        const std::size_t size =
            std::min(kSector - (request.offset + at) % kSector, request.bytes.size() - at);
        if (random() % 2 == 0) {
          apply(contents, {Request::Kind::write, request.file, request.offset + at,
                           request.bytes.substr(at, size)});
        }
        at += size;
      }
    }
  }
  return contents;
}

/// Number of results that had been acknowledged after this many requests.
struct Acknowledged {
  std::size_t requests;
  std::int64_t results;
};

Run a_run() {
  Run run;
  run.id = "run-1";
  run.space = "gemm";
  run.space_json = "{}";
  run.device = h200_limits();
  run.device.uuid = "GPU-1";
  run.strategy = "random";
  return run;
}

Result a_result(std::int64_t number) {
  Result result;
  result.kernel = "tiled";
  result.problem = {{"N", std::int64_t{4096}}};
  result.configuration = {{"TILE", number}};
  result.stage = Stage::screen;
  result.measurement = summarize(std::vector<double>(40, 1 + static_cast<double>(number)));
  // Some results span several pages.
  if (number % 3 == 0) result.detail = std::string(9000, static_cast<char>('a' + number % 26));
  return result;
}

class PowerLoss : public TestFolder {};

TEST_F(PowerLoss, TakesNothingThatWasAcknowledgedAtAnyMoment) {
  constexpr std::int64_t kResults = 5;
  const fs::path written = folder() / "results.sqlite";
  std::vector<Acknowledged> acknowledged = {{0, 0}};
  std::vector<Request> asked;
  {
    const Recorder recorder;
    ResultStore store(written);
    const auto log = store.begin_run(a_run());
    for (std::int64_t i = 1; i <= kResults; ++i) {
      log->in_transaction([&] {
        log->begin_attempt({"hash", "tiled", {{"N", std::int64_t{4096}}}, {{"TILE", i}}});
      });
      log->record("hash", a_result(i));
      acknowledged.push_back({recorder.requests_until_now().size(), i});
    }
    store.end_run("run-1", "complete");
    asked = recorder.requests_until_now();
  }
  ASSERT_GT(asked.size(), 100u);

  const Recorder nothing_is_synced;
  std::mt19937_64 random(14);
  Disk disk;
  disk[written.filename()].is_named = true;  // open_database() syncs the folder.
  std::size_t states = 0;
  for (std::size_t cut = 0; cut <= asked.size(); ++cut) {
    if (cut > 0) {
      const Request& request = asked[cut - 1];
      if (request.kind == Request::Kind::remove) {
        disk.erase(request.file);
      } else {
        disk[request.file].take(request);
      }
    }
    std::int64_t promised = 0;
    for (const Acknowledged& one : acknowledged) {
      if (one.requests <= cut) promised = one.results;
    }
    for (const Loss loss : {Loss::all, Loss::nothing, Loss::torn}) {
      const fs::path left = folder() / "left";
      fs::remove_all(left);
      fs::create_directory(left);
      for (const auto& [name, file] : disk) {
        if (!file.is_named && (loss == Loss::all || (loss == Loss::torn && random() % 2 == 0))) {
          continue;
        }
        std::ofstream(left / name, std::ios::binary) << after_power_loss(file, loss, random);
      }
      SCOPED_TRACE("after " + std::to_string(cut) + " of " + std::to_string(asked.size()) +
                   " requests, loss " + std::to_string(static_cast<int>(loss)));
      // First as a reader opens it, then as the next run does.
      if (promised > 0) {
        const ResultStore reader(left / written.filename(), ResultStore::Mode::read_only);
        ASSERT_GE(static_cast<std::int64_t>(reader.results({}).size()), promised);
      }
      const Connection connection =
          open_database(left / written.filename(), OpenMode::read_write, 0);
      ASSERT_EQ(connection.text("PRAGMA integrity_check"), "ok");
      ASSERT_FALSE(Statement(connection, "PRAGMA foreign_key_check").step());
      const std::int64_t found = connection.integer("SELECT count(*) FROM result");
      ASSERT_GE(found, promised);
      ASSERT_LE(found, promised + 1);
      ASSERT_EQ(connection.integer("SELECT count(*) FROM best"), found > 0 ? 1 : 0);
      ++states;
    }
  }
  RecordProperty("states", static_cast<int>(states));
}

}  // namespace
}  // namespace smemtune::db
