#pragma once

#include "tuner/backend/compiler.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace smemtune {

/// Compiles each request with the compiler that its options name (compiler_options.h), or with the
/// first when they name none.
class SeveralCompilers final : public Compiler {
 public:
  /// `by_version`: at least one compiler. `first`: one of these versions.
  SeveralCompilers(std::map<std::int64_t, std::unique_ptr<Compiler>> by_version,
                   std::int64_t first);

  /// Returns the versions of all compilers, the first one leading: `NVRTC 13.0, NVRTC 11.8`.
  std::string version() const override;
  std::string sha256() const override;
  Outcome<CompiledKernel> compile(const CompileRequest& request) override;
  CompiledTogether compile_together(std::span<const CompileRequest> requests) override;

 private:
  Compiler& compiler(std::int64_t version) const;

  std::map<std::int64_t, std::unique_ptr<Compiler>> by_version_;
  std::int64_t first_;
};

}  // namespace smemtune
