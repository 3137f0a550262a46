#include "tuner/engine/messages.h"

#include <cmath>

namespace smemtune {

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw WireError(what);
}

bool is_time(double ms) { return std::isfinite(ms) && ms > 0; }

}  // namespace

void check(const CompiledKernel& compiled, const CompileRequest& request) {
  require(compiled.entries.size() == request.name_expressions.size() &&
              compiled.symbols.size() == request.symbol_expressions.size(),
          "a module with other entries than were asked for");
  for (std::size_t i = 0; i < compiled.entries.size(); ++i) {
    require(compiled.entries[i].name_expression == request.name_expressions[i],
            "a module whose entries are in another order");
    const Resources& resources = compiled.entries[i].resources;
    require(resources.registers_per_thread >= 0 && resources.static_shared_bytes >= 0 &&
                resources.stack_bytes >= 0 && resources.spill_store_bytes >= 0 &&
                resources.spill_load_bytes >= 0 && resources.constant_bytes >= 0,
            "a module with negative resources");
  }
  require(std::isfinite(compiled.compile_ms) && compiled.compile_ms >= 0,
          "a compile time that is no number");
}

void check(const EvaluateReply& reply, const EvaluateRequest& request) {
  require(std::isfinite(reply.verify_ms) && reply.verify_ms >= 0,
          "a time of verification that is no number");
  if (reply.failure) return;
  require(!request.job.parts.empty() &&
              reply.loaded.launches.size() == request.job.parts.front().launches.size(),
          "a loaded kernel with another number of launches");
  require(std::isfinite(reply.max_absolute_error) && std::isfinite(reply.max_relative_error),
          "an error of a verified kernel that is no number");
  if (request.screen_samples == 0) return;
  require(!reply.time.samples_ms.empty() &&
              reply.time.samples_ms.size() <= static_cast<std::size_t>(request.screen_samples),
          "another number of samples than was asked for");
  for (const double sample : reply.time.samples_ms)
    require(is_time(sample), "a sample that is no time");
  require(reply.time.launches_per_sample > 0 && reply.time.discarded >= 0 &&
              std::isfinite(reply.time.sm_clock_mhz) && reply.time.sm_clock_mhz >= 0,
          "a measurement with impossible numbers");
}

void check(const SampleRoundReply& reply, const SampleRoundRequest& request) {
  require(reply.samples.size() == request.entries.size() ||
              (!reply.samples.empty() && reply.samples.size() < request.entries.size() &&
               reply.samples.back().failure && reply.samples.back().failure->context_lost),
          "a round with another number of samples than was asked for");
  for (const RoundSample& sample : reply.samples) {
    require(sample.failure || is_time(sample.time_ms), "a sample that is no time");
  }
}

}  // namespace smemtune
