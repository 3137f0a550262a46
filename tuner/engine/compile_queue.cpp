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

std::string program_of(CompileRequest request) {
  request.name_expressions.clear();
  request.symbol_expressions.clear();
  return key_of(request);
}

}  // namespace

std::uint64_t CompileQueue::add(CompileRequest request) { return add(std::move(request), false); }

std::uint64_t CompileQueue::add_first(CompileRequest request) {
  return add(std::move(request), true);
}

std::uint64_t CompileQueue::add(CompileRequest request, bool first) {
  Wanted wanted = {.request = std::move(request), .key = "", .program = "", .first = first};
  wanted.key = key_of(wanted.request);
  wanted.program = program_of(wanted.request);
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

Outcome<std::vector<Module>> CompileQueue::take(const std::vector<std::uint64_t>& numbers) {
  std::vector<Module> modules;
  std::optional<Failure> failure;
  for (const std::uint64_t number : numbers) {
    Outcome<Module> module = take(number);
    if (module) {
      modules.push_back(*module);
    } else if (!failure) {
      failure = module.failure();
    }
  }
  if (failure) return *failure;
  return modules;
}

void CompileQueue::forget(std::uint64_t number) {
  std::erase(order_, number);
  wanted_.erase(number);
}

/// What to compile next: the first of what is wanted, and more of its program where that pays.
std::vector<std::uint64_t> CompileQueue::next_batch() {
  const Wanted& front = wanted_.at(order_.front());
  std::vector<std::uint64_t> of_program;
  for (const std::uint64_t number : order_) {
    const Wanted& wanted = wanted_.at(number);
    const bool fits = !wanted.first && !wanted.alone && wanted.program == front.program;
    if (fits || of_program.empty()) of_program.push_back(number);
  }
  if (front.first || front.alone) return {order_.front()};
  of_program.resize(batch_sizes_[front.program].next(of_program.size(), pool_.compilers()));
  return of_program;
}

void CompileQueue::pump() {
  while (!order_.empty() && pool_.idle_compilers() > 0) {
    make_room();
    if (*held_bytes_ > max_bytes_ && !wanted_.at(order_.front()).first) return;
    CompileBatch batch;
    std::vector<std::string> keys;
    for (const std::uint64_t number : next_batch()) {
      Wanted& wanted = wanted_.at(number);
      std::erase(order_, number);
      // The same may have been compiled for someone else meanwhile, or is being compiled.
      if (Module module = recall(wanted.key)) {
        wanted.outcome = std::move(module);
        continue;
      }
      const auto has_key = [&](const std::vector<std::string>& others) {
        return std::ranges::find(others, wanted.key) != others.end();
      };
      const bool underway =
          has_key(keys) || std::ranges::any_of(working_, [&](const auto& working) {
            return has_key(working.second);
          });
      if (underway) continue;
      batch.requests.push_back(wanted.request);
      keys.push_back(wanted.key);
    }
    if (!keys.empty()) working_[pool_.compile(std::move(batch))] = std::move(keys);
  }
}

void CompileQueue::handle(const WorkerEvent& event) {
  if (event.kind != WorkerEvent::Kind::compiled) return;
  const auto working = working_.find(event.ticket);
  if (working == working_.end()) return;
  const std::vector<std::string> keys = std::move(working->second);
  working_.erase(working);
  if (event.not_compiled || (event.compiler_lost && keys.size() > 1)) {
    // Which of them did it is found by compiling each by itself, before anything else.
    for (auto entry = wanted_.rbegin(); entry != wanted_.rend(); ++entry) {
      Wanted& wanted = entry->second;
      if (wanted.outcome || std::ranges::find(keys, wanted.key) == keys.end()) continue;
      wanted.alone = wanted.alone || event.compiler_lost;
      std::erase(order_, entry->first);
      order_.push_front(entry->first);
    }
    return;
  }
  std::map<const CompiledKernel*, Module> held;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Outcome<Module>& compiled = event.compiled[i];
    if (!compiled) {
      settle(keys[i], compiled.failure());
      continue;
    }
    ++compiled_;
    Module& module = held[compiled->get()];
    if (!module) module = hold(*compiled);
    remember(keys[i], module);
    settle(keys[i], module);
  }
}

/// Gives it to everyone who wants what has this key.
void CompileQueue::settle(const std::string& key, const Outcome<Module>& outcome) {
  for (auto& [number, wanted] : wanted_) {
    if (wanted.key != key || wanted.outcome) continue;
    wanted.outcome = outcome;
    std::erase(order_, number);
    if (outcome) {
      batch_sizes_[wanted.program].add((*outcome)->entries.size(), (*outcome)->compile_ms);
    }
  }
}

Module CompileQueue::hold(const Module& module) const {
  const std::size_t bytes = bytes_of(*module);
  *held_bytes_ += bytes;
  return {module.get(),
          [bytes, held = held_bytes_, module](const CompiledKernel*) { *held -= bytes; }};
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
