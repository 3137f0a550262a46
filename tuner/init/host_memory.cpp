#include "tuner/init/host_memory.h"

#include "tuner/init/host_terms.h"

#include <string_view>

namespace smemtune {

void HostMemory::read_call(const CallText& text, const DeclaredFunction* function,
                           HostState& state) {
  const std::vector<std::string>& parts = text.arguments;
  const bool copies =
      text.name == "cudaMemcpy" || text.name == "cudaMemcpyAsync" || text.name == "cudaMemset";
  const std::size_t copied = text.name == "cudaMemset" ? 1 : 2;
  for (std::size_t i = 0; copies && parts.size() > 2 && i < copied; ++i) {
    copied_.emplace(pointer_in(parts[i]), parts[2]);
    if (function != nullptr) add_size(pointer_in(parts[i]), parts[2], *function, state);
  }
  const bool is_symbol = text.name == "cudaGetSymbolAddress";
  const bool allocates = is_symbol || text.name.starts_with("cudaMalloc");
  if (copies || !allocates || parts.size() < 2) return;
  const bool has_pitch = text.name == "cudaMallocPitch" && parts.size() > 3;
  const std::string bytes = has_pitch   ? "(" + parts[2] + ") * (" + parts[3] + ")"
                            : is_symbol ? "sizeof(" + parts[1] + ")"
                                        : parts[1];
  const std::string pointer = pointer_in(parts[0]);
  state.set_bytes(pointer, bytes);
  if (function == nullptr) return;
  own_[pointer] = cpp_tokens(bytes).size() == 1 ? state.value(bytes).value_or(bytes) : bytes;
  if (const auto number = function->parameter(pointer)) {
    for_parameters_[function][*number] = own_[pointer];
  }
  if (function->of_class.empty()) allocated_.emplace(pointer, bytes);
  add_size(pointer, bytes, *function, state);
}

void HostMemory::pass_back(const CallText& text, const FunctionCall& call, HostState& state) {
  for (const auto& [number, callees] : for_parameters_[call.callee]) {
    if (number >= text.arguments.size()) continue;
    const std::vector<std::string_view> names = identifiers(text.arguments[number]);
    if (names.empty()) continue;
    const std::string bytes = call.in_caller(callees);
    state.set_bytes(std::string(names.back()), bytes);
    allocated_.emplace(names.back(), bytes);
  }
}

void HostMemory::add_returned(const std::string& pointer, const DeclaredFunction& function) {
  const auto bytes = own_.find(pointer);
  if (bytes != own_.end()) returned_[&function] = bytes->second;
}

void HostMemory::give_returned(const std::string& pointer, const FunctionCall& call,
                               HostState& state) {
  const auto returned = returned_.find(call.callee);
  if (returned == returned_.end() || returned->second.empty()) return;
  const std::string bytes = call.in_caller(returned->second);
  state.set_bytes(pointer, bytes);
  allocated_.emplace(pointer, bytes);
}

void HostMemory::add_host_array(const std::string& name, const std::string& bytes,
                                const DeclaredFunction* function) {
  const bool is_own = function != nullptr && function->of_class.empty();
  of_host_[is_own ? function : nullptr].emplace(name, bytes);
}

Sizes HostMemory::common(const std::vector<HostCall>& calls, const Callers& callers) const {
  Sizes common = allocated_;
  common.insert(copied_.begin(), copied_.end());
  for (const auto& [pointer, sizes] : sized_by_) {
    for (const auto& [function, name] : sizes) {
      if (!callers.contains(function)) continue;
      std::set<std::string> passed;
      for (const HostCall& call : calls) {
        const auto text = call.passed.find(name);
        const bool is_its = call.callee == function->name && text != call.passed.end();
        if (is_its) passed.insert(text->second);
      }
      if (passed.size() > 1) common.erase(pointer);
    }
  }
  return common;
}

HostFrame HostMemory::frame(const DeclaredFunction& function, const HostState& state,
                            const Sizes& common) const {
  HostFrame frame = state.frame(common);
  frame.function = function.name;
  for (const DeclaredFunction* const holder :
       {&function, static_cast<const DeclaredFunction*>(nullptr)}) {
    const auto arrays = of_host_.find(holder);
    if (arrays == of_host_.end()) continue;
    frame.allocated.insert(arrays->second.begin(), arrays->second.end());
  }
  return frame;
}

void HostMemory::add_size(const std::string& pointer, const std::string& bytes,
                          const DeclaredFunction& function, const HostState& state) {
  for (const std::string& name : function.parameters) {
    if (state.uses(bytes, {name})) sized_by_[pointer].emplace(&function, name);
  }
}

std::optional<std::string> allocated_bytes(const CppTokens& tokens, TokenRange value) {
  for (std::size_t j = value.first; j + 1 < value.end; ++j) {
    if (tokens[j].is("new")) {
      std::size_t open = j + 1;
      while (open < value.end && (tokens[open].is_word() || tokens[open].is("::"))) ++open;
      const std::size_t end =
          open < value.end && tokens[open].is("[") ? closing(tokens, open) : kNoToken;
      if (end >= value.end) return std::nullopt;
      return "(" + joined(tokens, {open + 1, end}) + ") * sizeof(" + joined(tokens, {j + 1, open}) +
             ")";
    }
    const bool is_call = tokens[j].is("malloc", "calloc") && tokens[j + 1].is("(");
    if (!is_call || closing(tokens, j + 1) >= value.end) continue;
    const std::vector<std::string> parts = parts_in(tokens, j + 1);
    if (tokens[j].is("malloc") && parts.size() == 1) return parts[0];
    if (tokens[j].is("calloc") && parts.size() == 2) return "(" + parts[0] + ") * " + parts[1];
  }
  return std::nullopt;
}

}  // namespace smemtune
