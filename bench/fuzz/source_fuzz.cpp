// Any text as a .cu file: init drafts a space from it, and it is turned into what the CPU device
// compiles and into double precision, or an InputError says why not.

#include "tuner/core/error.h"
#include "tuner/init/space_draft.h"
#include "tuner/source/host_translation.h"
#include "tuner/source/in_double.h"
#include "tuner/source/kernel_file.h"
#include "tuner/source/source_files.h"

#include <cstdint>
#include <string>

using namespace smemtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  quoted_includes(text);
  const KernelFile file = read_kernel_file(text, {{"common.h", "#define BLOCK 32\n"}});
  if (!file.kernels.empty()) {
    draft_space(file, {.name = "fuzzed",
                       .written_from = "fuzzed.cu",
                       .source = "fuzzed.cu",
                       .kernels = kernels_like(file, file.kernels.front().name)});
  }
  KernelSource source;
  source.files.push_back({"fuzzed.cu", text});
  translate_for_host(source);
  try {
    in_double(source);
  } catch (const InputError&) {
  }
  return 0;
}
