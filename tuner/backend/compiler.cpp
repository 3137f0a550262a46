#include "tuner/backend/compiler.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace smemtune {

namespace {

using Places = std::span<const std::size_t>;

template <typename T>
void add_new(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  }
}

/// Compiles one program for the requests at `places`, which all belong to it.
void compile_as_one(Compiler& compiler, std::span<const CompileRequest> requests, Places places,
                    CompiledTogether& outcomes) {
  CompileRequest merged = requests[places.front()];
  for (const std::size_t place : places.subspan(1)) {
    add_new(merged.name_expressions, requests[place].name_expressions);
    add_new(merged.symbol_expressions, requests[place].symbol_expressions);
    add_new(merged.signatures, requests[place].signatures);
  }
  Outcome<CompiledKernel> compiled = compiler.compile(merged);
  if (compiled) {
    const auto module = std::make_shared<const CompiledKernel>(std::move(*compiled));
    for (const std::size_t place : places) outcomes[place] = module;
  } else if (places.size() == 1) {
    outcomes[places.front()] = compiled.failure();
  } else {
    const std::size_t half = places.size() / 2;
    compile_as_one(compiler, requests, places.first(half), outcomes);
    compile_as_one(compiler, requests, places.subspan(half), outcomes);
  }
}

}  // namespace

const CompiledEntry* CompiledKernel::entry(const std::string& name_expression) const {
  const auto found = std::ranges::find(entries, name_expression, &CompiledEntry::name_expression);
  return found == entries.end() ? nullptr : &*found;
}

const CompiledSymbol* CompiledKernel::symbol(const std::string& name_expression) const {
  const auto found = std::ranges::find(symbols, name_expression, &CompiledSymbol::name_expression);
  return found == symbols.end() ? nullptr : &*found;
}

bool of_one_program(const CompileRequest& a, const CompileRequest& b) {
  return a.architecture == b.architecture && a.options == b.options && a.source == b.source;
}

CompiledTogether Compiler::compile_together(std::span<const CompileRequest> requests) {
  CompiledTogether outcomes(requests.size(), Failure{});
  std::vector<bool> done(requests.size());
  for (std::size_t first = 0; first < requests.size(); ++first) {
    if (done[first]) continue;
    std::vector<std::size_t> places;
    for (std::size_t i = first; i < requests.size(); ++i) {
      if (done[i] || !of_one_program(requests[first], requests[i])) continue;
      places.push_back(i);
      done[i] = true;
    }
    compile_as_one(*this, requests, places, outcomes);
  }
  return outcomes;
}

}  // namespace smemtune
