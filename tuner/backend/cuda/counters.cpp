#include "tuner/backend/cuda/counters.h"

#include "tuner/core/error.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

namespace smemtune::cuda {
namespace {

constexpr bool kAddsUp = true;

constexpr CounterMetric kMetrics[] = {
    {"gpu__time_duration.sum", "duration_ns", kAddsUp},
    {"smsp__inst_executed.sum", "warp_instructions", kAddsUp},
    {"dram__bytes_read.sum", "dram_read_bytes", kAddsUp},
    {"dram__bytes_write.sum", "dram_write_bytes", kAddsUp},
    {"lts__t_bytes.sum", "l2_bytes", kAddsUp},
    {"lts__t_sector_hit_rate.pct", "l2_hit_percent"},
    {"l1tex__t_sector_hit_rate.pct", "l1_hit_percent"},
    {"smsp__inst_executed_op_shared_ld.sum", "shared_load_instructions", kAddsUp},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "shared_wavefronts", kAddsUp},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "shared_bank_conflicts", kAddsUp},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram_percent"},
    {"lts__t_sectors.avg.pct_of_peak_sustained_elapsed", "l2_percent"},
    {"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", "l1_percent"},
    {"smsp__issue_active.avg.pct_of_peak_sustained_active", "issue_percent"},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy_percent"},
    {"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", "tensor_percent"},
    {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
     "stalled_for_global_memory_warps"},
    {"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
     "stalled_for_shared_memory_warps"},
    {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
     "stalled_at_barrier_warps"},
    {"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
     "stalled_for_memory_queue_warps"},
    {"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
     "stalled_for_global_queue_warps"},
    {"smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
     "stalled_for_math_pipe_warps"}};

// More passes than any of these metrics need.
constexpr int kMostPasses = 100;

std::shared_ptr<void> begin_host(const Cupti& cupti, const std::string& chip) {
  cupti::HostBegin begin;
  begin.chip = chip.c_str();
  cupti.check(cupti.host_begin(&begin), "cuptiProfilerHostInitialize");
  return {begin.host, [end = cupti.host_end](void* host) {
            cupti::HostEnd ended;
            ended.host = host;
            end(&ended);
          }};
}

int add(const Cupti& cupti, void* host, std::vector<const char*> names) {
  cupti::AddMetrics added;
  added.host = host;
  added.names = names.data();
  added.count = names.size();
  return cupti.add_metrics(&added);
}

std::vector<std::uint8_t> config_of(const Cupti& cupti, void* host) {
  cupti::ConfigSize size;
  size.host = host;
  cupti.check(cupti.config_size(&size), "cuptiProfilerHostGetConfigImageSize");
  std::vector<std::uint8_t> image(size.bytes);
  cupti::Config config;
  config.host = host;
  config.bytes = image.size();
  config.image = image.data();
  cupti.check(cupti.config(&config), "cuptiProfilerHostGetConfigImage");
  return image;
}

/// A context whose launches are counted, until it is destroyed.
class Session {
 public:
  Session(const Cupti& cupti, void* context) : cupti_(cupti) {
    cupti::Enable enable;
    enable.context = context;
    cupti_.check(cupti_.enable(&enable), "cuptiRangeProfilerEnable");
    profiler_ = enable.profiler;
  }
  ~Session() {
    cupti::OfProfiler disable;
    disable.profiler = profiler_;
    cupti_.disable(&disable);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  /// Makes room for the values of so many launches.
  std::vector<std::uint8_t> data(std::vector<const char*> names, std::size_t launches) const {
    cupti::DataSize size;
    size.profiler = profiler_;
    size.names = names.data();
    size.count = names.size();
    size.most_ranges = launches;
    size.most_nodes = static_cast<std::uint32_t>(launches);
    cupti_.check(cupti_.data_size(&size), "cuptiRangeProfilerGetCounterDataSize");
    std::vector<std::uint8_t> data(size.bytes);
    cupti::DataBegin begin;
    begin.profiler = profiler_;
    begin.bytes = data.size();
    begin.data = data.data();
    cupti_.check(cupti_.data_begin(&begin), "cuptiRangeProfilerCounterDataImageInitialize");
    return data;
  }

  void configure(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& data,
                 std::size_t launches) const {
    cupti::SetConfig set;
    set.size = offsetof(cupti::SetConfig, target_level) + sizeof set.target_level;
    set.profiler = profiler_;
    set.config_bytes = config.size();
    set.config = config.data();
    set.data_bytes = data.size();
    set.data = data.data();
    set.most_ranges = launches;
    cupti_.check(cupti_.set_config(&set), "cuptiRangeProfilerSetConfig");
  }

  /// Counts what `pass` launches, each launch as a range of its own. Returns true if that was the
  /// last pass.
  bool count(const Counters::Pass& pass) const {
    cupti::OfProfiler start;
    start.profiler = profiler_;
    cupti_.check(cupti_.start(&start), "cuptiRangeProfilerStart");
    std::size_t ranges = 0;
    pass([&] {
      if (ranges > 0) pop();
      push(std::to_string(ranges++));
    });
    if (ranges > 0) pop();
    cupti::Stop stop;
    stop.size = offsetof(cupti::Stop, is_all) + sizeof stop.is_all;
    stop.profiler = profiler_;
    cupti_.check(cupti_.stop(&stop), "cuptiRangeProfilerStop");
    return stop.is_all != 0;
  }

  void decode() const {
    cupti::Decode decode;
    decode.profiler = profiler_;
    cupti_.check(cupti_.decode(&decode), "cuptiRangeProfilerDecodeData");
  }

 private:
  void push(const std::string& name) const {
    cupti::PushRange range;
    range.profiler = profiler_;
    range.name = name.c_str();
    cupti_.check(cupti_.push_range(&range), "cuptiRangeProfilerPushRange");
  }
  void pop() const {
    cupti::OfProfiler range;
    range.profiler = profiler_;
    cupti_.check(cupti_.pop_range(&range), "cuptiRangeProfilerPopRange");
  }

  const Cupti& cupti_;
  void* profiler_ = nullptr;
};

}  // namespace

Counters::Counters(Cupti cupti, const std::string& chip) : cupti_(cupti) {
  std::ranges::copy_if(kMetrics, std::back_inserter(metrics_),
                       [&](const CounterMetric& one) { return has(one, chip); });
  if (metrics_.empty()) {
    begin_host(cupti_, chip);  // Throws with the reason if there is one.
    throw UnavailableError("CUPTI has no metric of " + chip);
  }
  for (const CounterMetric& one : metrics_) names_.push_back(one.name);
  host_ = begin_host(cupti_, chip);
  cupti_.check(add(cupti_, host_.get(), names_), "cuptiProfilerHostConfigAddMetrics");
  config_ = config_of(cupti_, host_.get());
}

/// A metric that a chip lacks spoils the object that it is added to, so each is tried alone.
bool Counters::has(const CounterMetric& metric, const std::string& chip) const {
  try {
    const std::shared_ptr<void> host = begin_host(cupti_, chip);
    return add(cupti_, host.get(), {metric.name}) == 0;
  } catch (const UnavailableError&) {
    return false;
  }
}

std::vector<std::vector<double>> Counters::read(void* context, std::size_t launches,
                                                const std::function<void()>& prepare,
                                                const Pass& pass) const {
  const Session session(cupti_, context);
  std::vector<std::uint8_t> data = session.data(names_, launches);
  session.configure(config_, data, launches);
  bool is_done = false;
  for (int i = 0; i < kMostPasses && !is_done; ++i) {
    prepare();
    is_done = session.count(pass);
  }
  if (!is_done) throw UnavailableError("CUPTI asks for more passes than its metrics need");
  session.decode();
  cupti::DataInfo info;
  info.data = data.data();
  info.data_bytes = data.size();
  cupti_.check(cupti_.data_info(&info), "cuptiRangeProfilerGetCounterDataInfo");
  if (info.ranges != launches) {
    throw UnavailableError("CUPTI has counted " + std::to_string(info.ranges) + " launches of " +
                           std::to_string(launches));
  }
  std::vector<std::vector<double>> rows;
  std::vector<const char*> names = names_;
  for (std::size_t i = 0; i < launches; ++i) {
    std::vector<double>& values = rows.emplace_back(names.size());
    cupti::Evaluate evaluate;
    evaluate.host = host_.get();
    evaluate.data = data.data();
    evaluate.data_bytes = data.size();
    evaluate.range = i;
    evaluate.names = names.data();
    evaluate.count = names.size();
    evaluate.values = values.data();
    cupti_.check(cupti_.evaluate(&evaluate), "cuptiProfilerHostEvaluateToGpuValues");
  }
  return rows;
}

std::vector<Facts> facts_of(const std::vector<CounterMetric>& metrics,
                            const std::vector<std::vector<double>>& rows,
                            const std::vector<std::size_t>& of, std::size_t launches) {
  std::vector<Facts> facts(launches);
  std::vector<double> shares(launches);  // Of each row in the averages of its launch.
  for (const std::size_t launch : of) ++shares[launch];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < metrics.size(); ++j) {
      const double value = rows[i][j] / (metrics[j].adds_up ? 1 : shares[of[i]]);
      facts[of[i]][std::string(kCounterFacts) + metrics[j].fact] += value;
    }
  }
  for (Facts& one : facts) {
    std::erase_if(one, [](const auto& entry) { return !std::isfinite(entry.second); });
  }
  return facts;
}

std::string chip_name(const Cupti& cupti, int device) {
  cupti::Plain begin;
  cupti.check(cupti.begin(&begin), "cuptiProfilerInitialize");
  cupti::ChipName chip;
  chip.device = static_cast<std::size_t>(device);
  cupti.check(cupti.chip_name(&chip), "cuptiDeviceGetChipName");
  return chip.name;
}

}  // namespace smemtune::cuda
