#include "tuner/engine/compile_queue.h"

#include "tuner/core/hash.h"

#include <algorithm>
#include <utility>

namespace smemtune {

namespace {

std::size_t bytes_of(const CompiledKernel& module) {
  return module.image.size() + module.log.size();
}

std::string key_of(const CompileRequest& request) {
  const std::vector<std::uint8_t> bytes = pack(request);
  return sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::uint64_t CompileQueue::add(CompileRequest request) { return add(std::move(request), false); }

std::uint64_t CompileQueue::add_first(CompileRequest request) {
  return add(std::move(request), true);
}

std::uint64_t CompileQueue::add(CompileRequest request, bool first) {
  Wanted wanted = {.request = std::move(request), .key = "", .first = first};
  wanted.key = key_of(wanted.request);
  const std::uint64_t number = ++last_number_;
  if (Module module = recall(wanted.key)) {
    wanted.outcome = std::move(module);
  } else {
    order_.insert(first ? order_.begin() : order_.end(), number);
  }
  wanted_.emplace(number, std::move(wanted));
  return number;
}

bool CompileQueue::ready(std::uint64_t number) const {
  const auto found = wanted_.find(number);
  return found != wanted_.end() && found->second.outcome.has_value();
}

Outcome<Module> CompileQueue::take(std::uint64_t number) {
  const auto found = wanted_.find(number);
  Outcome<Module> outcome = std::move(*found->second.outcome);
  forget(number);
  return outcome;
}

void CompileQueue::forget(std::uint64_t number) {
  std::erase(order_, number);
  wanted_.erase(number);
}

void CompileQueue::pump() {
  while (!order_.empty() && pool_.idle_compilers() > 0) {
    Wanted& wanted = wanted_.at(order_.front());
    make_room();
    if (*held_bytes_ > max_bytes_ && !wanted.first) return;
    order_.pop_front();
    // The same may have been compiled for someone else meanwhile.
    if (Module module = recall(wanted.key)) {
      wanted.outcome = std::move(module);
      continue;
    }
    const bool underway = std::ranges::any_of(
        working_, [&](const auto& working) { return working.second == wanted.key; });
    if (!underway) working_[pool_.compile(wanted.request)] = wanted.key;
  }
}

void CompileQueue::handle(const WorkerEvent& event) {
  if (event.kind != WorkerEvent::Kind::compiled) return;
  const auto working = working_.find(event.ticket);
  if (working == working_.end()) return;
  const std::string key = working->second;
  working_.erase(working);
  std::optional<Outcome<Module>> outcome;
  if (event.compiled) {
    ++compiled_;
    Module module = hold(*event.compiled);
    remember(key, module);
    outcome = std::move(module);
  } else {
    outcome = event.compiled.failure();
  }
  for (auto& [number, wanted] : wanted_) {
    if (wanted.key != key || wanted.outcome) continue;
    wanted.outcome = outcome;
    std::erase(order_, number);
  }
}

Module CompileQueue::hold(CompiledKernel compiled) const {
  auto* module = new CompiledKernel(std::move(compiled));
  const std::size_t bytes = bytes_of(*module);
  *held_bytes_ += bytes;
  return {module, [bytes, held = held_bytes_](const CompiledKernel* ended) {
            *held -= bytes;
            delete ended;
          }};
}

void CompileQueue::remember(const std::string& key, const Module& module) {
  if (by_key_.contains(key)) return;
  remembered_.push_front({key, module});
  by_key_[key] = remembered_.begin();
}

void CompileQueue::make_room() {
  while (*held_bytes_ > max_bytes_ && !remembered_.empty()) {
    by_key_.erase(remembered_.back().key);
    remembered_.pop_back();
  }
}

Module CompileQueue::recall(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  remembered_.splice(remembered_.begin(), remembered_, found->second);
  return found->second->module;
}

}  // namespace smemtune
