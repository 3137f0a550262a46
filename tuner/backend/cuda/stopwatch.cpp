#include "tuner/backend/cuda/stopwatch.h"

#include "tuner/core/error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <vector>

namespace smemtune::cuda {
namespace {

// More than any GPU has multiprocessors.
constexpr std::uint32_t kStampSlots = 1024;
constexpr std::size_t kStampBytes = kStampSlots * sizeof(ClockStamp);

// Queueing a launch takes microseconds; a host that needs longer than this is not running this
// process.
constexpr std::uint64_t kBlockTimeoutNs = 2'000'000'000;

// An H200's clock was within 0.4 % of its highest from the first 2 ms on, after pauses, too.
constexpr std::uint64_t kWarmUpWindowNs = 8'000'000;
constexpr std::size_t kWarmUpWindows = 5;
constexpr double kWarmUpSpread = 0.01;
constexpr auto kWarmUpLimit = std::chrono::seconds(2);

// Memory that host and device share.
struct Mapped {
  std::atomic<std::uint32_t> flag{0};
  std::atomic<std::uint32_t> timed_out{0};
};
static_assert(sizeof(Mapped) == 2 * sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

Mapped& mapped(const PinnedMemory& memory) { return *static_cast<Mapped*>(memory.get()); }

CUdeviceptr device_address(void* mapped_memory) {
  void* address = nullptr;
  check(cudaHostGetDevicePointer(&address, mapped_memory, 0), "cudaHostGetDevicePointer");
  return as_address(address);
}

// Lets the stream go on when destroyed, also if queueing threw.
class Release {
 public:
  Release(Mapped& shared, std::uint32_t ticket) : shared_(shared), ticket_(ticket) {}
  ~Release() { shared_.flag.store(ticket_); }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  Release(Release&&) = delete;
  Release& operator=(Release&&) = delete;

 private:
  Mapped& shared_;
  std::uint32_t ticket_;
};

}  // namespace

double clock_mhz(std::span<const ClockStamp> before, std::span<const ClockStamp> after) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i].nanoseconds == 0 || after[i].nanoseconds <= before[i].nanoseconds) continue;
    if (after[i].cycles <= before[i].cycles) continue;
    const auto cycles = static_cast<double>(after[i].cycles - before[i].cycles);
    const auto nanoseconds = static_cast<double>(after[i].nanoseconds - before[i].nanoseconds);
    sum += 1000 * cycles / nanoseconds;
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

Stopwatch::Stopwatch(const DeviceKernels& kernels, CUstream stream, int sm_count,
                     std::int64_t l2_bytes)
    : kernels_(kernels),
      stream_(stream),
      flush_bytes_(static_cast<std::size_t>(2 * l2_bytes)),
      flush_(allocate(std::max<std::size_t>(flush_bytes_, 1))),
      stamps_(allocate(2 * kStampBytes)),
      host_stamps_(make_pinned(2 * kStampBytes)),
      mapped_(make_pinned(sizeof(Mapped))),
      flag_(device_address(&mapped(mapped_).flag)),
      timed_out_(device_address(&mapped(mapped_).timed_out)),
      start_(make_event()),
      stop_(make_event()) {
  new (mapped_.get()) Mapped;
  check(cudaMemsetAsync(stamps_.get(), 0, 2 * kStampBytes, stream_), "cudaMemsetAsync");
  if (sm_count > static_cast<int>(kStampSlots)) {
    throw UnavailableError(std::to_string(sm_count) + " multiprocessors, at most " +
                           std::to_string(kStampSlots) + " are supported");
  }
}

void Stopwatch::flush_l2() const {
  check(cudaMemsetAsync(flush_.get(), 0, flush_bytes_, stream_), "cudaMemsetAsync");
}

Outcome<Interval> Stopwatch::time(const std::function<std::optional<Failure>()>& enqueue,
                                  const std::function<void()>& afterwards) {
  Mapped& shared = mapped(mapped_);
  const auto stamps = as_address(stamps_.get());
  ++ticket_;
  std::optional<Failure> failure;
  {
    const Release release(shared, ticket_);
    kernels_.block(stream_, flag_, timed_out_, ticket_, kBlockTimeoutNs);
    kernels_.stamp(stream_, stamps, kStampSlots);
    check(cudaEventRecord(start_.get(), stream_), "cudaEventRecord");
    failure = enqueue();
    check(cudaEventRecord(stop_.get(), stream_), "cudaEventRecord");
    kernels_.stamp(stream_, stamps + kStampBytes, kStampSlots);
  }
  if (!failure && afterwards) afterwards();
  copy(host_stamps_.get(), stamps_.get(), 2 * kStampBytes, cudaMemcpyDeviceToHost, stream_);
  synchronize(stream_);
  if (failure) return *failure;
  Interval measured = interval();
  measured.late = shared.timed_out.load() == ticket_;
  return measured;
}

void Stopwatch::release() { mapped(mapped_).flag.store(ticket_); }

/// Ignores the stamps that multiprocessors wrote in earlier stretches.
Interval Stopwatch::interval() {
  float elapsed_ms = 0;
  check(cudaEventElapsedTime(&elapsed_ms, start_.get(), stop_.get()), "cudaEventElapsedTime");
  const std::span all(static_cast<ClockStamp*>(host_stamps_.get()), std::size_t{2} * kStampSlots);
  std::uint64_t latest_ns = last_ns_;
  for (ClockStamp& stamp : all) {
    latest_ns = std::max(latest_ns, stamp.nanoseconds);
    if (stamp.nanoseconds <= last_ns_) stamp = {};
  }
  last_ns_ = latest_ns;
  return {.elapsed_ms = elapsed_ms,
          .sm_clock_mhz = clock_mhz(all.first(kStampSlots), all.last(kStampSlots))};
}

double Stopwatch::warm_up() {
  const auto end = std::chrono::steady_clock::now() + kWarmUpLimit;
  const auto sink = as_address(flush_.get());
  std::vector<double> clocks;
  while (true) {
    const auto window = time([&]() -> std::optional<Failure> {
      kernels_.spin(stream_, kWarmUpWindowNs, sink);
      return std::nullopt;
    });
    clocks.push_back(window->sm_clock_mhz);
    if (clocks.size() > kWarmUpWindows) clocks.erase(clocks.begin());
    const auto [low, high] = std::ranges::minmax(clocks);
    const bool steady = clocks.size() == kWarmUpWindows && high - low <= kWarmUpSpread * high;
    if (steady || std::chrono::steady_clock::now() > end) return high;
  }
}

}  // namespace smemtune::cuda
