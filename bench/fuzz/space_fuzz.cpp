// Takes any text as a space file: it is loaded, or an InputError says why not.

#include "fuzz_folder.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"

#include <cstdlib>
#include <string_view>

using namespace smemtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  static const bool has_sources = [] {
    constexpr std::string_view kSource =
        "template <typename T, int TILE> __global__ void add_one(T* a, int n) { a[0] += 1; }\n";
    write_bytes(folder / "add_one.cu",
                {reinterpret_cast<const std::uint8_t*>(kSource.data()), kSource.size()});
    return true;
  }();
  if (!has_sources) return 0;
  // With the repository's templates its own spaces can be read to their end.
  static const char* const templates = std::getenv("SMEMTUNE_SHARE");
  static const std::filesystem::path share =
      templates != nullptr ? templates : (folder / "share").string();
  const std::filesystem::path file = folder / "space.json";
  write_bytes(file, {data, size});
  check_space(file, share);
  try {
    load_space(file, share);
  } catch (const InputError&) {
  }
  return 0;
}
