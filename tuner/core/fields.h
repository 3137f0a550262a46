#pragma once

#include "tuner/core/result.h"

#include <concepts>
#include <type_traits>

// The fields of a device, a launch, a measurement and a result, each listed once: they are sent to
// workers, stored and printed under these names, which are never renamed. A member that is to be
// stored goes here and into a migration (db/migrations.cpp).

namespace smemtune {

/// Satisfied by the type that a function describes, for readers (not const) and writers (const).
template <typename T, typename Described>
concept Is = std::same_as<std::remove_const_t<T>, Described>;

/// Visits the fields that boards of one model have in common.
void visit_model(Is<Device> auto& v, auto&& visit) {
  visit("kind", v.kind);
  visit("name", v.name);
  visit("architecture", v.architecture);
  visit("compute_major", v.compute_major);
  visit("compute_minor", v.compute_minor);
  visit("sm_count", v.sm_count);
  visit("warp_size", v.warp_size);
  visit("max_threads_per_block", v.max_threads_per_block);
  visit("max_threads_per_sm", v.max_threads_per_sm);
  visit("max_blocks_per_sm", v.max_blocks_per_sm);
  visit("registers_per_block", v.registers_per_block);
  visit("registers_per_sm", v.registers_per_sm);
  visit("shared_bytes_per_block", v.shared_bytes_per_block);
  visit("max_shared_bytes_per_block", v.max_shared_bytes_per_block);
  visit("shared_bytes_per_sm", v.shared_bytes_per_sm);
  visit("reserved_shared_bytes_per_block", v.reserved_shared_bytes_per_block);
  visit("constant_bytes", v.constant_bytes);
  visit("max_block_dim", v.max_block_dim);
  visit("max_grid_dim", v.max_grid_dim);
  visit("memory_bytes", v.memory_bytes);
  visit("l2_bytes", v.l2_bytes);
  visit("memory_bus_bits", v.memory_bus_bits);
  visit("memory_clock_khz", v.memory_clock_khz);
  visit("sm_clock_khz", v.sm_clock_khz);
  visit("ecc", v.ecc);
  visit("limits_of", v.limits_of);
}

void visit_fields(Is<Device> auto& v, auto&& visit) {
  visit_model(v, visit);
  visit("uuid", v.uuid);
  visit("driver_version", v.driver_version);
  visit("runtime_version", v.runtime_version);
}

void visit_fields(Is<LaunchShape> auto& v, auto&& visit) {
  visit("entry", v.name_expression);
  visit("grid", v.grid);
  visit("block", v.block);
  visit("dynamic_shared_bytes", v.dynamic_shared_bytes);
  visit("static_shared_bytes", v.static_shared_bytes);
  visit("arguments", v.arguments);
  visit("cooperative", v.cooperative);
  visit("times", v.times);
}

void visit_fields(Is<Resources> auto& v, auto&& visit) {
  visit("registers_per_thread", v.registers_per_thread);
  visit("static_shared_bytes", v.static_shared_bytes);
  visit("stack_bytes", v.stack_bytes);
  visit("spill_store_bytes", v.spill_store_bytes);
  visit("spill_load_bytes", v.spill_load_bytes);
  visit("constant_bytes", v.constant_bytes);
  visit("barriers", v.barriers);
  visit("max_threads_per_block", v.max_threads_per_block);
  visit("wgmma_serialized", v.wgmma_serialized);
}

void visit_fields(Is<Occupancy> auto& v, auto&& visit) {
  visit("percent", v.percent);
  visit("blocks_per_sm", v.blocks_per_sm);
  visit("warps_per_sm", v.warps_per_sm);
  visit("blocks_by_threads", v.blocks_by_threads);
  visit("blocks_by_registers", v.blocks_by_registers);
  visit("blocks_by_shared", v.blocks_by_shared);
  visit("blocks_by_limit", v.blocks_by_limit);
}

/// Visits all fields but the samples, which are a list of their own.
void visit_fields(Is<Measurement> auto& v, auto&& visit) {
  visit("median_ms", v.median_ms);
  visit("median_low_ms", v.median_low_ms);
  visit("median_high_ms", v.median_high_ms);
  visit("min_ms", v.min_ms);
  visit("q1_ms", v.q1_ms);
  visit("q3_ms", v.q3_ms);
  visit("max_ms", v.max_ms);
  visit("mean_ms", v.mean_ms);
  visit("launches_per_sample", v.launches_per_sample);
  visit("discarded", v.discarded);
  visit("sample_count", v.sample_count);
  visit("sm_clock_mhz", v.sm_clock_mhz);
  visit("throttled", v.throttled);
}

/// Visits the fields of a result except its key, launches, measurement, metrics and unit.
void visit_fields(Is<Result> auto& v, auto&& visit) {
  visit("status", v.status);
  visit("reason", v.reason);
  visit("detail", v.detail);
  visit("stage", v.stage);
  visit("max_absolute_error", v.max_absolute_error);
  visit("max_relative_error", v.max_relative_error);
  visit("compile_ms", v.compile_ms);
  visit("verify_ms", v.verify_ms);
  visit("first_launch_ms", v.first_launch_ms);
  visit("cubin_sha256", v.cubin_sha256);
  visit("chosen", v.chosen);
  visit("given_up", v.given_up);
  visit("tied", v.tied);
  visit("finals", v.finals);
  visit("is_default", v.is_default);
  visit("is_reference", v.is_reference);
  visit("compared_with", v.compared_with);
  visit("compared", v.compared);
}

}  // namespace smemtune
