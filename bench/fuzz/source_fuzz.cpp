// Takes any text as a .cu file: init drafts a space from it, and it is translated for the CPU
// device and into double precision, or an InputError says why not.

#include "tuner/core/error.h"
#include "tuner/init/host_reader.h"
#include "tuner/init/space_draft.h"
#include "tuner/source/directive.h"
#include "tuner/source/host_translation.h"
#include "tuner/source/in_double.h"
#include "tuner/source/kernel_file.h"
#include "tuner/source/source_files.h"

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace smemtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const FlatSource flat(text);
  KernelFile all = read_kernel_file(flat);
  const HostPart host = read_host(flat);
  add_host(host, all);
  if (!all.kernels.empty()) {
    const std::vector<std::string> kernels = kernels_like(all, all.kernels.front().name);
    const std::set<std::string> only(kernels.begin(), kernels.end());
    KernelFile file = read_kernel_file(flat, {}, only);
    add_host(host, file);
    draft_space(
        flat, file,
        {.name = "fuzzed", .written_from = "fuzzed.cu", .source = "fuzzed.cu", .kernels = kernels});
    std::set<std::string> guard;
    for (const NamedNumber& number : tunable_numbers(file)) guard.insert(number.name);
    read_kernel_file(flat, guard, only);
  }
  const std::vector<SourceFile> files = {
      {.name = "fuzzed.cu", .place = {}, .content = std::make_shared<const SourceText>(text)}};
  costly_includes(files);
  const std::span<const PlacedDirective> directives = files.front().content->directives;
  hidden_questions(std::span(&directives, 1));
  for (const std::string& name : kernel_names(files)) {
    redefinition(files, name);
    uses_macro(files, name);
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
