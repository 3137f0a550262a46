#include "tuner/backend/cuda/prepared_workload.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/fresh_data.h"

namespace smemtune::cuda {
namespace {

bool is_device_buffer(const Argument& argument) {
  return argument.is_buffer() && !argument.in_constant_memory() && !argument.is_scratch();
}

// Returns a buffer that begins with the argument's contents; null if there is none.
const DeviceBuffer* buffer_like(const Argument& argument, const PreparedWorkload::Map& others) {
  if (depends_on_seed(argument)) return nullptr;
  for (const auto& [id, other] : others) {
    const auto found = other->buffers.find(argument.name);
    if (found != other->buffers.end() && found->second.argument() == argument) {
      return &found->second;
    }
  }
  return nullptr;
}

}  // namespace

std::int64_t device_bytes(const Workload& workload) {
  std::int64_t sum = 0;
  for (const Argument& argument : workload.arguments) {
    if (!is_device_buffer(argument)) continue;
    sum += DeviceBuffer::device_bytes(argument, begins_with_contents(argument));
  }
  return sum;
}

PreparedWorkload::PreparedWorkload(const Workload& workload, std::uint64_t its_number,
                                   const Map& others, ContentsWriter& writer, CUstream stream)
    : number(its_number) {
  std::uint32_t salt = static_cast<std::uint32_t>(number) * 1000u;
  for (const Argument& argument : workload.arguments) {
    if (is_device_buffer(argument)) {
      salt += 1;
      buffers.try_emplace(argument.name, argument, workload.seed,
                          can_redraw(argument, workload.arguments), salt * kSaltStep,
                          buffer_like(argument, others), writer, stream);
    } else if (argument.is_buffer() && argument.in_constant_memory()) {
      constants[argument.name] = {argument, initial_contents(argument, workload.seed)};
    }
  }
}

}  // namespace smemtune::cuda
