// Takes any bytes as a file of the compile cache: its contents are used, or the request is compiled
// again.

#include "fuzz_folder.h"
#include "tuner/core/hash.h"
#include "tuner/engine/cached_compiler.h"

#include <cstring>
#include <memory>
#include <vector>

using namespace smemtune;

namespace {

class OneModule final : public Compiler {
 public:
  std::string version() const override { return "one module"; }
  Outcome<CompiledKernel> compile(const CompileRequest&) override {
    CompiledKernel kernel;
    kernel.image = {1, 2, 3};
    return kernel;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  const std::filesystem::path cache = folder / "cache";
  CachedCompiler compiler(std::make_unique<OneModule>(), cache);
  compiler.compile({});
  // The bytes are tried as they are, and with the checksum, which no mutation keeps valid.
  const std::span<const std::uint8_t> bytes(data, size);
  const std::uint32_t checksum = crc32(bytes);
  std::vector<std::uint8_t> checked(sizeof checksum);
  std::memcpy(checked.data(), &checksum, sizeof checksum);
  checked.insert(checked.end(), bytes.begin(), bytes.end());
  for (const std::span<const std::uint8_t> contents :
       {bytes, std::span<const std::uint8_t>(checked)}) {
    for (const auto& entry : std::filesystem::directory_iterator(cache)) {
      if (entry.path().extension() == ".module") write_bytes(entry.path(), contents);
    }
    if (!compiler.compile({})) std::abort();
  }
  return 0;
}
