#include "tuner/backend/cuda/nvrtc_compiler.h"

#include "tuner/backend/builtins.h"
#include "tuner/backend/cuda/cubin.h"
#include "tuner/backend/cuda/standard_headers.h"
#include "tuner/core/elapsed.h"
#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace smemtune::cuda {

namespace {

struct ProgramDestroyer {
  const Nvrtc* nvrtc = nullptr;

  void operator()(nvrtcProgram program) const noexcept {
    const nvrtcResult code = nvrtc->destroy_program(&program);
    if (code != NVRTC_SUCCESS) {
      std::fprintf(stderr, "smemtune: nvrtcDestroyProgram: %s\n", nvrtc->error_string(code));
    }
  }
};
using Program = std::unique_ptr<std::remove_pointer_t<nvrtcProgram>, ProgramDestroyer>;

void check_nvrtc(const Nvrtc& nvrtc, nvrtcResult code, const char* call) {
  if (code == NVRTC_SUCCESS) return;
  throw UnavailableError(std::string(call) + ": " + nvrtc.error_string(code));
}

std::vector<const char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  pointers.reserve(strings.size());
  for (const std::string& string : strings) pointers.push_back(string.c_str());
  return pointers;
}

constexpr const char* kNoSourceInclude = "--no-source-include";

bool includes(const KernelSource& source, const StandardHeader& header) {
  const std::string name = "<" + std::string(header.name) + ">";
  return std::ranges::any_of(source.files, [&name](const KernelSource::File& file) {
    return file.text.find(name) != std::string::npos;
  });
}

constexpr const char* kBuiltinsName = "smemtune_builtins.h";

/// `builtins` is read before the source, `behind` after it. Both may be empty.
Program make_program(const Nvrtc& nvrtc, const KernelSource& source,
                     const std::string& builtins = {}, const std::string& behind = {}) {
  std::vector<const char*> headers;
  std::vector<const char*> names;
  for (const StandardHeader& header : standard_headers()) {
    if (std::ranges::find(source.files, header.name, &KernelSource::File::name) !=
        source.files.end()) {
      continue;
    }
    // Toolkit 11's own headers say "cstddef" where those of 12 say <cuda/std/cstddef>, and mean
    // their own file.
    const bool must_be_named = nvrtc.major < 12 || header.only_where_named;
    if (must_be_named && !includes(source, header)) continue;
    headers.push_back(header.text);
    names.push_back(header.name);
  }
  for (std::size_t i = 1; i < source.files.size(); ++i) {
    headers.push_back(source.files[i].text.c_str());
    names.push_back(source.files[i].name.c_str());
  }
  if (!builtins.empty()) {
    headers.push_back(builtins.c_str());
    names.push_back(kBuiltinsName);
  }
  // NVRTC hands the name to its front end, which takes a name that begins like this for an option.
  std::string name = source.files.front().name;
  if (name.starts_with('-')) name.insert(0, "./");
  const std::string text = source.files.front().text + behind;
  nvrtcProgram program = nullptr;
  check_nvrtc(nvrtc,
              nvrtc.create_program(&program, text.c_str(), name.c_str(),
                                   static_cast<int>(headers.size()), headers.data(), names.data()),
              "nvrtcCreateProgram");
  return Program(program, ProgramDestroyer{&nvrtc});
}

// Reads the log by its length, because ptxas's error text follows a NUL.
std::string program_log(const Nvrtc& nvrtc, nvrtcProgram program) {
  std::size_t size = 0;
  check_nvrtc(nvrtc, nvrtc.program_log_size(program, &size), "nvrtcGetProgramLogSize");
  std::string log(size, '\0');
  if (size > 0) check_nvrtc(nvrtc, nvrtc.program_log(program, log.data()), "nvrtcGetProgramLog");
  return log;
}

std::vector<std::uint8_t> cubin(const Nvrtc& nvrtc, nvrtcProgram program) {
  std::size_t size = 0;
  check_nvrtc(nvrtc, nvrtc.cubin_size(program, &size), "nvrtcGetCUBINSize");
  std::vector<std::uint8_t> image(size);
  if (size > 0) {
    check_nvrtc(nvrtc, nvrtc.cubin(program, reinterpret_cast<char*>(image.data())),
                "nvrtcGetCUBIN");
  }
  return image;
}

std::vector<std::uint8_t> ptx(const Nvrtc& nvrtc, nvrtcProgram program) {
  std::size_t size = 0;
  check_nvrtc(nvrtc, nvrtc.ptx_size(program, &size), "nvrtcGetPTXSize");
  std::vector<std::uint8_t> text(size);
  check_nvrtc(nvrtc, nvrtc.ptx(program, reinterpret_cast<char*>(text.data())), "nvrtcGetPTX");
  if (!text.empty()) text.pop_back();  // The NUL at its end.
  return text;
}

/// Compiles a text only to see whether that works.
nvrtcResult try_out(const Nvrtc& nvrtc, const std::string& text,
                    const std::vector<std::string>& options) {
  const Program program = make_program(nvrtc, {.files = {{.name = "tried.cu", .text = text}}});
  std::vector<const char*> pointers = c_strings(options);
  return nvrtc.compile_program(program.get(), static_cast<int>(pointers.size()), pointers.data());
}

// Returns those of `options` that this version knows.
std::vector<std::string> known_options(const Nvrtc& nvrtc,
                                       const std::vector<std::string>& options) {
  if (try_out(nvrtc, "", options) == NVRTC_SUCCESS) return options;
  std::vector<std::string> known;
  for (const std::string& option : options) {
    const nvrtcResult code = try_out(nvrtc, "", {option});
    if (code == NVRTC_SUCCESS) {
      known.push_back(option);
    } else if (code != NVRTC_ERROR_INVALID_OPTION) {
      throw UnavailableError("NVRTC (" + nvrtc.path.string() +
                             ") cannot compile an empty program: " + nvrtc.error_string(code) +
                             (code == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE
                                  ? "; is libnvrtc-builtins of the same version beside it?"
                                  : ""));
    }
  }
  return known;
}

// NVRTC 11 resolves no relative include of any header when told not to look beside the source, so
// that the toolkit's own headers do not compile. Returns false in that case.
bool finds_own_headers(const Nvrtc& nvrtc, const std::vector<std::string>& options) {
  return try_out(nvrtc, "#include <nv/target>\n", options) == NVRTC_SUCCESS;
}

void clear_environment() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("NVRTC_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

bool is_virtual(std::string_view architecture) { return architecture.starts_with("compute_"); }

// Returns 90 for `sm_90`, `sm_90a` and `compute_90`; nullopt for anything else.
std::optional<int> compute_capability(std::string_view architecture) {
  if (!architecture.starts_with("sm_") && !is_virtual(architecture)) return std::nullopt;
  architecture.remove_prefix(architecture.find('_') + 1);
  int number = 0;
  const char* const end = architecture.data() + architecture.size();
  const auto [stop, error] = std::from_chars(architecture.data(), end, number);
  const std::string_view suffix(stop, static_cast<std::size_t>(end - stop));
  if (error != std::errc() || !(suffix.empty() || suffix == "a" || suffix == "f")) {
    return std::nullopt;
  }
  return number;
}

bool is_standard_option(const std::string& option) {
  return option.starts_with("-std") || option.starts_with("--std");
}

// Returns the name expression of a symbol: NVRTC takes names of functions as they are, of variables
// as addresses.
std::string address_of(const std::string& symbol) {
  return symbol.starts_with('&') ? symbol : "&" + symbol;
}

// Returns the lowered name, or nullopt if the expression names nothing in the program.
std::optional<std::string> lowered_name(const Nvrtc& nvrtc, nvrtcProgram program,
                                        const std::string& expression) {
  const char* lowered = nullptr;
  const nvrtcResult code = nvrtc.lowered_name(program, expression.c_str(), &lowered);
  if (code == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID) return std::nullopt;
  check_nvrtc(nvrtc, code, "nvrtcGetLoweredName");
  return lowered;
}

void add_names(const Nvrtc& nvrtc, nvrtcProgram program, const CompileRequest& request) {
  std::vector<std::string> names = request.name_expressions;
  for (const std::string& symbol : request.symbol_expressions) names.push_back(address_of(symbol));
  for (const std::string& name : names) {
    check_nvrtc(nvrtc, nvrtc.add_name_expression(program, name.c_str()), "nvrtcAddNameExpression");
  }
}

// The next three functions add to the compiled kernel, and return what is missing, if anything.

std::string not_a_kernel(const std::string& expression) {
  return expression + " is not a kernel (__global__ function)";
}

std::string add_entries(const Nvrtc& nvrtc, nvrtcProgram program, const CompileRequest& request,
                        CompiledKernel& compiled) {
  for (const std::string& expression : request.name_expressions) {
    const auto lowered = lowered_name(nvrtc, program, expression);
    if (!lowered) return not_a_kernel(expression);
    compiled.entries.push_back({.name_expression = expression,
                                .lowered_name = *lowered,
                                .resources = {},
                                .code_sha256 = {},
                                .code = {}});
  }
  return {};
}

std::string add_resources(const std::string& log, int capability, CompiledKernel& compiled) {
  const auto reports = ptxas_report(log);
  const CubinFacts facts = cubin_facts(compiled.image, capability);
  for (CompiledEntry& entry : compiled.entries) {
    const auto report = reports.find(entry.lowered_name);
    if (report == reports.end()) return not_a_kernel(entry.name_expression);
    entry.resources = report->second;
    entry.resources.constant_bytes = facts.constant_bytes;
    if (const auto bounds = facts.max_threads_per_block.find(entry.lowered_name);
        bounds != facts.max_threads_per_block.end()) {
      entry.resources.max_threads_per_block = bounds->second;
    }
    if (const auto hash = facts.code_sha256.find(entry.lowered_name);
        hash != facts.code_sha256.end()) {
      entry.code_sha256 = hash->second;
    }
    if (const auto code = facts.code.find(entry.lowered_name); code != facts.code.end()) {
      entry.code = code->second;
    }
  }
  return {};
}

std::string add_symbols(const Nvrtc& nvrtc, nvrtcProgram program, const CompileRequest& request,
                        CompiledKernel& compiled) {
  for (const std::string& symbol : request.symbol_expressions) {
    const auto lowered = lowered_name(nvrtc, program, address_of(symbol));
    if (!lowered) return symbol + " is not a __constant__ variable";
    compiled.symbols.push_back({symbol, *lowered});
  }
  return {};
}

/// Returns the failure of a program. Running out of memory says nothing about the source, nor do
/// static arrays above 48 KB, which ptxas refuses.
Failure program_failure(const std::string& log) {
  // The words of the front end and of ptxas; between them LLVM ends the process.
  for (const char* words : {"catastrophic error: out of memory", "Memory allocation failure"}) {
    if (log.find(words) == std::string::npos) continue;
    return failure(
        {Status::compile, "out_of_memory"},
        "the compiler needs more memory than its worker may have\n" + readable_text(log));
  }
  constexpr std::string_view kBegin = "uses too much shared data (";
  const std::size_t begin = log.find(kBegin);
  unsigned long long bytes = 0;
  unsigned long long most = 0;
  if (begin == std::string::npos || std::sscanf(log.c_str() + begin + kBegin.size(),
                                                "%llx bytes, %llx max", &bytes, &most) != 2) {
    return failure({Status::compile, "error"}, readable_text(log));
  }
  return failure(
      {Status::constraints, "shared_bytes"},
      std::to_string(bytes) + " bytes of static shared memory per block, static arrays may have " +
          std::to_string(most) + "; use dynamic shared memory for more\n" + readable_text(log));
}

// Returns the number before `words` in `line`: 48 for "registers" in "Used 48 registers, ...".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
  const std::size_t found = line.find(words);
  if (found == std::string_view::npos || found < 2 || line[found - 1] != ' ') return std::nullopt;
  const std::size_t end = found - 1;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return number_in<std::int64_t>(line.substr(begin, end - begin));
}

// Returns the name that follows `words`: `_Z1kv` in "Function properties for _Z1kv".
std::optional<std::string_view> name_after(std::string_view line, std::string_view words) {
  const std::size_t found = line.find(words);
  if (found == std::string_view::npos) return std::nullopt;
  std::string_view name = line.substr(found + words.size());
  if (!name.empty() && name.front() == '\'') name.remove_prefix(1);
  return name.substr(0, name.find_first_of("' \t\r"));
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(Nvrtc nvrtc)
    : nvrtc_(std::move(nvrtc)), library_sha256_(library_sha256(nvrtc_)) {
  clear_environment();
  int count = 0;
  check_nvrtc(nvrtc_, nvrtc_.num_supported_archs(&count), "nvrtcGetNumSupportedArchs");
  architectures_.resize(static_cast<std::size_t>(count));
  if (count > 0) {
    check_nvrtc(nvrtc_, nvrtc_.supported_archs(architectures_.data()), "nvrtcGetSupportedArchs");
  }
}

/// Finds out which options this version knows, which compiles an empty program: when something else
/// is compiled for the first time, since a run of which all is known compiles nothing.
void NvrtcCompiler::find_options() {
  // No cache, so that compile times are real (12.9 and later have a cache if there is a driver); a
  // header's declarations for the host count for the device as well; the process's stack limit
  // stays; no files are read that nobody named.
  own_options_ = known_options(nvrtc_, {"--no-cache", "--modify-stack-limit=false",
                                        kNoSourceInclude, "--device-as-default-execution-space"});
  own_options_.emplace_back("--ptxas-options=-v");
  for (const std::filesystem::path& folder : header_folders(nvrtc_)) {
    own_options_.push_back("-I" + folder.string());
    // The other folders lie in the first.
    if (read_.empty()) read_.push_back(read_place(folder));
  }
  if (nvrtc_.major < 12 && !finds_own_headers(nvrtc_, own_options_)) {
    std::erase(own_options_, kNoSourceInclude);
  }
}

std::string NvrtcCompiler::version() const {
  return "NVRTC " + std::to_string(nvrtc_.major) + "." + std::to_string(nvrtc_.minor);
}

Outcome<CompiledKernel> NvrtcCompiler::compile(const CompileRequest& request) {
  if (request.source.files.empty())
    throw InputError("nothing to compile: the request has no source");
  require_architecture(request.architecture);
  std::call_once(has_options_, [this] { find_options(); });
  const auto start = std::chrono::steady_clock::now();

  const std::string builtins = builtins_for(request.source);
  const Program program =
      make_program(nvrtc_, request.source, builtins, signature_assertions(request));
  add_names(nvrtc_, program.get(), request);
  const std::vector<std::string> options = options_for(request, !builtins.empty());
  const std::vector<const char*> pointers = c_strings(options);
  const nvrtcResult code =
      nvrtc_.compile_program(program.get(), static_cast<int>(pointers.size()), pointers.data());
  const std::string log = program_log(nvrtc_, program.get());
  CompiledKernel compiled;
  compiled.read = read_;
  if (code == NVRTC_ERROR_COMPILATION && !request.signatures.empty()) {
    const SignatureLog read = read_signature_log(request, log);
    if (const auto failure = signature_failure(read)) return *failure;
    if (request.name_expressions.empty()) return compiled;
    if (read.is_about_assertions) return compile(without_signatures(request));
  }
  if (code != NVRTC_SUCCESS) return failure_of(code, log, request);

  const bool as_ptx = is_virtual(request.architecture);
  compiled.image = as_ptx ? ptx(nvrtc_, program.get()) : cubin(nvrtc_, program.get());
  compiled.compile_ms = ms_since(start);
  compiled.log = readable_text(log);
  std::string missing = add_entries(nvrtc_, program.get(), request, compiled);
  if (missing.empty() && !as_ptx) {
    missing = add_resources(log, compute_capability(request.architecture).value_or(0), compiled);
  }
  if (missing.empty()) missing = add_symbols(nvrtc_, program.get(), request, compiled);
  if (missing.empty()) return compiled;
  return failure({Status::compile, "error"},
                 missing + " of " + request.source.files.front().name + "\n" + compiled.log);
}

std::vector<std::string> NvrtcCompiler::options_for(const CompileRequest& request,
                                                    bool has_builtins) const {
  std::vector<std::string> options = own_options_;
  if (has_builtins) options.push_back("--pre-include=" + std::string(kBuiltinsName));
  options.push_back("-arch=" + request.architecture);
  if (std::ranges::none_of(request.options, is_standard_option)) options.emplace_back("-std=c++17");
  options.insert(options.end(), request.options.begin(), request.options.end());
  return options;
}

/// Returns the failure of a program that did not compile. Throws UnavailableError if that is not
/// the program's own fault.
Failure NvrtcCompiler::failure_of(nvrtcResult code, const std::string& log,
                                  const CompileRequest& request) const {
  switch (code) {
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE:
      throw UnavailableError(version() + ": " + nvrtc_.error_string(code) +
                             ": libnvrtc-builtins of the same version is missing beside " +
                             nvrtc_.path.string() + ", or memory ran out\n" + readable_text(log));
    case NVRTC_ERROR_OUT_OF_MEMORY:
      return failure({Status::compile, "out_of_memory"},
                     version() + " ran out of memory\n" + readable_text(log));
    case NVRTC_ERROR_INVALID_OPTION:
      if (log.find("--gpu-architecture") != std::string::npos) {
        throw UnavailableError(version() + " cannot compile for " + request.architecture + ": " +
                               readable_text(log));
      }
      return failure({Status::compile, "error"}, readable_text(log));
    case NVRTC_ERROR_COMPILATION:
      return program_failure(log);
    default:
      return failure({Status::compile, "error"},
                     version() + ": " + nvrtc_.error_string(code) + "\n" + readable_text(log));
  }
}

void NvrtcCompiler::require_architecture(const std::string& architecture) const {
  const auto number = compute_capability(architecture);
  if (number && std::ranges::find(architectures_, *number) != architectures_.end()) return;
  const std::string known = joined(
      architectures_, ", ", [](int capability) { return "sm_" + std::to_string(capability); });
  throw UnavailableError(version() + " cannot compile for " + architecture + ", only for " + known);
}

std::map<std::string, Resources, std::less<>> ptxas_report(std::string_view log) {
  std::map<std::string, Resources, std::less<>> entries;
  Resources* entry = nullptr;
  std::string_view entry_name;
  bool properties_are_of_entry = false;
  std::set<std::string_view> serialized;  // Reported before the entry's own lines.
  while (!log.empty()) {
    // ptxas's error text begins after a NUL, in the middle of a line.
    const std::size_t end = log.find_first_of(std::string_view("\n\0", 2));
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);

    if (const auto name = name_after(line, "Compiling entry function ")) {
      entry_name = *name;
      entry = &entries[std::string(*name)];
      continue;
    }
    if (line.find("wgmma") != line.npos && line.find("instructions are serialized") != line.npos) {
      if (const auto name = name_after(line, "in the function ")) serialized.insert(*name);
      continue;
    }
    if (entry == nullptr) continue;
    // A function that was not inlined has properties of its own inside its entry's report.
    if (const auto name = name_after(line, "Function properties for ")) {
      properties_are_of_entry = *name == entry_name;
      continue;
    }
    if (properties_are_of_entry) {
      if (const auto n = number_before(line, "bytes stack frame")) {
        entry->stack_bytes = std::max(entry->stack_bytes, *n);
      }
    }
    // Spills of called functions cost the entry as its own do.
    if (const auto n = number_before(line, "bytes spill stores")) entry->spill_store_bytes += *n;
    if (const auto n = number_before(line, "bytes spill loads")) entry->spill_load_bytes += *n;
    if (const auto n = number_before(line, "registers")) {
      entry->registers_per_thread = static_cast<int>(*n);
      entry->barriers = static_cast<int>(number_before(line, "barriers").value_or(0));
      entry->static_shared_bytes = number_before(line, "bytes smem").value_or(0);
      const auto cumulative = number_before(line, "bytes cumulative stack size");
      entry->stack_bytes = std::max(entry->stack_bytes, cumulative.value_or(0));
    }
  }
  for (auto& [name, resources] : entries) resources.wgmma_serialized = serialized.contains(name);
  return entries;
}

std::string readable_text(std::string_view text, std::size_t max_bytes) {
  // ptxas's error follows the log and a NUL, and ends with another NUL.
  std::string lines(text);
  std::ranges::replace(lines, '\0', '\n');
  std::string readable = printable_lines(lines);
  const std::size_t last = readable.find_last_not_of("\n \t");
  if (last == std::string::npos) return {};
  readable.replace(last + 1, std::string::npos, "\n");
  if (readable.size() <= max_bytes) return readable;

  const std::string cut = "\n[cut off]\n";
  std::size_t end = max_bytes > cut.size() ? max_bytes - cut.size() : 0;
  const auto continues = [&](std::size_t i) {  // True inside a character that began before.
    return (static_cast<unsigned char>(readable[i]) & 0xC0u) == 0x80u;
  };
  while (end > 0 && continues(end)) --end;
  return (readable.substr(0, end) + cut).substr(0, max_bytes);
}

}  // namespace smemtune::cuda
