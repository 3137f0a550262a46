#include "tuner/backend/cpu/host_compiler.h"

#include "tuner/backend/builtins.h"
#include "tuner/backend/cpu/child_process.h"
#include "tuner/backend/cpu/device_headers.h"
#include "tuner/backend/cpu/module.h"
#include "tuner/backend/cpu/processor.h"
#include "tuner/core/elapsed.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/machine_fault.h"
#include "tuner/core/reasons.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/core/text.h"
#include "tuner/source/directive.h"
#include "tuner/source/host_translation.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace smemtune::cpu {

namespace {

constexpr std::size_t kMaxLogBytes = 64 * 1024;

// Deep enough that `#include "../../common/tile.cuh"` stays inside the temporary folder.
constexpr const char* kSourceFolder = "s/s/s/s/source";
/// The header of the device that includes all others; the first line of each main file.
constexpr const char* kHeader = "cuda_on_host.h";
/// The assembler's list of the files that it has read.
constexpr const char* kAssembled = "assembled";

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw_system_error("what the host compiler wrote, " + path.string(), errno);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Returns true for the messages of g++ and clang++ at the limit of their address space.
bool runs_out_of_memory(std::string_view log) {
  return log.find("out of memory") != std::string_view::npos ||
         log.find("virtual memory exhausted") != std::string_view::npos ||
         log.find("std::bad_alloc") != std::string_view::npos;
}

/// Returns options for NVRTC in the host compiler's form.
std::vector<std::string> host_options(const std::vector<std::string>& options) {
  std::vector<std::string> host;
  for (std::size_t i = 0; i < options.size(); ++i) {
    std::string_view option = options[i];
    if (option.starts_with("--")) option.remove_prefix(1);
    if (option == "-use_fast_math") {
      host.emplace_back("-ffast-math");
    } else if (option == "-fmad=false") {
      host.emplace_back("-ffp-contract=off");
    }
  }
  return host;
}

/// Returns the options that define or undefine macros as `#define` and `#undef`.
std::vector<std::string> macros(const std::vector<std::string>& options) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < options.size(); ++i) {
    std::string_view option = options[i];
    if (option.starts_with("--")) option.remove_prefix(1);
    constexpr std::string_view kLong = "-define-macro=";
    const bool undefines = option.starts_with("-U");
    if (!undefines && !option.starts_with("-D") && !option.starts_with(kLong)) continue;
    std::string text(option.substr(option.starts_with(kLong) ? kLong.size() : 2));
    if (text.empty() && i + 1 < options.size()) text = options[++i];
    const std::size_t equals = text.find('=');
    if (undefines) {
      lines.push_back("#undef " + text);
    } else if (equals == std::string::npos) {
      lines.push_back("#define " + text + " 1");
    } else {
      lines.push_back("#define " + text.substr(0, equals) + " " + text.substr(equals + 1));
    }
  }
  return lines;
}

/// Returns a source that includes the kernel's and has a function for each entry and symbol, which
/// the launcher finds by name.
std::string main_file(const CompileRequest& request, const std::string& source_file) {
  std::ostringstream text;
  text << "#include \"" << kHeader << "\"\n";
  // After that header, whose own names the macros then cannot change.
  for (const std::string& macro : macros(request.options)) text << macro << "\n";
  text << builtins_for(request.source) << "#include \"" << source_file << "\"\n";
  for (std::size_t i = 0; i < request.name_expressions.size(); ++i) {
    text << "#line 1 \"entry " << i << "\"\n"
         << "SMEMTUNE_EXPORT void smemtune_entry_" << i << "(void** arguments) { ::smemtune::call("
         << address_of_entry(request.name_expressions[i]) << ", arguments); }\n"
         << "SMEMTUNE_EXPORT long smemtune_parameter_bytes_" << i
         << "(unsigned index) { return ::smemtune::parameter_bytes("
         << address_of_entry(request.name_expressions[i]) << ", index); }\n";
  }
  for (std::size_t i = 0; i < request.symbol_expressions.size(); ++i) {
    text << "#line 1 \"symbol " << i << "\"\n"
         << "SMEMTUNE_EXPORT unsigned long smemtune_symbol_" << i
         << "(void** address) { *address = "
         << "const_cast<void*>(static_cast<const volatile void*>(&" << request.symbol_expressions[i]
         << ")); return sizeof(" << request.symbol_expressions[i] << "); }\n";
  }
  text << signature_assertions(request);
  return text.str();
}

/// Returns the files outside of `folders` that a dependency file of the compiler (-MF) lists as
/// read. Relative names are relative to `sources`.
std::vector<std::filesystem::path> read_outside(const std::filesystem::path& file,
                                                const std::vector<std::filesystem::path>& folders,
                                                const std::filesystem::path& sources) {
  const std::vector<std::uint8_t> bytes = read_file(file);
  const std::string text(bytes.begin(), bytes.end());
  const auto is_inside = [&](const std::filesystem::path& path) {
    return std::ranges::any_of(folders, [&](const std::filesystem::path& folder) {
      return path.string().starts_with(std::filesystem::canonical(folder).string() + "/");
    });
  };
  std::vector<std::filesystem::path> found;
  std::string name;
  const auto end_name = [&] {
    if (name.empty()) return;
    const auto path = std::filesystem::weakly_canonical(sources / std::exchange(name, {}));
    if (!is_inside(path)) found.push_back(path);
  };
  // The syntax is make's: `fast.o: smemtune_main.cpp /usr/include/a\ b.h \`. A blank in a name has
  // a backslash before it, and each backslash before that one is doubled; # has a backslash, $ is
  // doubled.
  std::size_t backslashes = 0;
  for (std::size_t i = std::min(text.size(), text.find(": ") + 1); i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '\\') {
      ++backslashes;
      continue;
    }
    const bool is_blank = letter == ' ' || letter == '\t';
    const bool ends = letter == '\n' || (is_blank && backslashes % 2 == 0);
    if (is_blank) backslashes /= 2;
    if ((letter == '#' || letter == '\n') && backslashes > 0) --backslashes;
    name.append(std::exchange(backslashes, 0), '\\');
    if (ends) {
      end_name();
    } else {
      name += letter;
      if (letter == '$' && text.substr(i + 1, 1) == "$") ++i;
    }
  }
  end_name();
  return found;
}

Failure unsupported(const std::string& what) {
  return failure({Status::constraints, "cpu_unsupported"}, "the CPU device does not have " + what);
}

/// Returns true if a name that is declared nowhere is one of CUDA's.
bool is_cuda_name(std::string_view name) {
  static constexpr std::array<std::string_view, 14> kBegin = {
      "__",   "atomic", "cooperative_groups",
      "cub",  "cuda",   "curand",
      "CU",   "make",   "nv",
      "surf", "tex",    "thrust",
      "wmma", "cutlass"};
  return std::ranges::any_of(kBegin,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

/// Returns the name that an error of g++ or clang++ calls unknown, as it stands between the first
/// quotes, or the header; empty for another error.
std::string_view unknown_name(std::string_view error) {
  static constexpr std::array<std::string_view, 9> kUnknown = {
      "was not declared",   "has not been declared", "does not name a ",
      "is not a member of", "no arguments to",       "undeclared identifier",
      "unknown type name",  "no member named",       "undeclared (first use"};
  for (const std::string_view missing : {": No such file or directory", "' file not found"}) {
    const std::size_t end = error.find(missing);
    if (end == error.npos) continue;
    const std::size_t begin = error.find_last_of(" '", end - 1) + 1;
    return error.substr(begin, end - begin);
  }
  const auto says = [&](std::string_view words) { return error.find(words) != error.npos; };
  const std::size_t open = error.find('\'');
  if (open == error.npos || !std::ranges::any_of(kUnknown, says)) return {};
  const std::size_t close = error.find('\'', open + 1);
  return close == error.npos ? std::string_view() : error.substr(open + 1, close - open - 1);
}

/// Returns `umin, tex3D` and the place of the first if the compiler found nothing wrong but names
/// or headers of CUDA that this device lacks; else empty.
std::string unknown_names(const std::string& log) {
  std::vector<std::string> names;
  std::string place;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kError = "error: ";
    const std::size_t error = line.find(kError);
    if (error == line.npos || line.starts_with(' ')) continue;
    const std::string name(unknown_name(std::string_view(line).substr(error)));
    const bool is_header = line.find("fatal error: ") != line.npos && !name.empty();
    // An error that follows from it, such as an expression of an unknown type.
    if (name.empty() && !names.empty()) continue;
    if (!is_header && !is_cuda_name(name)) return "";
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    if (place.empty()) place = line.substr(0, line.find(':', line.find(':') + 1));
  }
  return names.empty() ? "" : joined(names, ", ") + " (" + place + ")";
}

/// Writes the files to compile into `folder`, or returns why a file cannot lie there.
std::optional<Failure> write_sources(const CompileRequest& request, const KernelSource& source,
                                     const TemporaryFolder& folder) {
  std::string source_file;
  for (const KernelSource::File& file : source.files) {
    std::filesystem::path name = file.name;
    if (source_file.empty()) {
      // The compiler never sees a name that cannot be written between quotes.
      const bool is_plain = file.name.find_first_of("\"\\\n\r") == std::string::npos;
      name = is_plain ? name.filename() : "kernel.cu";
      source_file = name.string();
    }
    const std::filesystem::path inside = (kSourceFolder / name).lexically_normal();
    if (name.is_absolute() || !inside.string().starts_with("s/")) {
      return unsupported("included files outside of the kernel's folders: " + file.name);
    }
    folder.write(inside, file.text);
  }
  folder.write(std::filesystem::path(kSourceFolder) / kMainFile, main_file(request, source_file));
  return std::nullopt;
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> common_options(const CompileRequest& request, bool is_clang) {
  std::vector<std::string> options = {"-std=c++17",
                                      "-march=native",
                                      "-fPIC",
                                      "-fvisibility=hidden",
                                      "-ffunction-sections",
                                      "-fdata-sections",
                                      "-fno-exceptions",
                                      "-fno-rtti",
                                      "-fno-asynchronous-unwind-tables",
                                      "-fno-strict-aliasing",
                                      "-fwrapv",  // Integers wrap around, as on GPUs.
                                      "-fstack-clash-protection",
                                      "-ffp-contract=fast",
                                      "-w"};
  if (is_clang) {
    options.emplace_back(
        "-fno-gnu-inline-asm");  // Assembly may read files, and clang does not say which.
  } else {
    // Unique symbols exist once in the whole process, and keep a library from being unloaded.
    options.emplace_back("-fno-gnu-unique");
    options.push_back(std::string("-Wa,--MD,") + kAssembled);
    // For a line that it shows, g++ opens the file that #line names, whichever that is.
    const bool shows_lines = std::ranges::none_of(
        request.source.files, [](const auto& file) { return names_lines(file.text); });
    if (!shows_lines) options.emplace_back("-fno-diagnostics-show-caret");
  }
  return with(std::move(options), host_options(request.options));
}

}  // namespace

std::vector<std::uint8_t> pack(const Image& image) {
  const std::uint64_t fast_bytes = image.fast.size();
  std::vector<std::uint8_t> bytes(sizeof fast_bytes + image.fast.size() + image.checked.size());
  std::memcpy(bytes.data(), &fast_bytes, sizeof fast_bytes);
  const auto rest = bytes.begin() + sizeof fast_bytes;
  std::ranges::copy(image.checked, std::ranges::copy(image.fast, rest).out);
  return bytes;
}

Image unpack(std::span<const std::uint8_t> bytes) {
  std::uint64_t fast_bytes = 0;
  if (bytes.size() >= sizeof fast_bytes) std::memcpy(&fast_bytes, bytes.data(), sizeof fast_bytes);
  if (bytes.size() < sizeof fast_bytes || bytes.size() - sizeof fast_bytes < fast_bytes) {
    throw UnavailableError("an image of " + std::to_string(bytes.size()) +
                           " bytes is not one of the CPU device's");
  }
  const std::span<const std::uint8_t> rest = bytes.subspan(sizeof fast_bytes);
  const auto fast = rest.first(static_cast<std::size_t>(fast_bytes));
  const auto checked = rest.subspan(static_cast<std::size_t>(fast_bytes));
  return {.fast = {fast.begin(), fast.end()}, .checked = {checked.begin(), checked.end()}};
}

HostCompiler::HostCompiler() {
  remove_abandoned_folders();
  for (const DeviceHeader& header : device_headers()) headers_.write(header.name, header.text);
  const char* const from_environment = std::getenv("CXX");
  const TemporaryFolder folder;
  for (const char* candidate : {from_environment, "c++", "g++", "clang++"}) {
    if (candidate == nullptr || *candidate == '\0') continue;
    std::istringstream words(candidate);
    command_.assign(std::istream_iterator<std::string>(words), {});
    std::vector<std::string> question = command_;
    question.emplace_back("--version");
    const ChildResult answer = run_child(question, folder.path());
    if (answer.status != 0) continue;
    version_ = printable(first_line(answer.output));
    is_clang_ = version_.find("clang") != std::string::npos;
    std::string all = candidate + ("\n" + processor_name());
    for (const DeviceHeader& header : device_headers()) all += header.text;
    // Variables that also decide where the compiler finds its headers and its parts.
    for (const char* name : {"CPATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"}) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
      const char* const value = std::getenv(name);
      if (value != nullptr) all += std::string("\n") + name + "=" + value;
    }
    sha256_ = smemtune::sha256(all);
    return;
  }
  throw UnavailableError("no C++ compiler works here: tried $CXX, c++, g++ and clang++");
}

Outcome<CompiledKernel> HostCompiler::compile(const CompileRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const auto begun = std::chrono::system_clock::now();
  if (request.source.files.empty()) throw InputError("a kernel without a source");
  const HostTranslation translation = translate_for_host(request.source);
  if (!translation.unsupported.empty()) return unsupported(translation.unsupported);

  const TemporaryFolder folder;
  if (auto failure = write_sources(request, translation.source, folder)) return *failure;
  const std::filesystem::path sources = folder.path() / kSourceFolder;
  const std::vector<std::string> common = common_options(request, is_clang_);
  const std::vector<std::filesystem::path> ours = {folder.path(), headers_.path()};
  std::string log;
  CompiledKernel kernel;
  const bool only_signatures = request.name_expressions.empty();
  const std::vector<std::string> fast =
      only_signatures
          ? with(common, {"-I.", "-I" + headers_.path().string(), "-fsyntax-only", kMainFile})
          : with(with_headers(with(common, {"-O3"})), {"-MD", "-MF", "read", "-o", "fast.o"});
  if (auto failure = run(fast, sources, log)) {
    const SignatureLog read = read_signature_log(request, log);
    if (const auto fault = signature_failure(read)) return *fault;
    if (only_signatures) return kernel;
    if (read.is_about_assertions) return compile(without_signatures(request));
    const std::string unknown = unknown_names(log);
    return unknown.empty() ? *failure : unsupported(unknown);
  }
  for (const auto& path : read_outside(sources / "read", ours, sources)) {
    kernel.read.push_back(read_since(path, begun));
  }
  const std::vector<std::uint8_t> object = read_file(sources / "fast.o");
  for (std::size_t i = 0; i < request.name_expressions.size(); ++i) {
    const std::string name = "smemtune_entry_" + std::to_string(i);
    const Uses uses = uses_of(object, name);
    if (std::ranges::find(uses.undefined, "smemtune_inline_ptx") != uses.undefined.end()) {
      return unsupported("inline PTX, " + translation.inline_ptx);
    }
    kernel.entries.push_back({.name_expression = request.name_expressions[i],
                              .lowered_name = name,
                              .resources = {.static_shared_bytes = uses.shared_bytes},
                              .code_sha256 = ""});
  }
  for (std::size_t i = 0; i < request.symbol_expressions.size(); ++i) {
    kernel.symbols.push_back({.name_expression = request.symbol_expressions[i],
                              .lowered_name = "smemtune_symbol_" + std::to_string(i)});
  }

  std::vector<std::string> checked =
      with_headers(with(common, {"-O1", "-g1", "-DSMEMTUNE_CHECKED", "-fsanitize=thread",
                                 "-fsanitize=bounds,alignment"}));
  checked = with(checked, {"-MMD", "-MF", "read_of_users", "-o", "checked.o",
                           // Module::line_of() must not depend on the temporary folder's name.
                           "-fdebug-prefix-map=" + sources.string() + "=" + kSourcesPrefix});
  // The headers report atomics themselves; clang would instrument them everywhere.
  if (is_clang_) checked = with(checked, {"-mllvm", "-tsan-instrument-atomics=0"});
  if (auto failure = run(checked, sources, log)) return *failure;
  // A file that was read here is neither the kernel's nor a system header, or was named by .incbin:
  // results would not follow its changes.
  for (const char* const said : {"read_of_users", kAssembled}) {
    if (is_clang_ && said == kAssembled) continue;
    const auto users = read_outside(sources / said, ours, sources);
    if (users.empty()) continue;
    return failure({Status::compile, "error"},
                   users.front().string() + " was read, which is not one of the kernel's files");
  }
  // No libraries are linked: undefined names are those of the C library of the process that loads
  // the object. Hooks of instrumented code are found in the object itself before any in that
  // process.
  for (const std::string& name : std::vector<std::string>{"fast", "checked"}) {
    if (auto failure = run(
            {"-shared", "-nostdlib", "-Wl,-Bsymbolic", name + ".o", "-lgcc", "-o", name + ".so"},
            sources, log)) {
      return *failure;
    }
  }
  kernel.image =
      pack({.fast = read_file(sources / "fast.so"), .checked = read_file(sources / "checked.so")});
  kernel.log = log.substr(0, kMaxLogBytes);
  kernel.compile_ms = ms_since(start);
  return kernel;
}

/// Returns options that compile the main file with `options` and the device's headers. A third of a
/// small kernel's compile time would go to these: from the second request with the same options on
/// g++ finds them precompiled.
std::vector<std::string> HostCompiler::with_headers(std::vector<std::string> options) {
  const std::string precompiled =
      (headers_.path() / smemtune::sha256(joined(options, " "))).string();
  if (!is_clang_ && ++requests_[precompiled] == 2) {
    std::filesystem::create_directory(precompiled);
    std::string log;  // Not shown: without a result, the headers themselves are read.
    run(with(options, {"-x", "c++-header", kHeader, "-o", precompiled + "/" + kHeader + ".gch"}),
        headers_.path(), log);
  }
  return with(std::move(options),
              {"-I.", "-I" + precompiled, "-I" + headers_.path().string(), "-c", kMainFile});
}

/// Runs the compiler in `folder` and appends its output to the log.
std::optional<Failure> HostCompiler::run(const std::vector<std::string>& options,
                                         const std::filesystem::path& folder,
                                         std::string& log) const {
  const ChildResult result = run_child(with(command_, options), folder);
  log += printable_lines(std::string_view(result.output).substr(0, kMaxLogBytes));
  if (result.status == 0) return std::nullopt;
  if (result.status == kNotFound) throw UnavailableError("cannot run " + command_.front());
  if (runs_out_of_memory(log)) {
    return failure({Status::compile, "out_of_memory"},
                   "the compiler needs more memory than its worker may have\n" + log);
  }
  const std::string ended =
      command_.front() + " ended with status " + std::to_string(result.status);
  if (result.status == kNoProcess || result.status > kSignalled || tells_of_shortage(log)) {
    throw MachineError(ended + (log.empty() ? "" : ": " + log));
  }
  return failure({Status::compile, "error"}, log.empty() ? ended : log);
}

}  // namespace smemtune::cpu
