// Takes any bytes as a T1 specification, and as the list of a parameter's values: they give a space
// or an error.

#include "fuzz_folder.h"
#include "tuner/config/space_file.h"
#include "tuner/config/t1_file.h"
#include "tuner/core/error.h"

using namespace smemtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  static const std::filesystem::path file = folder / "t1.json";
  const std::span<const std::uint8_t> bytes(data, size);
  try {
    python_list({reinterpret_cast<const char*>(data), size});
  } catch (const InputError&) {
  }
  write_bytes(file, bytes);
  check_space(file, folder / "share");
  return 0;
}
