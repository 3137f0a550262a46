#pragma once

#include "tuner/backend/compiler.h"

namespace smemtune::fake {

/// "Compiles" scripts (script_test_support.h): a module is the script itself. Faults in `compile` strike here.
class FakeCompiler final : public Compiler {
 public:
  /// `reply_descriptor`: where the fault `garbage` writes.
  explicit FakeCompiler(int reply_descriptor = -1) : reply_descriptor_(reply_descriptor) {}

  std::string version() const override { return "fake 1"; }
  std::string sha256() const override;
  Outcome<CompiledKernel> compile(const CompileRequest& request) override;

 private:
  int reply_descriptor_;
};

}  // namespace smemtune::fake
