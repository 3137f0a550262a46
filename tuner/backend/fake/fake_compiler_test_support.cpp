#include "tuner/backend/fake/fake_compiler_test_support.h"

#include "tuner/backend/fake/fake_module_test_support.h"
#include "tuner/backend/fake/script_test_support.h"
#include "tuner/core/hash.h"
#include "tuner/core/reasons.h"

namespace smemtune::fake {

namespace {

std::string code_sha256(const Script& script, const std::string& name_expression,
                        const Bindings& bindings) {
  if (script.code.empty()) return smemtune::sha256(name_expression + key(bindings));
  return smemtune::sha256(script.entry + std::to_string(evaluate(script.code, bindings)));
}

}  // namespace

std::string FakeCompiler::sha256() const { return smemtune::sha256(version()); }

Outcome<CompiledKernel> FakeCompiler::compile(const CompileRequest& request) {
  CompiledKernel compiled;
  const std::string& text = request.source.files.at(0).text;
  const Script script = parse_script(text);
  for (const std::string& name_expression : request.name_expressions) {
    const Bindings bindings = bindings_of(script, name_expression, request.options);
    if (const auto fault = fault_at(script, "compile", bindings)) {
      if (*fault == "error") {
        return failure({Status::compile, "error"},
                       "error: the script asks for one at " + name_expression);
      }
      commit(*fault, reply_descriptor_);
    }
    CompiledEntry entry = {.name_expression = name_expression,
                           .lowered_name = "_Z" + name_expression,
                           .resources = {},
                           .code_sha256 = code_sha256(script, name_expression, bindings)};
    entry.resources.registers_per_thread = static_cast<int>(evaluate(script.registers, bindings));
    entry.resources.static_shared_bytes = evaluate(script.static_shared, bindings);
    entry.resources.spill_store_bytes = evaluate(script.spills, bindings);
    entry.resources.spill_load_bytes = entry.resources.spill_store_bytes;
    entry.code = {{"code.instructions", entry.resources.registers_per_thread}};
    entry.resources.wgmma_serialized = evaluate(script.wgmma_serialized, bindings) != 0;
    compiled.entries.push_back(std::move(entry));
  }
  for (const std::string& symbol : request.symbol_expressions) {
    compiled.symbols.push_back({.name_expression = symbol, .lowered_name = symbol});
  }
  compiled.image = to_image({.script = text, .options = request.options});
  compiled.log = "compiled " + std::to_string(compiled.entries.size()) + " entries";
  compiled.compile_ms = 1;
  return compiled;
}

}  // namespace smemtune::fake
