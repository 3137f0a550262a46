#pragma once

#include "tuner/backend/signature.h"
#include "tuner/core/facts.h"
#include "tuner/core/limits.h"
#include "tuner/core/outcome.h"
#include "tuner/core/space.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// A file that a compiler read besides its input, or a folder that it may have read from: a header
/// of the system, the toolkit's headers.
struct ReadPlace {
  std::string path;
  std::string state;  ///< The place's state_of() at that time.

  bool operator==(const ReadPlace&) const = default;
};

/// Returns a text of sizes and times that changes when a file, or anything in a folder or in what
/// its links lead to, is replaced or written to. Contents are not read.
std::string state_of(const std::filesystem::path& place);

/// Returns the place with its current state.
ReadPlace read_place(const std::filesystem::path& place);

/// Returns the file as a compiler that began at `begun` has read it. If that cannot be told,
/// because the file does not exist or was written to since, the state is one that no file ever has.
ReadPlace read_since(const std::filesystem::path& file,
                     std::chrono::system_clock::time_point begun);

/// A request to compile kernels. Holds all sources, so that it can be sent to another process.
struct CompileRequest {
  /// `sm_90`, `sm_90a`; `host` for the CPU device; `compute_90` for PTX, without resources.
  std::string architecture;
  KernelSource source;
  std::vector<std::string> name_expressions;    ///< Entries, `gemm_tiled<float, 32>`; each once.
  std::vector<std::string> symbol_expressions;  ///< Expressions of __constant__ symbols.
  std::vector<std::string> options;  ///< Already checked by the loader of the space file.
  /// The arguments that the space passes to the entries, one signature for each kernel; empty when
  /// not known. If the request has no name expressions, only the signatures are checked and nothing
  /// is compiled.
  std::vector<Signature> signatures = {};

  bool operator==(const CompileRequest&) const = default;
};

/// Returns an expression for an entry's address: casts are addresses themselves.
inline std::string address_of_entry(const std::string& name_expression) {
  return is_cast(name_expression) ? name_expression : "&" + name_expression;
}

struct CompiledEntry {
  std::string name_expression;
  std::string lowered_name;  ///< The entry's name in the module.
  Resources resources;
  /// Hash of the entry's machine code and of what the code refers to, independent of the entry's
  /// name: entries with equal hashes and resources do the same. Empty when it cannot be told.
  std::string code_sha256;
  Facts code = {};  ///< Counts of the machine code's instructions; empty when they are not known.

  bool operator==(const CompiledEntry&) const = default;
};

struct CompiledSymbol {
  std::string name_expression;
  std::string lowered_name;

  bool operator==(const CompiledSymbol&) const = default;
};

/// A module and what the compiler reported of it.
struct CompiledKernel {
  std::vector<CompiledEntry> entries;   ///< All requested entries, in any order.
  std::vector<CompiledSymbol> symbols;  ///< All requested symbols, in any order.
  std::vector<std::uint8_t> image;      ///< A cubin; a shared object for the CPU device.
  std::vector<ReadPlace> read;          ///< Other files and folders that the result depends on.
  std::string log;                      ///< Warnings and the ptxas report; at most 64 KB.
  double compile_ms = 0;

  bool operator==(const CompiledKernel&) const = default;

  const CompiledEntry* entry(const std::string& name_expression) const;
  const CompiledSymbol* symbol(const std::string& name_expression) const;
};

/// Outcomes of several requests, in the order of the requests. Requests that were compiled in one
/// program share its module, which then holds more entries than each of them asked for.
using CompiledTogether = std::vector<Outcome<std::shared_ptr<const CompiledKernel>>>;

/// Returns true if two requests differ only in what they instantiate.
bool of_one_program(const CompileRequest& a, const CompileRequest& b);

/// Turns sources into modules. Lives in a compile worker, which may be killed or die.
class Compiler {
 public:
  virtual ~Compiler() = default;

  /// Returns the compiler's name and version, `NVRTC 13.0`, which is stored with the results.
  virtual std::string version() const = 0;

  /// Returns a hash of the compiler's own files, 64 hexadecimal digits; empty when version() is
  /// enough to identify it.
  virtual std::string sha256() const { return {}; }

  /// Compiles a request. A source that does not compile gives a Failure with status `compile` and
  /// reason `error`, whose detail is the compiler's log (at most 64 KB, control characters
  /// removed). If an entry takes other arguments than the space passes, the reason is `signature`
  /// and the detail has a line for each. Throws UnavailableError when the compiler itself is
  /// broken.
  virtual Outcome<CompiledKernel> compile(const CompileRequest& request) = 0;

  /// Returns what compile() would return for each request. Requests of one program are compiled as
  /// one; when that fails, each half is compiled by itself, so that every request gets its own
  /// failure and costs the others only time.
  virtual CompiledTogether compile_together(std::span<const CompileRequest> requests);
};

}  // namespace smemtune
