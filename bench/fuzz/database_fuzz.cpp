// Takes any bytes as a database, with or without a journal beside it: everything that reads a
// database returns, or throws a StoreError that says why not. Nothing is written: the
// database and its journal keep their sizes.

#include "db/export_formats.h"
#include "db/result_store.h"
#include "fuzz_folder.h"

#include <cstdlib>

using namespace smemtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  if (size < 3) return 0;
  // The last two bytes say how many of the bytes before them are the journal's.
  const std::size_t journal =
      std::min<std::size_t>(data[size - 1] * 256u + data[size - 2], size - 2);
  const std::filesystem::path file = folder / "results.sqlite";
  const std::filesystem::path beside = folder / "results.sqlite-journal";
  write_bytes(file, {data, size - 2 - journal});
  std::filesystem::remove(beside);
  if (journal > 0) write_bytes(beside, {data + size - 2 - journal, journal});
  try {
    const db::ResultStore store(file, db::ResultStore::Mode::read_only, 0);
    store.results({});
    store.runs({});
    store.devices();
    const auto best = store.best({}, true);
    const auto defaults = store.defaults({});
    store.best({}, false);
    db::export_json(best, defaults);
    db::export_csv(best);
    db::export_header(best, defaults);
  } catch (const Error&) {
  }
  if (std::filesystem::file_size(file) != size - 2 - journal) std::abort();
  if (journal > 0 && std::filesystem::file_size(beside) != journal) std::abort();
  return 0;
}
