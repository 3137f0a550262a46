#include "tuner/engine/messages.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace smemtune {

namespace {

// Limit for a reply.
constexpr std::size_t kMostModules = 65536;

void require(bool holds, const char* what) {
  if (!holds) throw WireError(what);
}

void check(const CompiledKernel& compiled, const CompileRequest& request) {
  for (const std::string& expression : request.name_expressions) {
    require(compiled.entry(expression) != nullptr, "a module without an entry that was asked for");
  }
  for (const std::string& expression : request.symbol_expressions) {
    require(compiled.symbol(expression) != nullptr, "a module without a symbol that was asked for");
  }
  for (const CompiledEntry& entry : compiled.entries) {
    const Resources& resources = entry.resources;
    require(resources.registers_per_thread >= 0 && resources.static_shared_bytes >= 0 &&
                resources.stack_bytes >= 0 && resources.spill_store_bytes >= 0 &&
                resources.spill_load_bytes >= 0 && resources.constant_bytes >= 0,
            "a module with negative resources");
    for (const auto& [name, count] : entry.code) {
      require(std::isfinite(count) && count >= 0, "a count of instructions that is none");
    }
  }
  require(std::isfinite(compiled.compile_ms) && compiled.compile_ms >= 0,
          "a compile time that is not a number");
}

void add_files(const Argument& argument, std::vector<DataFile>& files) {
  if (argument.init.kind == Init::Kind::file) files.push_back(argument.init.file);
  for (const Argument& read : argument.reads) add_files(read, files);
}

}  // namespace

std::vector<DataFile> files_of(const PrepareRequest& request) {
  std::vector<DataFile> files;
  for (const NumberedWorkload& workload : request.workloads) {
    for (const Argument& argument : workload.workload.arguments) add_files(argument, files);
  }
  for (const auto& [output, file] : request.expected) files.push_back(file);
  return files;
}

CompileReply make_reply(const CompiledTogether& outcomes) {
  CompileReply reply;
  std::vector<const CompiledKernel*> sent;
  for (const auto& outcome : outcomes) {
    if (!outcome) {
      reply.answers.push_back({.failure = outcome.failure()});
      continue;
    }
    auto module = std::ranges::find(sent, outcome->get());
    if (module == sent.end()) {
      reply.modules.push_back(**outcome);
      module = sent.insert(module, outcome->get());
    }
    reply.answers.push_back({.module = static_cast<std::int32_t>(module - sent.begin())});
  }
  return reply;
}

std::uint64_t module_number(std::uint64_t sequence, std::size_t index) {
  return sequence * kMostModules + index;
}

std::vector<Outcome<Module>> outcomes_of(CompileReply reply, std::uint64_t sequence) {
  std::vector<Module> modules;
  for (CompiledKernel& module : reply.modules) {
    modules.push_back(std::make_shared<const NumberedModule>(
        NumberedModule{std::move(module), module_number(sequence, modules.size())}));
  }
  std::vector<Outcome<Module>> outcomes;
  for (const CompileReply::Answer& answer : reply.answers) {
    if (answer.module < 0) {
      outcomes.emplace_back(answer.failure);
    } else {
      outcomes.emplace_back(modules[static_cast<std::size_t>(answer.module)]);
    }
  }
  return outcomes;
}

Frame image_frame(const NumberedModule& module) {
  return {.type = MessageType::module, .sequence = module.number, .payload = module.image};
}

std::vector<std::uint64_t> images_of(const Frame& request) {
  if (request.type == MessageType::evaluate) {
    return unpack<EvaluateRequest>(request.payload).job.images;
  }
  if (request.type != MessageType::prepare) return {};
  const auto prepare = unpack<PrepareRequest>(request.payload);
  std::vector<std::uint64_t> images = prepare.reference.images;
  if (prepare.in_double) {
    images.insert(images.end(), prepare.in_double->images.begin(), prepare.in_double->images.end());
  }
  return images;
}

void check(const CompileReply& reply, const CompileBatch& batch) {
  require(reply.modules.size() <= kMostModules, "more modules than anyone asks for");
  require(reply.answers.size() == batch.size(), "the wrong number of modules");
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const CompileReply::Answer& answer = reply.answers[i];
    if (answer.module < 0) continue;
    const auto module = static_cast<std::size_t>(answer.module);
    require(module < reply.modules.size(), "a module that was not sent");
    check(reply.modules[module], batch[i]);
  }
}

void check(const EvaluateReply& reply, const EvaluateRequest& request) {
  require(std::isfinite(reply.verify_ms) && reply.verify_ms >= 0,
          "a time of verification that is not a number");
  for (const double ms : {reply.first_launch_ms, reply.fastest_ms}) {
    require(std::isfinite(ms) && ms >= 0, "a time of a launch that is not a number");
  }
  if (reply.failure) return;
  require(!reply.time.mismatch, "times of launches whose output was wrong");
  require(!request.job.parts.empty() &&
              reply.loaded.launches.size() == request.job.parts.front().launches.size(),
          "a loaded kernel with the wrong number of launches");
  require(std::isfinite(reply.max_absolute_error) && std::isfinite(reply.max_relative_error),
          "an error of a verified kernel that is not a number");
  const std::vector<double>& launches_ms = reply.time.launches_ms;
  require(launches_ms.empty() ||
              (request.launch_samples > 0 && launches_ms.size() == reply.loaded.launches.size()),
          "times of launches that were not asked for");
  for (const double ms : launches_ms) {
    require(std::isfinite(ms) && ms >= 0, "a time of a launch that is not a number");
  }
  require(request.look_s == 0 ||
              (reply.look.blocks > 0 && reply.look.blocks <= reply.look.blocks_total),
          "an impossible number of blocks that were looked at");
  const std::vector<Facts>& told = reply.facts.launches;
  const bool are_wanted = request.count || request.energy_s > 0;
  require(told.empty() || (are_wanted && told.size() == reply.loaded.launches.size()),
          "facts that were not asked for");
  for (const Facts& facts : told) {
    for (const auto& [name, value] : facts) {
      require(std::isfinite(value), "a fact that is not a number");
    }
  }
  if (request.screen_samples == 0) return;
  if (reply.lost) {
    const bool was_asked = request.loss != LossLimits();
    require(was_asked && reply.first_launch_ms > 0 && is_time(reply.fastest_ms),
            "a loss that was not asked for");
  }
  const auto most = static_cast<std::size_t>(reply.lost ? 2 : std::max(3, request.screen_samples));
  require(!reply.time.samples_ms.empty() && reply.time.samples_ms.size() <= most,
          "the wrong number of samples");
  for (const double sample : reply.time.samples_ms)
    require(is_time(sample), "a sample that is not a time");
  require(reply.time.launches_per_sample > 0 && reply.time.discarded >= 0 &&
              std::isfinite(reply.time.sm_clock_mhz) && reply.time.sm_clock_mhz >= 0,
          "a measurement with impossible numbers");
}

void check(const SampleRoundReply& reply, const SampleRoundRequest& request) {
  require(reply.size() == request.size() ||
              (!reply.empty() && reply.size() < request.size() && reply.back().failure &&
               reply.back().failure->context_lost),
          "a round with the wrong number of samples");
  for (const RoundSample& sample : reply) {
    require(sample.failure || is_time(sample.time_ms), "a sample that is not a time");
    require(sample.discarded >= 0 && std::isfinite(sample.sm_clock_mhz) && sample.sm_clock_mhz >= 0,
            "a sample with impossible numbers");
  }
}

}  // namespace smemtune
