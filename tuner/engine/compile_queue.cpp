#include "tuner/engine/compile_queue.h"

#include "tuner/core/hash.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace smemtune {

namespace {

// Size of the first batches, which show what an entry costs.
constexpr std::size_t kTrial = 4;

// Configurations are compiled singly where a batch of any size would save less than this share of a
// configuration's time: a batch delivers its results late, and one bad entry costs it a second
// compile.
constexpr double kWorthwhile = 0.2;

// A batch is large enough when the program's fixed part is this share of the entries' part.
constexpr double kSmallPart = 0.1;

std::size_t bytes_of(const CompiledKernel& module) {
  return module.image.size() + module.log.size();
}

std::string program_of(const CompileRequest& request) {
  const CompileRequest program = {.architecture = request.architecture,
                                  .source = request.source,
                                  .name_expressions = {},
                                  .symbol_expressions = {},
                                  .options = request.options};
  const std::vector<std::uint8_t> bytes = pack(program);
  return sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Returns a key that equal requests share.
std::string key_of(const CompileRequest& request, const std::string& program) {
  std::string key;
  const auto add = [&key](const std::vector<std::string>& names) {
    key += std::to_string(names.size()) + ' ';
    for (const std::string& name : names) key += std::to_string(name.size()) + ' ' + name + ' ';
  };
  add(request.name_expressions);
  add(request.symbol_expressions);
  return key + program;
}

}  // namespace

void BatchSize::Mean::add(double more_entries, double more_ms) {
  count += 1;
  entries += (more_entries - entries) / count;
  compile_ms += (more_ms - compile_ms) / count;
}

void BatchSize::add(std::size_t entries, double compile_ms) {
  Mean& mean = entries == 1 ? singles_ : batches_;
  mean.add(static_cast<double>(entries), compile_ms);
}

std::size_t BatchSize::wanted() const {
  if (singles_.count == 0) return 1;
  if (batches_.count == 0) return kTrial;
  const double least_entry_ms = 1e-3 * singles_.compile_ms;
  const double entry_ms = std::max(
      least_entry_ms, (batches_.compile_ms - singles_.compile_ms) / (batches_.entries - 1));
  const double program_ms = singles_.compile_ms - entry_ms;
  if (program_ms < kWorthwhile * singles_.compile_ms) return 1;
  const double most = std::max(1.0, (kMaxBatch_ms - program_ms) / entry_ms);
  return static_cast<std::size_t>(
      std::clamp(program_ms / (kSmallPart * entry_ms), 1.0, std::min(most, 1.0 * kMaxEntries)));
}

std::size_t BatchSize::next(std::size_t waiting, std::size_t workers) const {
  const std::size_t share = waiting / std::max<std::size_t>(1, workers);
  return std::clamp<std::size_t>(wanted(), 1, std::max<std::size_t>(1, share));
}

bool CompileQueue::compiles_alone(const CompileRequest& request) const {
  const auto found = batch_sizes_.find(program_of(request));
  return found != batch_sizes_.end() && found->second.is_known_to_be_one();
}

std::uint64_t CompileQueue::add(CompileRequest request, bool first) {
  pool_.start_all();  // What is compiled is to be run.
  Wanted wanted = {.request = std::move(request), .key = "", .program = "", .first = first};
  wanted.program = program_of(wanted.request);
  wanted.key = key_of(wanted.request, wanted.program);
  const std::uint64_t number = ++last_number_;
  Module module = recall(wanted.key);
  numbers_[wanted.key].insert(number);
  wanted_.emplace(number, std::move(wanted));
  if (module) {
    settle(number, std::move(module));
  } else {
    enqueue(number, first);
  }
  return number;
}

void CompileQueue::enqueue(std::uint64_t number, bool at_front) {
  Wanted& wanted = wanted_.at(number);
  auto place = at_front ? order_.begin() : order_.end();
  if (wanted.first) {  // The one that was asked for first has waited longest.
    place = std::ranges::find_if_not(
        order_, [this](std::uint64_t other) { return wanted_.at(other).first; });
  }
  order_.insert(place, number);
  wanted.queued = true;
  if (!wanted.first && !wanted.alone) ++together_[wanted.program];
}

void CompileQueue::dequeue(std::uint64_t number) {
  const auto found = wanted_.find(number);
  if (found == wanted_.end() || !found->second.queued) return;
  Wanted& wanted = found->second;
  std::erase(order_, number);
  wanted.queued = false;
  if (!wanted.first && !wanted.alone) --together_[wanted.program];
}

bool CompileQueue::ready(std::uint64_t number) const {
  const auto found = wanted_.find(number);
  return found != wanted_.end() && found->second.outcome.has_value();
}

std::vector<std::uint64_t> CompileQueue::add_all(const std::vector<CompileRequest>& requests,
                                                 bool first) {
  std::vector<std::uint64_t> numbers;
  for (const CompileRequest& request : requests) numbers.push_back(add(request, first));
  return numbers;
}

bool CompileQueue::all_ready(const std::vector<std::uint64_t>& numbers) const {
  return std::ranges::all_of(numbers, [this](std::uint64_t number) { return ready(number); });
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
  const auto found = wanted_.find(number);
  if (found == wanted_.end()) return;
  dequeue(number);
  const auto of_key = numbers_.find(found->second.key);
  of_key->second.erase(number);
  if (of_key->second.empty()) numbers_.erase(of_key);
  wanted_.erase(found);
}

/// Returns the first waiting request, and more of the same program where a batch pays.
std::vector<std::uint64_t> CompileQueue::next_batch() {
  const Wanted& front = wanted_.at(order_.front());
  if (front.first || front.alone) return {order_.front()};
  const std::size_t size =
      batch_sizes_[front.program].next(together_[front.program], pool_.compilers());
  std::vector<std::uint64_t> of_program;
  for (const std::uint64_t number : order_) {
    if (of_program.size() == size) break;
    const Wanted& wanted = wanted_.at(number);
    const bool fits = !wanted.first && !wanted.alone && wanted.program == front.program;
    if (fits) of_program.push_back(number);
  }
  return of_program;
}

void CompileQueue::pump() {
  while (!order_.empty() && pool_.can_compile(order_.size())) {
    make_room();
    if (*held_bytes_ > max_bytes_ && !wanted_.at(order_.front()).first) return;
    CompileBatch batch;
    std::vector<std::string> keys;
    for (const std::uint64_t number : next_batch()) {
      dequeue(number);
      Wanted& wanted = wanted_.at(number);
      // The same module may have been compiled for another request meanwhile, or is being compiled.
      if (Module module = recall(wanted.key)) {
        settle(number, std::move(module));
        continue;
      }
      if (!working_keys_.insert(wanted.key).second) continue;
      batch.push_back(wanted.request);
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
  for (const std::string& key : keys) working_keys_.erase(key);
  if (event.not_compiled || (event.compiler_lost && keys.size() > 1)) {
    // The request at fault is found by compiling each by itself, before anything else.
    std::set<std::uint64_t, std::greater<>> numbers;
    for (const std::string& key : keys) {
      const auto of_key = numbers_.find(key);
      if (of_key != numbers_.end()) {
        numbers.insert(of_key->second.begin(), of_key->second.end());
      }
    }
    for (const std::uint64_t number : numbers) {
      Wanted& wanted = wanted_.at(number);
      if (wanted.outcome) continue;
      dequeue(number);
      wanted.alone = wanted.alone || event.compiler_lost;
      enqueue(number, /*at_front=*/true);
    }
    return;
  }
  std::map<const CompiledKernel*, Module> held;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Outcome<Module>& compiled = event.compiled[i];
    if (!compiled) {
      settle_all(keys[i], compiled.failure());
      continue;
    }
    ++compiled_;
    Module& module = held[compiled->get()];
    if (!module) module = hold(*compiled);
    remember(keys[i], module);
    settle_all(keys[i], module);
  }
}

void CompileQueue::settle(std::uint64_t number, Outcome<Module> outcome) {
  wanted_.at(number).outcome = std::move(outcome);
  ready_.push_back(number);
}

/// Gives the outcome to every request with this key.
void CompileQueue::settle_all(const std::string& key, const Outcome<Module>& outcome) {
  const auto of_key = numbers_.find(key);
  if (of_key == numbers_.end()) return;
  for (const std::uint64_t number : of_key->second) {
    Wanted& wanted = wanted_.at(number);
    if (wanted.outcome) continue;
    dequeue(number);
    settle(number, outcome);
    if (outcome) {
      batch_sizes_[wanted.program].add((*outcome)->entries.size(), (*outcome)->compile_ms);
    }
  }
}

Module CompileQueue::hold(const Module& module) const {
  const std::size_t bytes = bytes_of(*module);
  *held_bytes_ += bytes;
  return {module.get(),
          [bytes, held = held_bytes_, module](const NumberedModule*) { *held -= bytes; }};
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
