// Takes any bytes as a file to import: its results are stored and read back, or an error says why
// not. In both cases the database is intact afterwards, and no imported result is among our own.

#include "db/export_formats.h"
#include "db/import.h"
#include "db/maintenance.h"
#include "db/result_store.h"
#include "fuzz_folder.h"

#include <cstdlib>

using namespace smemtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  const std::filesystem::path file = folder / "file";
  const std::filesystem::path database = folder / "results.sqlite";
  write_bytes(file, {data, size});
  std::filesystem::remove(database);
  {
    db::ResultStore store(database);
    for (int i = 0; i < 2; ++i) {
      try {
        db::read_runs(file, {.device = "device", .space = "", .kernel = "kernel"},
                      db::Runs::imported,
                      [&](db::RunRecord&& record) { store.add(std::move(record)); });
      } catch (const Error&) {
      }
    }
    if (!store.results({}).empty() || !store.best({}, true).empty()) std::abort();
    const auto best = store.best({.source = "imported"}, true);
    db::export_json(best, store.defaults({.source = "imported"}));
  }
  if (!db::find_faults(database).empty()) std::abort();
  return 0;
}
