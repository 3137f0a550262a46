#pragma once

#include "tuner/backend/read_place.h"
#include "tuner/backend/signature.h"
#include "tuner/core/limits.h"
#include "tuner/core/outcome.h"
#include "tuner/core/space.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// What to compile. Holds all sources, so that it can be sent to another process.
struct CompileRequest {
  /// `sm_90`, `sm_90a`; `host` for the CPU device; `compute_90` for PTX, without resources.
  std::string architecture;
  KernelSource source;
  std::vector<std::string> name_expressions;    ///< Of entries: `gemm_tiled<float, 32>`; each once.
  std::vector<std::string> symbol_expressions;  ///< Of __constant__ symbols.
  std::vector<std::string> options;             ///< Checked by the loader of the space file.
  /// What the entries are passed, one for each kernel; empty: not known. Where the request has no
  /// name expressions, these are all that is looked at, and nothing is compiled.
  std::vector<Signature> signatures = {};

  bool operator==(const CompileRequest&) const = default;
};

struct CompiledEntry {
  std::string name_expression;
  std::string lowered_name;  ///< By which the module knows it.
  Resources resources;
  /// Of its machine code and what that refers to, whatever the entry is called: entries with equal
  /// hashes and resources do the same. Empty where that cannot be said.
  std::string code_sha256;

  bool operator==(const CompiledEntry&) const = default;
};

struct CompiledSymbol {
  std::string name_expression;
  std::string lowered_name;

  bool operator==(const CompiledSymbol&) const = default;
};

/// A module and what the compiler reported of it.
struct CompiledKernel {
  std::vector<CompiledEntry> entries;   ///< All that were asked for, in any order.
  std::vector<CompiledSymbol> symbols;  ///< The same.
  std::vector<std::uint8_t> image;      ///< A cubin; a shared object for the CPU device.
  std::vector<ReadPlace> read;          ///< What else it depends on.
  std::string log;                      ///< Warnings and the ptxas report; at most 64 KB.
  double compile_ms = 0;

  bool operator==(const CompiledKernel&) const = default;

  const CompiledEntry* entry(const std::string& name_expression) const;
  const CompiledSymbol* symbol(const std::string& name_expression) const;
};

/// What came of several requests, in their order. Requests that were compiled in one program share
/// its module, which then holds more entries than each of them asked for.
using CompiledTogether = std::vector<Outcome<std::shared_ptr<const CompiledKernel>>>;

/// Whether two requests differ only in what they instantiate.
bool of_one_program(const CompileRequest& a, const CompileRequest& b);

/// Turns sources into modules. Lives in a compile worker, which may be killed or die.
class Compiler {
 public:
  virtual ~Compiler() = default;

  /// `NVRTC 13.0`: stored with the results.
  virtual std::string version() const = 0;

  /// Hash of the compiler's own files, 64 hexadecimal digits; empty when version() says it all.
  virtual std::string sha256() const { return {}; }

  /// Failure with status `compile` and reason `error`; its detail is the compiler's log (at most
  /// 64 KB, control characters removed). Where an entry takes other arguments than it is passed,
  /// the reason is `signature` and the detail has a line for each. Throws UnavailableError when the
  /// compiler itself is broken.
  virtual Outcome<CompiledKernel> compile(const CompileRequest& request) = 0;

  /// What compile() would say of each request. Those of one program are compiled as one; when that
  /// fails, each half by itself, so that every request gets its own failure and costs the others
  /// only time.
  virtual CompiledTogether compile_together(std::span<const CompileRequest> requests);
};

}  // namespace smemtune
