#include "reports/occupancy_chart.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace smemtune {
namespace {

/// A quantity of BlockNeeds that a chart varies.
struct Axis {
  std::string title;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t now = 0;
  std::function<void(BlockNeeds&, std::int64_t)> set;
};

std::string right_aligned(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Returns the value of the axis at each column: evenly spaced, except that the column nearest to
/// `now` is exactly `now`.
std::vector<std::int64_t> points(const Axis& axis, std::size_t columns, std::size_t& now_column) {
  const double step =
      static_cast<double>(axis.most - axis.least) / static_cast<double>(columns - 1);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < columns; ++i) {
    values.push_back(axis.least +
                     static_cast<std::int64_t>(std::llround(step * static_cast<double>(i))));
  }
  const std::int64_t now = std::clamp(axis.now, axis.least, axis.most);
  now_column = static_cast<std::size_t>(std::llround(static_cast<double>(now - axis.least) / step));
  values[now_column] = now;
  return values;
}

std::string chart(const Device& device, const BlockNeeds& needs, const Axis& axis,
                  std::size_t columns, std::size_t rows) {
  std::size_t now_column = 0;
  const std::vector<std::int64_t> values = points(axis, columns, now_column);
  std::vector<double> percents;
  for (const std::int64_t value : values) {
    BlockNeeds changed = needs;
    axis.set(changed, value);
    percents.push_back(occupancy(device, changed).percent);
  }
  std::string text =
      "  occupancy against " + axis.title + ", now " + std::to_string(axis.now) + "\n";
  for (std::size_t row = rows; row > 0; --row) {
    const double top = 100.0 * static_cast<double>(row) / static_cast<double>(rows);
    const double bottom = 100.0 * static_cast<double>(row - 1) / static_cast<double>(rows);
    const bool labelled = row == rows || 2 * row == rows;
    text += labelled ? right_aligned(std::to_string(std::lround(top)), 5) + " % |" : "        |";
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) {
      const bool filled = percents[i] > bottom;
      line += !filled ? ' ' : i == now_column ? '*' : '#';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += "        +" + std::string(columns, '-') + "\n";
  const std::string least = std::to_string(axis.least);
  return text + "         " + least +
         right_aligned(std::to_string(axis.most), columns - std::min(columns, least.size())) + "\n";
}

}  // namespace

std::string occupancy_charts(const Device& device, const BlockNeeds& needs, const ChartSize& size) {
  const std::size_t columns = std::max<std::size_t>(size.columns, 16);
  const std::size_t rows = std::max<std::size_t>(size.rows, 2);
  const Axis threads = {.title = "threads per block",
                        .least = device.warp_size,
                        .most = device.max_threads_per_block,
                        .now = needs.threads,
                        .set = [](BlockNeeds& changed, std::int64_t n) { changed.threads = n; }};
  const Axis registers = {.title = "registers per thread",
                          .least = 1,
                          .most = allocation_units(device).max_registers_per_thread,
                          .now = needs.registers_per_thread,
                          .set = [](BlockNeeds& changed, std::int64_t n) {
                            changed.registers_per_thread = static_cast<int>(n);
                          }};
  const Axis shared = {
      .title = "bytes of shared memory per block",
      .least = 0,
      .most = device.max_shared_bytes_per_block,
      .now = needs.shared_bytes,
      .set = [](BlockNeeds& changed, std::int64_t n) { changed.shared_bytes = n; }};
  // No more columns than there are block sizes, so that each size has its own column.
  const auto sizes = static_cast<std::size_t>(device.max_threads_per_block / device.warp_size);
  return chart(device, needs, threads, std::min(columns, sizes), rows) + "\n" +
         chart(device, needs, registers, columns, rows) + "\n" +
         chart(device, needs, shared, columns, rows);
}

}  // namespace smemtune
