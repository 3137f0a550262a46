#include "tuner/engine/several_compilers.h"

#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace smemtune {

SeveralCompilers::SeveralCompilers(std::map<std::int64_t, std::unique_ptr<Compiler>> by_version,
                                   std::int64_t first)
    : by_version_(std::move(by_version)), first_(first) {}

std::string SeveralCompilers::version() const {
  std::string text = compiler(first_).version();
  for (const auto& [version, compiler] : by_version_) {
    if (version != first_) text += ", " + compiler->version();
  }
  return text;
}

std::string SeveralCompilers::sha256() const {
  if (by_version_.size() == 1) return compiler(first_).sha256();
  std::string digests;
  for (const auto& [version, compiler] : by_version_) digests += compiler->sha256();
  return smemtune::sha256(digests);
}

Outcome<CompiledKernel> SeveralCompilers::compile(const CompileRequest& request) {
  CompileRequest plain = request;
  const std::int64_t version = take_compiler(plain.options).value_or(first_);
  return compiler(version).compile(plain);
}

CompiledTogether SeveralCompilers::compile_together(std::span<const CompileRequest> requests) {
  std::map<std::int64_t, std::pair<std::vector<CompileRequest>, std::vector<std::size_t>>> asked;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CompileRequest plain = requests[i];
    auto& [of_version, places] = asked[take_compiler(plain.options).value_or(first_)];
    of_version.push_back(std::move(plain));
    places.push_back(i);
  }
  CompiledTogether outcomes(requests.size(), Failure{});
  for (const auto& [version, of_version] : asked) {
    CompiledTogether compiled = compiler(version).compile_together(of_version.first);
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      outcomes[of_version.second[i]] = std::move(compiled[i]);
    }
  }
  return outcomes;
}

Compiler& SeveralCompilers::compiler(std::int64_t version) const {
  const auto found = by_version_.find(version);
  if (found != by_version_.end()) return *found->second;
  throw UnavailableError("NVRTC " + compiler_version_text(version) +
                         " is asked for and not among those that are given (--nvrtc)");
}

}  // namespace smemtune
