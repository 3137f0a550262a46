#include "reports/occupancy_report.h"

#include "db/json_forms.h"
#include "reports/table.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace smemtune {

namespace {

using db::Json;

constexpr int kUnlimited = std::numeric_limits<int>::max();

std::string number(std::int64_t value) { return format_count(static_cast<std::uint64_t>(value)); }

/// Returns text like `100 %`, `66.7 %`.
std::string percent_text(double percent) {
  const bool whole = std::abs(percent - std::round(percent)) < 0.05;
  return decimal(percent, whole ? 0 : 1) + " %";
}

/// Returns text like `1,024 threads`.
std::string amount(std::int64_t count, const std::string& noun) {
  return counted(static_cast<std::uint64_t>(count), noun);
}

std::int64_t warps_of(const Device& device, std::int64_t threads) {
  return (threads + device.warp_size - 1) / device.warp_size;
}

int max_warps(const Device& device) { return device.max_threads_per_sm / device.warp_size; }

std::string unit_text(const Device& device) {
  const AllocationUnits units = allocation_units(device);
  return "units of " + number(units.registers) +
         (units.registers_per_block ? " per block" : " per warp");
}

/// Returns the registers that are allocated to a block: in whole units per warp, or on compute
/// capability 1.x per block.
std::string registers_taken(const Device& device, const BlockNeeds& needs) {
  const AllocationUnits units = allocation_units(device);
  if (units.registers_per_block) {
    return number(allocated_registers(device, needs.threads, needs.registers_per_thread));
  }
  const std::int64_t of_warp = std::int64_t{needs.registers_per_thread} * device.warp_size;
  const std::int64_t allocated =
      (of_warp + units.registers - 1) / units.registers * units.registers;
  return amount(warps_of(device, needs.threads), "warp") + " x " + number(allocated);
}

std::string shared_taken(const Device& device, const BlockNeeds& needs) {
  std::string text = number(allocated_shared_bytes(device, needs.shared_bytes)) + " B";
  if (device.reserved_shared_bytes_per_block > 0) {
    text += " (" + number(device.reserved_shared_bytes_per_block) + " reserved)";
  }
  return text;
}

std::string blocks_text(int blocks, const Occupancy& reached) {
  if (blocks == kUnlimited) return "any";
  return std::to_string(blocks) + (blocks == reached.blocks_per_sm ? " <" : "  ");
}

std::string limits_table(const Device& device, const BlockNeeds& needs, const Occupancy& reached) {
  Table table({"limit", ">a block takes", ">a multiprocessor has", ">blocks  "});
  table.add_row({"threads", amount(warps_of(device, needs.threads), "warp"),
                 amount(max_warps(device), "warp"),
                 blocks_text(reached.blocks_by_threads, reached)});
  const bool known = needs.registers_per_thread > 0;
  table.add_row({"registers", known ? registers_taken(device, needs) : "not given",
                 number(device.registers_per_sm),
                 blocks_text(reached.blocks_by_registers, reached)});
  table.add_row({"shared", shared_taken(device, needs), number(device.shared_bytes_per_sm) + " B",
                 blocks_text(reached.blocks_by_shared, reached)});
  table.add_row({"blocks", "1", number(device.max_blocks_per_sm),
                 blocks_text(reached.blocks_by_limit, reached)});
  return table.text("    ");
}

/// Returns text like "at most 32 registers per thread instead of 40 and blocks of 128 threads
/// instead of 256".
std::string change_text(const BlockNeeds& now, const BlockNeeds& then) {
  std::vector<std::string> changes;
  if (then.threads != now.threads) {
    changes.push_back("blocks of " + amount(then.threads, "thread") + " instead of " +
                      number(now.threads));
  }
  if (then.registers_per_thread != now.registers_per_thread) {
    changes.push_back("at most " + amount(then.registers_per_thread, "register") +
                      " per thread instead of " + number(now.registers_per_thread));
  }
  if (then.shared_bytes != now.shared_bytes) {
    changes.push_back("at most " + number(then.shared_bytes) +
                      " bytes of shared memory instead of " + number(now.shared_bytes));
  }
  return joined(changes, " and ");
}

/// Returns the block sizes, in whole warps, that reach the target if nothing else limits them.
std::vector<std::int64_t> blocks_reaching(const Device& device, double target_percent) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t threads = device.warp_size; threads <= device.max_threads_per_block;
       threads += device.warp_size) {
    if (allowance(device, threads, target_percent)) sizes.push_back(threads);
  }
  return sizes;
}

Json needs_json(const BlockNeeds& needs) {
  Json json = {{"threads_per_block", needs.threads}};
  json["registers_per_thread"] =
      needs.registers_per_thread > 0 ? Json(needs.registers_per_thread) : Json(nullptr);
  json["shared_bytes_per_block"] = needs.shared_bytes;
  return json;
}

}  // namespace

std::string occupancy_text(const Device& device, const BlockNeeds& needs) {
  const Occupancy reached = occupancy(device, needs);
  std::string text = "  " + amount(needs.threads, "thread");
  if (needs.registers_per_thread > 0) {
    text += ", " + amount(needs.registers_per_thread, "register") + " per thread";
  }
  text += ", " + number(needs.shared_bytes) + " bytes of shared memory per block\n\n";
  const std::string limiters = joined(reached.limiters(), " and ");
  if (reached.blocks_per_sm == 0) {
    text += "  does not fit: not even one block, limited by " + limiters + "\n\n";
  } else {
    text += "  " + percent_text(reached.percent) +
            " occupancy: " + amount(reached.blocks_per_sm, "block") + ", " +
            std::to_string(reached.warps_per_sm) + " of " + amount(max_warps(device), "warp") +
            " per multiprocessor, limited by " + limiters + "\n\n";
  }
  text += limits_table(device, needs, reached);
  if (const std::int64_t idle = idle_threads(device, needs.threads); idle > 0) {
    text += "\n  wasted: " + number(idle) + " of " + number(needs.threads + idle) +
            " threads, a block takes whole warps of " + std::to_string(device.warp_size) + "\n";
  }
  const std::vector<OccupancyStep> steps = next_steps(device, needs);
  if (!steps.empty()) text += "\n";
  for (const OccupancyStep& step : steps) {
    text += "  " + percent_text(step.reached.percent) + " with " + change_text(needs, step.needs) +
            "\n";
  }
  return text;
}

std::string allowance_text(const Device& device, std::int64_t threads_per_block,
                           double target_percent) {
  const auto most = allowance(device, threads_per_block, target_percent);
  if (!most) {
    const Occupancy reached = occupancy(device, threads_per_block, 0, 0);
    std::string text = "  " + percent_text(target_percent) + " is out of reach: blocks of " +
                       amount(threads_per_block, "thread") + " reach " +
                       percent_text(reached.percent) + " at most, limited by " +
                       joined(reached.limiters(), " and ") + "\n";
    std::vector<std::string> sizes;
    for (const std::int64_t size : blocks_reaching(device, target_percent)) {
      sizes.push_back(std::to_string(size));
    }
    if (!sizes.empty()) text += "  block sizes that reach it: " + joined(sizes, ", ") + "\n";
    return text;
  }
  std::string text =
      "  " + percent_text(target_percent) + " takes " + amount(most->blocks_per_sm, "block") +
      " of " + amount(threads_per_block, "thread") + " (" + std::to_string(most->warps_per_sm) +
      " of " + amount(max_warps(device), "warp") + "). What each block may use:\n";
  text += "    shared memory  " + number(most->shared_bytes) + " bytes per block at most";
  if (most->divided_shared_bytes != most->shared_bytes) {
    text += " (plain division: " + number(device.shared_bytes_per_sm) + " / " +
            std::to_string(most->blocks_per_sm) + " = " + number(most->divided_shared_bytes) +
            "; a block may have " + number(device.max_shared_bytes_per_block) + ", " +
            number(device.reserved_shared_bytes_per_block) + " are reserved, units of " +
            number(allocation_units(device).shared_bytes) + ")";
  }
  text +=
      "\n    registers      " + std::to_string(most->registers_per_thread) + " per thread at most";
  if (most->divided_registers != most->registers_per_thread) {
    text += " (plain division: " + number(device.registers_per_sm) + " / " +
            number(most->blocks_per_sm * threads_per_block) + " = " +
            number(most->divided_registers) + "; a thread may have " +
            std::to_string(allocation_units(device).max_registers_per_thread) + ", allocated in " +
            unit_text(device) + ")";
  }
  return text + "\n";
}

Json occupancy_json(const Device& device, const BlockNeeds& needs) {
  const Occupancy reached = occupancy(device, needs);
  Json json = needs_json(needs);
  json["occupancy"] = db::occupancy_json(reached);
  json["max_warps_per_sm"] = max_warps(device);
  json["idle_threads_per_block"] = idle_threads(device, needs.threads);
  json["next"] = Json::array();
  for (const OccupancyStep& step : next_steps(device, needs)) {
    Json next = needs_json(step.needs);
    next["occupancy"] = db::occupancy_json(step.reached);
    json["next"].push_back(std::move(next));
  }
  return json;
}

Json allowance_json(const Device& device, std::int64_t threads_per_block, double target_percent) {
  Json json = {{"target_percent", target_percent}, {"threads_per_block", threads_per_block}};
  const auto most = allowance(device, threads_per_block, target_percent);
  json["reachable"] = most.has_value();
  if (!most) {
    json["most_percent"] = occupancy(device, threads_per_block, 0, 0).percent;
    json["threads_that_reach_it"] = blocks_reaching(device, target_percent);
    return json;
  }
  json["occupancy_percent"] = most->percent;
  json["blocks_per_sm"] = most->blocks_per_sm;
  json["warps_per_sm"] = most->warps_per_sm;
  json["most_shared_bytes_per_block"] = most->shared_bytes;
  json["most_registers_per_thread"] = most->registers_per_thread;
  json["by_plain_division"] = {{"shared_bytes_per_block", most->divided_shared_bytes},
                               {"registers_per_thread", most->divided_registers}};
  return json;
}

}  // namespace smemtune
