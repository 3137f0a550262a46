#include "tuner/backend/cpu/block_runner.h"

#include "tuner/core/hash.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <sys/mman.h>
#include <utility>

#ifdef SMEMTUNE_SANITIZED
#include <sanitizer/asan_interface.h>
#endif

namespace smemtune::cpu {

namespace fcontext = boost::context::detail;

namespace {

constexpr std::size_t kStacksAtOnce = 64;

// Stacks that begin at the same place of a page would compete for the same cache lines.
constexpr std::size_t kStackShiftBytes = 192;
constexpr std::size_t kStackShifts = 20;

constexpr std::array<int, 4> kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/// The runner whose kernel runs on this OS thread.
thread_local BlockRunner* running = nullptr;

// AddressSanitizer must know which stack the thread is on.
void tell_leaving([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* to,
                  [[maybe_unused]] std::size_t bytes) {
#ifdef SMEMTUNE_SANITIZED
  __sanitizer_start_switch_fiber(fake_stack, to, bytes);
#endif
}

void tell_arrived([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** from,
                  [[maybe_unused]] std::size_t* bytes) {
#ifdef SMEMTUNE_SANITIZED
  __sanitizer_finish_switch_fiber(fake_stack, from, bytes);
#endif
}

/// Clears the marks of abandoned frames, which a stack that begins anew may hold.
void forget_frames([[maybe_unused]] const void* stack) {
#ifdef SMEMTUNE_SANITIZED
  __asan_unpoison_memory_region(stack, abi::kStackBytes);
#endif
}

unsigned lane_bit(unsigned thread) { return 1u << (thread % abi::kWarpSize); }

}  // namespace

abi::Thread* BlockRunner::Fiber::thread() const {
  return reinterpret_cast<abi::Thread*>(stack + abi::kStackBytes - sizeof(abi::Thread));
}

BlockRunner::BlockRunner() {
  block_.runner = this;
  block_.services = &services();
  block_.shared = shared_.range();
}

BlockRunner::~BlockRunner() = default;

std::optional<Failure> BlockRunner::run(const Grid& grid, std::uint64_t block_number) {
  begin(grid, block_number);
  running = this;
  if (sigsetjmp(escape_, 0) == 0) {
    run_threads();
  } else {
    tell_arrived(scheduler_fake_stack_, nullptr, nullptr);
    report_signal();
  }
  running = nullptr;
  const bool is_race = failure_ && failure_->failure.reason == "race";
  const bool ended_early = failure_.has_value();
  // A read of unwritten memory explains the faults after it, except for a race.
  if (unwritten_ && !is_race) {
    unwritten_->failure.context_lost = ended_early && failure_->failure.context_lost;
    failure_ = unwritten_;
  }
  unwritten_.reset();
  if (!failure_) return std::nullopt;
  Found found = *std::exchange(failure_, std::nullopt);
  const std::string line = grid.module->line_of(found.at);
  found.failure.detail =
      found.thread + " " + (line.empty() ? "" : line + ": ") + found.failure.detail;
  if (ended_early) {
    // Waiting threads are abandoned: their fibers begin anew.
    idle_.clear();
    for (const auto& fiber : fibers_) {
      fiber->context = nullptr;
      idle_.push_back(fiber.get());
    }
  }
  return std::move(found.failure);
}

void BlockRunner::begin(const Grid& grid, std::uint64_t block_number) {
  const auto extent = [](std::int64_t size) { return static_cast<unsigned>(size); };
  for (std::size_t i = 0; i < 3; ++i) {
    block_.dimensions[i] = extent(grid.block[i]);
    block_.grid[i] = extent(grid.grid[i]);
  }
  block_.index[0] = static_cast<unsigned>(block_number % block_.grid[0]);
  block_.index[1] = static_cast<unsigned>(block_number / block_.grid[0] % block_.grid[1]);
  block_.index[2] = static_cast<unsigned>(block_number / block_.grid[0] / block_.grid[1]);
  block_.buffers = grid.buffers->range();
  grid_ = &grid;
  block_number_ = block_number;
  thread_count_ = block_.dimensions[0] * block_.dimensions[1] * block_.dimensions[2];
  shared_.begin_block(grid.module->layout(), grid.dynamic_shared_bytes, grid.block);

  states_.assign(thread_count_, State::running);
  fiber_of_.resize(thread_count_);
  lanes_.resize(thread_count_);
  for (unsigned warp = 0; warp < warps_.size(); ++warp) {
    const unsigned first = warp * static_cast<unsigned>(abi::kWarpSize);
    const unsigned lanes = thread_count_ > first ? std::min(thread_count_ - first, 32u) : 0;
    warps_[warp] = {.arrived = 0, .active = lanes == 32 ? ~0u : (1u << lanes) - 1};
  }
  if (order_.size() != thread_count_) {
    order_.resize(thread_count_);
    std::iota(order_.begin(), order_.end(), 0u);
  }
  next_fresh_ = 0;
  returned_ = 0;
  at_barrier_ = 0;
  votes_ = 0;
  round_ = 0;
  order_threads();
}

/// Orders the threads anew for each round, by the seed; ascending without one.
void BlockRunner::order_threads() {
  if (!grid_->shuffle_seed) {
    if (!std::ranges::is_sorted(order_)) std::ranges::sort(order_);
    return;
  }
  const std::uint64_t seed = random_bits(*grid_->shuffle_seed, block_number_) + round_++;
  for (std::size_t i = order_.size(); i > 1; --i) {
    std::swap(order_[i - 1], order_[random_bits(seed, i) % i]);
  }
}

void BlockRunner::run_threads() {
  while (next_fresh_ < thread_count_ && !failure_) enter(*idle_fiber());
  while (returned_ < thread_count_ && !failure_) {
    order_threads();
    if (!step_waiting_threads()) return report_stuck();
  }
}

/// Runs each thread that can go on until it waits again. Returns false if there was none.
bool BlockRunner::step_waiting_threads() {
  bool any = false;
  for (const unsigned thread : order_) {
    if (states_[thread] != State::ready) continue;
    any = true;
    enter(*fiber_of_[thread]);
    if (failure_) return true;
  }
  return any;
}

BlockRunner::Fiber* BlockRunner::idle_fiber() {
  if (idle_.empty()) add_stacks();
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  if (fiber->context == nullptr) {
    forget_frames(fiber->stack);
    const auto number =
        static_cast<std::size_t>(fiber->stack - fibers_.front()->stack) / abi::kStackBytes;
    const std::size_t top =
        abi::kStackBytes - sizeof(abi::Thread) - number % kStackShifts * kStackShiftBytes;
    fiber->context = fcontext::make_fcontext(
        fiber->stack + top / 64 * 64, abi::kStackBytes - 2 * abi::kPageBytes,
        [](fcontext::transfer_t from) { static_cast<BlockRunner*>(from.data)->run_fiber(from); });
  }
  return fiber;
}

void BlockRunner::add_stacks() {
  MappedMemory memory((kStacksAtOnce + 1) * abi::kStackBytes);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.begin());
  const std::size_t skip = (abi::kStackBytes - address % abi::kStackBytes) % abi::kStackBytes;
  for (std::size_t i = 0; i < kStacksAtOnce; ++i) {
    auto fiber = std::make_unique<Fiber>();
    fiber->stack = memory.begin() + skip + i * abi::kStackBytes;
    // The system may refuse more mappings to a process that has very many; then an overflow is not
    // detected here.
    mprotect(fiber->stack, abi::kPageBytes, PROT_NONE);
    new (fiber->thread()) abi::Thread();
    idle_.push_back(fiber.get());
    fibers_.push_back(std::move(fiber));
  }
  stacks_.push_back(std::move(memory));
}

/// Resumes a fiber until it leaves.
void BlockRunner::enter(Fiber& fiber) {
  current_ = &fiber;
  tell_leaving(&scheduler_fake_stack_, fiber.stack + abi::kPageBytes,
               abi::kStackBytes - abi::kPageBytes);
  const fcontext::transfer_t back = fcontext::jump_fcontext(fiber.context, this);
  tell_arrived(scheduler_fake_stack_, nullptr, nullptr);
  fiber.context = back.fctx;
  current_ = nullptr;
}

/// Called on a fiber's stack: goes back to the scheduler until the fiber is entered again.
void BlockRunner::leave(bool for_good) {
  Fiber& self = *current_;
  tell_leaving(for_good ? nullptr : &self.fake_stack, scheduler_stack_, scheduler_stack_bytes_);
  const fcontext::transfer_t again = fcontext::jump_fcontext(scheduler_, nullptr);
  tell_arrived(self.fake_stack, &scheduler_stack_, &scheduler_stack_bytes_);
  scheduler_ = again.fctx;
}

/// Runs fresh threads until there are none, and never returns.
void BlockRunner::run_fiber(fcontext::transfer_t from) {
  tell_arrived(nullptr, &scheduler_stack_, &scheduler_stack_bytes_);
  scheduler_ = from.fctx;
  for (;;) {
    while (next_fresh_ < thread_count_) {
      const unsigned number = order_[next_fresh_++];
      *current_->thread() = {.x = number % block_.dimensions[0],
                             .y = number / block_.dimensions[0] % block_.dimensions[1],
                             .z = number / (block_.dimensions[0] * block_.dimensions[1]),
                             .linear = number,
                             .block = &block_};
      fiber_of_[number] = current_;
      grid_->entry(grid_->arguments);
      states_[number] = State::returned;
      ++returned_;
      warps_[number / abi::kWarpSize].active &= ~lane_bit(number);
    }
    idle_.push_back(current_);
    leave(false);
  }
}

int BlockRunner::barrier(const abi::Thread& thread, abi::Vote vote, int predicate) {
  if (predicate != 0) ++votes_;
  if (++at_barrier_ < thread_count_) {
    states_[thread.linear] = State::at_barrier;
    leave(false);
  } else {
    std::ranges::replace(states_, State::at_barrier, State::ready);
    shared_.pass_barrier();
    at_barrier_ = 0;
    vote_result_ = std::exchange(votes_, 0);
  }
  states_[thread.linear] = State::running;
  switch (vote) {
    case abi::Vote::none:
      return 0;
    case abi::Vote::count:
      return static_cast<int>(vote_result_);
    case abi::Vote::all:
      return vote_result_ == thread_count_ ? 1 : 0;
    case abi::Vote::any:
      return vote_result_ > 0 ? 1 : 0;
  }
  return 0;
}

unsigned long long BlockRunner::exchange(const abi::Thread& thread, unsigned mask,
                                         unsigned long long value, int source) {
  const unsigned warp_number = thread.linear / static_cast<unsigned>(abi::kWarpSize);
  Warp& warp = warps_[warp_number];
  if ((mask & lane_bit(thread.linear)) == 0) {
    char text[64];
    std::snprintf(text, sizeof text, "its own lane is not in the mask 0x%08x", mask);
    note_failure(thread, failure({Status::correctness, "warp_mask"}, text));
    leave(true);
  }
  // Lanes that a block of an odd size lacks cannot take part.
  mask &=
      thread_count_ - warp_number * 32 >= 32 ? ~0u : (1u << (thread_count_ - warp_number * 32)) - 1;
  lanes_[thread.linear] = {.value = value, .result = 0, .mask = mask, .source = source};
  warp.arrived |= lane_bit(thread.linear);
  if ((warp.arrived & mask) == mask) {
    complete_exchange(warp_number, mask, thread.linear);
  } else {
    states_[thread.linear] = State::in_warp;
    leave(false);
  }
  states_[thread.linear] = State::running;
  return lanes_[thread.linear].result;
}

/// Completes the operation when all lanes of the mask have arrived, with `last` as the last one.
void BlockRunner::complete_exchange(unsigned warp, unsigned mask, unsigned last) {
  const unsigned first = warp * static_cast<unsigned>(abi::kWarpSize);
  unsigned long long ballot = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) != 0 && lanes_[first + lane].value != 0) ballot |= 1ull << lane;
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    Lane& own = lanes_[first + lane];
    const bool has_source = own.source >= 0 && (mask >> own.source & 1) != 0;
    // The value of a lane that takes no part is undefined: all bits are set, so that it shows.
    own.result = own.source < 0 ? ballot
                 : has_source   ? lanes_[first + static_cast<unsigned>(own.source)].value
                                : ~0ull;
    if (first + lane != last) states_[first + lane] = State::ready;
  }
  warps_[warp].arrived &= ~mask;
  shared_.pass_warp_barrier(warp);
}

void BlockRunner::access(const abi::Thread& thread, const void* address, std::size_t bytes,
                         abi::Access kind, const void* place) {
  const abi::Range range = shared_.range();
  const auto* const byte = static_cast<const unsigned char*>(address);
  const bool is_shared = byte >= range.begin && byte < range.begin + range.bytes;
  {
    const auto fault = is_shared ? shared_.access(thread.linear, address, bytes, kind)
                                 : grid_->buffers->access(address, bytes, kind);
    if (!fault) return;
    if (grid_->seeks_races && fault->reason.word() == "uninitialized_shared") {
      if (!unwritten_) unwritten_ = {failure(fault->reason, fault->detail), place, where(thread)};
      return;
    }
    note_failure(thread, failure(fault->reason, fault->detail), place);
  }
  leave(true);
}

void BlockRunner::note_failure(const abi::Thread& thread, Failure noted, const void* place) {
  failure_ = {std::move(noted), place, where(thread)};
}

std::string BlockRunner::where(const abi::Thread& thread) const {
  return grid_->kernel + ", block " +
         coordinates(block_.index[0], block_.index[1], block_.index[2]) + ", thread " +
         coordinates(thread.x, thread.y, thread.z) + ":";
}

/// Reports that no thread can go on although not all have returned.
void BlockRunner::report_stuck() {
  const auto first_in = [&](auto has_state) {
    const auto found = std::ranges::find_if(states_, has_state);
    return static_cast<unsigned>(found - states_.begin());
  };
  const bool barrier = at_barrier_ > 0;
  const auto waits = [&](State state) {
    return state == (barrier ? State::at_barrier : State::in_warp);
  };
  const unsigned waiting = first_in(waits);
  std::string detail = barrier
                           ? std::to_string(at_barrier_) + " of " + std::to_string(thread_count_) +
                                 " threads wait at __syncthreads() like this one, but thread "
                           : "waits for the other lanes of its mask, but thread ";
  unsigned missing = first_in([&](State state) { return !waits(state); });
  if (!barrier) {
    const unsigned first_lane = waiting / 32 * 32;
    const unsigned absent = lanes_[waiting].mask & ~warps_[waiting / 32].arrived;
    missing = first_lane + static_cast<unsigned>(__builtin_ctz(absent | 1u << 31));
  }
  detail += thread_coordinates(missing, grid_->block);
  detail += states_[missing] == State::returned     ? " has returned"
            : states_[missing] == State::at_barrier ? " waits at __syncthreads()"
                                                    : " waits for lanes of its warp";
  note_failure(*fiber_of_[waiting]->thread(),
               failure({Status::correctness, "unreached_barrier"}, detail));
}

void BlockRunner::report_signal() {
  const Fiber& fiber = *current_;
  const abi::Thread& thread = *fiber.thread();
  const bool is_overflow =
      signal_address_ >= fiber.stack && signal_address_ < fiber.stack + abi::kPageBytes;
  char address[32];
  std::snprintf(address, sizeof address, "%p", static_cast<const void*>(signal_address_));
  const auto signalled = [&]() -> Failure {
    if (signal_ == SIGFPE) {
      return failure({Status::runtime, "division_by_zero"},
                     "an integer division by zero, or one whose result is too large");
    }
    if (signal_ == SIGILL) {
      return failure({Status::runtime, "illegal_instruction"},
                     std::string("an illegal instruction at ") + address, true);
    }
    if (is_overflow) {
      return failure({Status::runtime, "stack_overflow"},
                     "needs more than " + std::to_string(abi::kStackBytes - 2 * abi::kPageBytes) +
                         " bytes of stack",
                     true);
    }
    return failure({Status::runtime, "illegal_address"},
                   is_impossible_address_ ? "accesses an address that no memory can have"
                                          : std::string("accesses the address ") + address +
                                                ", where there is nothing",
                   true);
  };
  note_failure(thread, signalled());
  current_ = nullptr;
}

BlockRunner& BlockRunner::of(const abi::Thread& thread) {
  return *static_cast<const Block*>(thread.block)->runner;
}

const abi::Services& BlockRunner::services() {
  static const abi::Services kServices = {
      .barrier = [](abi::Thread& thread, abi::Vote vote,
                    int predicate) { return of(thread).barrier(thread, vote, predicate); },
      .exchange = [](abi::Thread& thread, unsigned mask, unsigned long long value,
                     int source) { return of(thread).exchange(thread, mask, value, source); },
      .active_lanes =
          [](abi::Thread& thread) { return of(thread).warps_[thread.linear / 32].active; },
      .reserve =
          [](abi::Thread& thread, abi::Slot& slot) {
            BlockRunner& runner = of(thread);
            if (runner.grid_->module->layout().reserve(slot)) return;
            runner.note_failure(thread,
                                failure({Status::constraints, "shared_bytes"},
                                        std::string(slot.name) +
                                            " does not fit into the CPU device's shared memory"));
            runner.leave(true);
          },
      .access = [](abi::Thread& thread, const void* address, unsigned long bytes, abi::Access kind,
                   const void* place) { of(thread).access(thread, address, bytes, kind, place); },
      .fail =
          [](abi::Thread& thread, const char* reason, const char* detail) {
            of(thread).note_failure(
                thread, {.status = Status::runtime, .reason = reason, .detail = detail});
            of(thread).leave(true);
          },
      // Standard output may be a worker's channel for replies.
      .print = [](const char* format,
                  va_list arguments) { return std::vfprintf(stderr, format, arguments); }};
  return kServices;
}

void on_fault_signal(int signal, siginfo_t* info, void*) {
  BlockRunner* const runner = running;
  if (runner == nullptr || runner->current_ == nullptr) {
    // The signal is not a kernel's: the instruction is repeated, and ends the process.
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    return;
  }
  runner->signal_ = signal;
  runner->signal_address_ = static_cast<const unsigned char*>(info->si_addr);
  // For these the processor does not report the address.
  runner->is_impossible_address_ = info->si_code == SI_KERNEL;
  tell_leaving(nullptr, runner->scheduler_stack_, runner->scheduler_stack_bytes_);
  siglongjmp(runner->escape_, 1);
}

FaultSignals::FaultSignals() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault_signal;
  // The signal is not masked while it is handled, because the handler does not return.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
}

FaultSignals::~FaultSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

SignalStack::SignalStack() : memory_(64 * 1024) {
  stack_t stack = {};
  stack.ss_sp = memory_.begin();
  stack.ss_size = memory_.bytes();
  sigaltstack(&stack, &before_);
}

SignalStack::~SignalStack() { sigaltstack(&before_, nullptr); }

}  // namespace smemtune::cpu
