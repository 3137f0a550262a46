#include "tuner/backend/cuda/kernel_timer.h"

#include "tuner/backend/fresh_data.h"
#include "tuner/core/elapsed.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace smemtune::cuda {
namespace {

// Samples whose clock is below this share of the reference are repeated.
constexpr double kMinClockShare = 0.97;
constexpr int kMaxDiscarded = 20;
// After this many in a row, the clock is what this kernel's own power draw allows.
constexpr int kMaxDiscardedInARow = 3;
constexpr double kBackOffMs = 5;
// %globaltimer may tick in microseconds: a shorter interval gives the clock no better than within 1
// %.
constexpr double kMinClockIntervalMs = 0.2;
// Longer sustained work lets boards lower their clock.
constexpr double kMaxBusyMs = 5;
constexpr double kMinGapMs = 1;
constexpr int kMaxLateSamples = 3;
// A checked run may take this many times as long as a sample: its clock is not up, and it contains
// the time that a launch takes the host.
constexpr double kSlowRun = 2;
// Every launch of a sample has its own copy of the buffers; all copies take at most this many
// bytes.
constexpr std::int64_t kMostCopiesBytes = std::int64_t{2} << 30;
// Shortest time of a sample: the resolution of an event (0.5 us), so that a time is never 0.
constexpr double kMinElapsedMs = 5e-4;

// Times the copies between host and device that a program would make around the kernel if its
// arrays were ordinary vectors. The host's pages are touched beforehand.
Transfers time_transfers(const BoundKernel& bound, CUstream stream) {
  using Clock = std::chrono::steady_clock;
  const auto timed_copy = [stream](void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind kind) {
    const Clock::time_point start = Clock::now();
    copy(to, from, bytes, kind, stream);
    synchronize(stream);
    return ms_since(start);
  };
  Transfers transfers;
  for (const DeviceBuffer* buffer : bound.buffers()) {
    const Argument& argument = buffer->argument();
    buffer->restore(0, stream);
    std::vector<std::uint8_t> host = download(buffer->data(), argument.bytes(), stream);
    void* const device = as_pointer(buffer->data());
    if (argument.role == Role::input || argument.role == Role::inout) {
      transfers.to_device_ms +=
          timed_copy(device, host.data(), host.size(), cudaMemcpyHostToDevice);
      transfers.to_device_bytes += argument.bytes();
    }
    if (buffer->is_result()) {
      transfers.to_host_ms += timed_copy(host.data(), device, host.size(), cudaMemcpyDeviceToHost);
      transfers.to_host_bytes += argument.bytes();
    }
  }
  return transfers;
}

void record(const Event& event, CUstream stream) {
  check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
}

}  // namespace

/// A sample's launches of the whole kernel, each on its own copy of the buffers.
struct KernelTimer::Sampling {
  int launches = 1;
  /// True if it was launched before on the same data; its time is not used then.
  bool repeats = false;
  std::span<const Event> marks = {};  ///< Recorded before every turn; may be empty.
};

struct KernelTimer::Subject {
  CudaKernel& kernel;
  const BoundKernel& bound;
  const PreparedWorkload& workload;
  const TimeRequest& request;
};

struct KernelTimer::Compared {
  std::size_t launch = 0;
  const DataSet* data = nullptr;  ///< nullptr for the workload's own.
};

class KernelTimer::Series {
 public:
  /// `clock_mhz` is the clock at which the kernel is expected to run.
  Series(KernelTimer& timer, const Subject& subject, double clock_mhz)
      : timer_(timer), subject_(subject), clock_mhz_(clock_mhz) {}

  /// Adds one sample at full clock, or the nearest that can be had.
  std::optional<Failure> add(const Sampling& sampling) {
    const auto interval = take(sampling);
    if (!interval) return interval.failure();
    const double elapsed_ms = std::max(interval->elapsed_ms, kMinElapsedMs);
    report_.samples_ms.push_back(elapsed_ms / sampling.launches);
    sampled_ms_ += interval->elapsed_ms;
    ended_ =
        report_.mismatch || subject_.request.ends_after(report_.samples_ms.back(), sampled_ms_);
    return std::nullopt;
  }

  /// Returns true if no further sample is wanted: the last one was slow or wrong, or all took long
  /// enough.
  bool has_ended() const { return ended_; }
  const std::vector<double>& samples_ms() const { return report_.samples_ms; }

  /// Forgets the times so far, unless a mismatch was found.
  void start_again() {
    if (report_.mismatch) return;
    report_.samples_ms.clear();
    sampled_ms_ = 0;
    ended_ = false;
  }

  /// Returns the median of the clocks that may be compared with other kernels'; 0 when not known.
  double trusted_clock_mhz() const {
    return trusted_clocks_mhz_.empty() ? 0 : median(trusted_clocks_mhz_);
  }

  TimeReport report() const {
    TimeReport report = report_;
    if (!clocks_mhz_.empty()) report.sm_clock_mhz = median(clocks_mhz_);
    return report;
  }

 private:
  Outcome<Interval> take(const Sampling& sampling) {
    int late = 0;
    int in_a_row = 0;
    while (true) {
      auto interval = timer_.sample(subject_, sampling, report_.mismatch);
      if (!interval || report_.mismatch) return interval;
      if (interval->late) {
        if (++late < kMaxLateSamples) continue;
        throw UnavailableError("the host is too slow to queue the launches of one sample");
      }
      const double clock_mhz = interval->sm_clock_mhz;
      const bool trusted = clock_mhz > 0 && interval->elapsed_ms >= kMinClockIntervalMs;
      const bool is_low = trusted && clock_mhz < kMinClockShare * clock_mhz_;
      if (in_a_row == kMaxDiscardedInARow || report_.discarded == kMaxDiscarded) discards_ = false;
      if (!discards_ || !is_low) {
        report_.throttled = report_.throttled || is_low;
        if (clock_mhz > 0) clocks_mhz_.push_back(clock_mhz);
        if (trusted) trusted_clocks_mhz_.push_back(clock_mhz);
        return interval;
      }
      ++report_.discarded;
      ++in_a_row;
      timer_.pause(kBackOffMs);
    }
  }

  KernelTimer& timer_;
  const Subject& subject_;
  double clock_mhz_;
  double sampled_ms_ = 0;
  bool ended_ = false;
  bool discards_ = true;
  TimeReport report_;
  std::vector<double> clocks_mhz_;
  std::vector<double> trusted_clocks_mhz_;
};

KernelTimer::KernelTimer(const Driver& driver, const DeviceKernels& kernels, Refiller& refiller,
                         Findings& findings, CUstream stream, const Device& device)
    : driver_(driver),
      kernels_(kernels),
      refiller_(refiller),
      findings_(findings),
      stream_(stream),
      stopwatch_(kernels, stream, device.sm_count, device.l2_bytes) {}

void KernelTimer::warm_up() {
  if (reference_clock_mhz_ == 0) reference_clock_mhz_ = stopwatch_.warm_up();
}

Outcome<TimeReport> KernelTimer::time(CudaKernel& kernel, BoundKernel& bound,
                                      const PreparedWorkload& workload,
                                      const TimeRequest& request) {
  warm_up();
  std::optional<Transfers> transfers;
  if (request.with_transfers) transfers = time_transfers(bound, stream_);
  if (const auto failure = settle(kernel, bound)) return *failure;

  const Subject subject = {kernel, bound, workload, request};
  if (request.each_launch) return time_launches(subject);

  Series series(*this, subject, expected_clock_mhz(kernel));
  Sampling sampling = plan(bound, std::max(request.launches_per_sample, 1));
  if (request.launches_per_sample <= 0) {
    // A sample of one launch tells how many launches make a sample that is long enough. If that
    // sample is going to be dropped for being too short, it may as well show what the kernel does
    // with known data.
    const double min_sample_ms = request.min_sample_us / 1000;
    sampling.repeats = kernel.run_ms > 0 && kernel.run_ms < kSlowRun * min_sample_ms;
    if (const auto failure = series.add(sampling)) return *failure;
    const bool repeated = std::exchange(sampling.repeats, false);
    const double launches = std::min<double>(std::ceil(min_sample_ms / series.samples_ms().front()),
                                             request.max_launches_per_sample);
    const bool goes_on = repeated || !series.has_ended();
    if (launches > 1 && goes_on) sampling = plan(bound, static_cast<int>(launches));
    if (repeated || (goes_on && sampling.launches > 1)) series.start_again();
  }
  while (!series.has_ended() &&
         series.samples_ms().size() < static_cast<std::size_t>(request.samples)) {
    if (const auto failure = series.add(sampling)) return *failure;
  }

  kernel.clock_mhz = std::max(kernel.clock_mhz, series.trusted_clock_mhz());
  reference_clock_mhz_ = std::max(reference_clock_mhz_, series.trusted_clock_mhz());
  TimeReport report = series.report();
  report.launches_per_sample = sampling.launches;
  report.transfers = transfers;
  return report;
}

/// Takes times between events around every turn; time between two launches counts with the first.
Outcome<TimeReport> KernelTimer::time_launches(const Subject& subject) {
  const std::vector<Turn>& all = subject.bound.turns();
  const auto wanted = static_cast<std::size_t>(subject.request.samples);
  std::vector<Event> marks;
  for (std::size_t i = 0; i <= all.size(); ++i) marks.push_back(make_event());
  Series series(*this, subject, expected_clock_mhz(subject.kernel));
  std::vector<std::vector<double>> passes_ms;
  while (!series.has_ended() && passes_ms.size() < wanted) {
    if (const auto failure = series.add({.marks = marks})) return *failure;
    std::vector<double>& turns_ms = passes_ms.emplace_back();
    for (std::size_t i = 0; i < all.size(); ++i) {
      float elapsed_ms = 0;
      check(cudaEventElapsedTime(&elapsed_ms, marks[i].get(), marks[i + 1].get()),
            "cudaEventElapsedTime");
      turns_ms.push_back(elapsed_ms);
    }
  }
  TimeReport report;
  report.mismatch = series.report().mismatch;
  report.launches_ms = launch_times_ms(all, subject.bound.launches(), passes_ms);
  return report;
}

double KernelTimer::expected_clock_mhz(const CudaKernel& kernel) const {
  return kernel.clock_mhz > 0 ? kernel.clock_mhz : reference_clock_mhz_;
}

/// Launches a kernel once whose first launch may allocate local memory: that waits for the stream,
/// so it must not happen while the stream is held.
std::optional<Failure> KernelTimer::settle(CudaKernel& kernel, const BoundKernel& bound) {
  if (kernel.is_settled) return std::nullopt;
  refill(bound, {}, std::nullopt);
  if (auto failure = bound.enqueue(driver_, 0, stream_)) return failure;
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize after the launch");
  kernel.is_settled = true;
  return std::nullopt;
}

// Plans a copy of the buffers for every launch: a launch that finds its buffers in the L2 cache is
// not cold, and one that finds what an earlier launch read or wrote may know the answer.
KernelTimer::Sampling KernelTimer::plan(BoundKernel& bound, int launches) const {
  const auto turns = static_cast<std::int64_t>(bound.turns().size());
  const std::int64_t bytes = std::max<std::int64_t>(bound.bytes(), 1);
  const std::int64_t most = std::min(kMaxPendingLaunches / turns, kMostCopiesBytes / bytes);
  const auto wanted = std::min<std::int64_t>(launches, most);
  if (wanted <= 1) return {};
  return {.launches =
              static_cast<int>(bound.provide_copies(static_cast<std::size_t>(wanted), stream_))};
}

/// Chooses the launch of a sample that is compared: the last one of a kernel's first batch, and
/// later the last one half of the time, because a kernel may leave to each launch the work of the
/// one before. The launch gets the newest data that this kernel has not seen. Nullopt if there is
/// no reference.
std::optional<KernelTimer::Compared> KernelTimer::choose(const Subject& subject,
                                                         const Sampling& sampling) const {
  const PreparedWorkload& workload = subject.workload;
  if (workload.data_sets.empty() && workload.expected.empty()) return std::nullopt;
  const auto launches = static_cast<std::size_t>(sampling.launches);
  const std::uint64_t random = unforeseeable();
  // At least one of two batches in a row has its last launch compared: a kernel that leaves work to
  // the next launch is right in every other launch.
  const bool takes_last =
      (launches > 1 && !subject.kernel.was_compared_last) || (random >> 1) % 2 == 0;
  if (launches > 1) subject.kernel.was_compared_last = takes_last;
  Compared compared = {.launch = takes_last ? launches - 1 : (random >> 2) % launches};
  if (workload.data_sets.empty() || sampling.repeats) return compared;
  compared.data = &workload.data_sets[(random >> 32) % workload.data_sets.size()];
  for (const DataSet& set : workload.data_sets) {
    if (!subject.kernel.met.contains(set.key)) compared.data = &set;
  }
  return compared;
}

/// Gives every launch of a sample its own data, and nothing that an earlier launch has written.
void KernelTimer::refill(const BoundKernel& bound, const Sampling& sampling,
                         const std::optional<Compared>& compared) {
  for (std::size_t copy = 0; copy < static_cast<std::size_t>(sampling.launches); ++copy) {
    std::uint64_t key = unforeseeable();
    if (compared && compared->launch == copy) key = compared->data ? compared->data->key : 0;
    for (const DeviceBuffer* buffer : bound.buffers()) refiller_.add(*buffer, copy, key);
    for (const BoundKernel::Scratch& scratch : bound.scratch()) refiller_.add(scratch, copy);
  }
  refiller_.run();
}

Outcome<Interval> KernelTimer::sample(const Subject& subject, const Sampling& sampling,
                                      std::optional<Mismatch>& mismatch) {
  const BoundKernel& bound = subject.bound;
  const TimeRequest& request = subject.request;
  pause(request.gap_ms);
  const std::optional<Compared> compared = choose(subject, sampling);
  if (!request.cold || sampling.repeats) {
    refill(bound, {}, sampling.repeats ? compared : std::nullopt);
    if (const auto failure = bound.enqueue(driver_, 0, stream_)) return *failure;
  }
  const RunRequest rules = {.tolerance = {}, .tolerances = request.tolerances, .download = {}};
  std::optional<BufferCheck> look;
  if (compared) {
    look.emplace(subject.workload, bound, rules, compared->launch, compared->data);
    if (compared->data != nullptr) subject.kernel.met.insert(compared->data->key);
  }
  refill(bound, sampling, compared);
  if (request.cold) stopwatch_.flush_l2();
  // A mark takes as much room in the stream's queue as a launch.
  const std::size_t most_turns =
      sampling.marks.empty() ? kMaxPendingLaunches : kMaxPendingLaunches / 2;
  const auto before_turn = [&](std::size_t turn) {
    if (turn == most_turns) stopwatch_.release();
    if (!sampling.marks.empty()) record(sampling.marks[turn], stream_);
  };
  const auto enqueue = [&]() -> std::optional<Failure> {
    for (int i = 0; i < sampling.launches; ++i) {
      if (auto failure =
              bound.enqueue(driver_, static_cast<std::size_t>(i), stream_, before_turn)) {
        return failure;
      }
    }
    if (!sampling.marks.empty()) record(sampling.marks.back(), stream_);
    return std::nullopt;
  };
  auto interval = stopwatch_.time(enqueue, [&] {
    if (look) look->enqueue(kernels_, findings_, stream_);
  });
  if (!interval) return interval;
  busy_ms_ += interval->elapsed_ms;
  RunReport report;
  if (look) mismatch = look->judge(findings_, stream_, report);
  return interval;
}

void KernelTimer::pause(double gap_ms) {
  if (busy_ms_ >= kMaxBusyMs) gap_ms = std::max(gap_ms, kMinGapMs);
  if (gap_ms <= 0) return;
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(gap_ms));
  busy_ms_ = 0;
}

}  // namespace smemtune::cuda
