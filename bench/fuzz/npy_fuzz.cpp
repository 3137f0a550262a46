// Takes any bytes as a .npy file: its elements are read, or an InputError says why not.

#include "fuzz_folder.h"
#include "tuner/backend/contents.h"
#include "tuner/core/error.h"

using namespace smemtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  const std::filesystem::path file = folder / "contents.npy";
  write_bytes(file, {data, size});
  for (const ScalarType type : {ScalarType::float32, ScalarType::float64, ScalarType::int32}) {
    Argument argument;
    argument.name = "a";
    argument.type = type;
    argument.shape = {2, 3};
    argument.init.kind = Init::Kind::file;
    argument.init.file.path = file;
    try {
      initial_contents(argument, 1);
    } catch (const InputError&) {
    }
  }
  return 0;
}
