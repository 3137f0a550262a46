#pragma once

#include "tuner/core/limits.h"
#include "tuner/core/outcome.h"
#include "tuner/core/space.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune {

/// What to compile. Holds all sources, so that it can be sent to another process.
struct CompileRequest {
  std::string architecture;  ///< `sm_90`, `sm_90a`; `host` for the CPU device.
  KernelSource source;
  std::vector<std::string> name_expressions;    ///< Of entries: `gemm_tiled<float, 32>`; each once.
  std::vector<std::string> symbol_expressions;  ///< Of __constant__ symbols.
  std::vector<std::string> options;             ///< Checked by the loader of the space file.

  bool operator==(const CompileRequest&) const = default;
};

struct CompiledEntry {
  std::string name_expression;
  std::string lowered_name;  ///< By which the module knows it.
  Resources resources;

  bool operator==(const CompiledEntry&) const = default;
};

struct CompiledSymbol {
  std::string name_expression;
  std::string lowered_name;

  bool operator==(const CompiledSymbol&) const = default;
};

/// A module and what the compiler reported of it.
struct CompiledKernel {
  std::vector<CompiledEntry> entries;   ///< In the request's order.
  std::vector<CompiledSymbol> symbols;  ///< In the request's order.
  std::vector<std::uint8_t> image;      ///< A cubin; a shared object for the CPU device.
  std::string log;                      ///< Warnings and the ptxas report; at most 64 KB.
  double compile_ms = 0;

  bool operator==(const CompiledKernel&) const = default;

  const CompiledEntry* entry(const std::string& name_expression) const;
};

/// Turns sources into modules. Lives in a compile worker, which may be killed or die.
class Compiler {
 public:
  virtual ~Compiler() = default;

  /// `NVRTC 13.0`: stored with the results.
  virtual std::string version() const = 0;

  /// Hash of the compiler's own files, 64 hexadecimal digits; empty when version() says it all.
  virtual std::string sha256() const { return {}; }

  /// Failure with status `compile` and reason `error`; its detail is the compiler's log (at most
  /// 64 KB, control characters removed). Throws UnavailableError when the compiler itself is
  /// broken.
  virtual Outcome<CompiledKernel> compile(const CompileRequest& request) = 0;
};

}  // namespace smemtune
