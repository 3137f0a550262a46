#include "tuner/backend/cuda/bound_kernel.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/plain_kernel.h"
#include "tuner/backend/cuda/texture.h"
#include "tuner/core/error.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

namespace smemtune::cuda {

namespace {

std::string described(const Argument& argument) {
  return std::string(cuda_name(argument.type)) + " of " + std::to_string(argument.bytes()) +
         " bytes";
}

std::optional<Failure> differs(const Argument& kernels, const Argument& problems) {
  if (problems.type == kernels.type && problems.bytes() == kernels.bytes()) return std::nullopt;
  return argument_failure("the kernel takes " + kernels.name + " as " + described(kernels) +
                          ", the problem's is " + described(problems));
}

std::optional<Failure> copy_constants(CudaKernel& kernel, const PreparedWorkload& workload,
                                      CUstream stream) {
  if (kernel.constants_of == workload.number) return std::nullopt;
  for (const CudaKernel::Constant& constant : kernel.constants) {
    const auto found = workload.constants.find(constant.argument.name);
    if (found == workload.constants.end()) {
      return argument_failure("the problem has no argument " + constant.argument.name +
                              " in constant memory");
    }
    const auto& [argument, contents] = found->second;
    if (auto failed = differs(constant.argument, argument)) return failed;
    copy(as_pointer(constant.address), contents.data(), contents.size(), cudaMemcpyHostToDevice,
         stream);
  }
  kernel.constants_of = workload.number;
  return std::nullopt;
}

}  // namespace

Outcome<BoundKernel> BoundKernel::bind(CudaKernel& kernel, PreparedWorkload& workload,
                                       ScratchPool& pool, CUstream stream) {
  BoundKernel bound;
  bound.kernel_ = &kernel;
  std::map<std::string, Source> known;
  for (const Turn& turn : kernel.turns) {
    std::vector<Source>& sources = bound.sources_.emplace_back();
    for (const std::string& name : turn.as.arguments) {
      const auto source = bound.source(name, turn, workload, known);
      if (!source) return source.failure();
      sources.push_back(*source);
    }
  }
  bound.take_scratch(pool);
  if (auto failed = copy_constants(kernel, workload, stream)) return *failed;
  return bound;
}

/// Returns where an argument of a turn comes from. `known`: those that are the same in all turns.
// NOLINTNEXTLINE(misc-no-recursion): a struct stands behind its members.
Outcome<BoundKernel::Source> BoundKernel::source(const std::string& name, const Turn& turn,
                                                 PreparedWorkload& workload,
                                                 std::map<std::string, Source>& known) {
  if (const Argument* const own = find_argument(turn.as.scalars, name)) {
    scalars_.push_back(scalar_bytes(*own));
    return Source{Source::Kind::scalar, scalars_.size() - 1};
  }
  if (const auto found = known.find(name); found != known.end()) return found->second;
  const Argument& argument = *find_argument(kernel_->arguments, name);
  if (argument.members.empty()) {
    auto added = add(argument, workload);
    if (added) known.emplace(name, *added);
    return added;
  }
  Structure structure = {.argument = argument, .members = {}};
  for (const StructMember& member : argument.members) {
    const auto of_member = source(member.name, turn, workload, known);
    if (!of_member) return of_member.failure();
    structure.members.emplace(member.name, *of_member);
  }
  structures_.push_back(std::move(structure));
  return Source{Source::Kind::structure, structures_.size() - 1};
}

/// REQUIRES: the source is a buffer, a texture or scratch.
CUdeviceptr BoundKernel::address_of(const Source& source, std::size_t copy) const {
  switch (source.kind) {
    case Source::Kind::buffer:
      return buffers_[source.index]->data(copy);
    case Source::Kind::texture:
      return buffers_[source.index]->texture(copy);
    default:
      return (*scratch_[source.index].copies)[copy].data();
  }
}

// NOLINTNEXTLINE(misc-no-recursion): a struct stands behind its members.
std::vector<std::uint8_t> BoundKernel::structure_bytes(const Structure& structure,
                                                       std::size_t copy) const {
  std::vector<std::uint8_t> last;
  return struct_bytes(structure.argument, [&](const std::string& name) {
    const Source& member = structure.members.at(name);
    if (member.kind == Source::Kind::scalar) {
      last = scalars_[member.index];
    } else if (member.kind == Source::Kind::structure) {
      last = structure_bytes(structures_[member.index], copy);
    } else {
      last = address_bytes(address_of(member, copy));
    }
    return std::span<const std::uint8_t>(last);
  });
}

Outcome<BoundKernel::Source> BoundKernel::add(const Argument& argument,
                                              PreparedWorkload& workload) {
  if (!argument.is_buffer()) {
    scalars_.push_back(scalar_bytes(argument));
    return Source{Source::Kind::scalar, scalars_.size() - 1};
  }
  if (argument.is_scratch()) {
    const auto salt = static_cast<std::uint32_t>(scratch_.size() + 1);
    scratch_.push_back({argument, nullptr, ~(salt * kSaltStep)});
    return Source{Source::Kind::scratch, scratch_.size() - 1};
  }
  const auto found = workload.buffers.find(argument.name);
  if (found == workload.buffers.end()) {
    return argument_failure("the problem has no buffer " + argument.name);
  }
  DeviceBuffer& buffer = found->second;
  if (auto failed = differs(argument, buffer.argument())) return *failed;
  if (argument.is_texture()) {
    if (const std::string why = exceeds_texture(argument); !why.empty()) {
      return failure({Status::runtime, "texture_width"},
                     "the texture " + argument.name + " " + why);
    }
    buffer.provide_textures();
  }
  buffers_.push_back(&buffer);
  if (argument.is_tensor_map()) {
    tensors_.push_back({argument, &buffer});
    return Source{Source::Kind::tensor_map, tensors_.size() - 1};
  }
  return Source{argument.is_texture() ? Source::Kind::texture : Source::Kind::buffer,
                buffers_.size() - 1};
}

void BoundKernel::take_scratch(ScratchPool& pool) {
  if (pool.size() < scratch_.size()) pool.resize(scratch_.size());
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    const std::int64_t bytes = scratch_[i].argument.bytes();
    if (pool[i].empty() || pool[i].front().capacity() < bytes) {
      pool[i].clear();
      pool[i].emplace_back(bytes);
    }
    scratch_[i].copies = &pool[i];
  }
}

const DeviceBuffer* BoundKernel::named(const std::string& name) const {
  const auto found = std::ranges::find_if(
      buffers_, [&](const DeviceBuffer* buffer) { return buffer->argument().name == name; });
  return found == buffers_.end() ? nullptr : *found;
}

CUdeviceptr BoundKernel::result(const DeviceBuffer& buffer, std::size_t copy) const {
  const std::string& holder = holder_of(buffer.argument().name, kernel_->turns);
  if (const DeviceBuffer* const other = named(holder)) return other->data(copy);
  for (const Scratch& scratch : scratch_) {
    if (scratch.argument.name == holder) return (*scratch.copies)[copy].data();
  }
  return buffer.data(copy);
}

bool BoundKernel::result_is_poisoned(const DeviceBuffer& buffer) const {
  const DeviceBuffer* const holder = named(holder_of(buffer.argument().name, kernel_->turns));
  return holder == nullptr || !holder->has_contents();
}

std::int64_t BoundKernel::bytes() const {
  std::int64_t sum = 0;
  for (const DeviceBuffer* buffer : buffers_) sum += buffer->argument().bytes();
  for (const Scratch& one : scratch_) sum += one.argument.bytes();
  return sum;
}

/// Returns the parameters as cuLaunchKernelEx takes them; `values` must live as long.
std::vector<void*> BoundKernel::parameters(const Driver& driver, std::size_t turn, std::size_t copy,
                                           Values& values) const {
  std::vector<void*> pointers;
  values.addresses.resize(sources_[turn].size());
  values.maps.resize(tensors_.size());
  values.structures.clear();
  for (const Source& source : sources_[turn]) {
    CUdeviceptr& address = values.addresses[pointers.size()];
    pointers.push_back(&address);
    switch (source.kind) {
      case Source::Kind::buffer:
      case Source::Kind::texture:
      case Source::Kind::scratch:
        address = address_of(source, copy);
        break;
      case Source::Kind::structure:
        values.structures.push_back(structure_bytes(structures_[source.index], copy));
        pointers.back() = values.structures.back().data();
        break;
      case Source::Kind::tensor_map: {
        const auto& [argument, buffer] = tensors_[source.index];
        values.maps[source.index] = make_tensor_map(driver, argument, buffer->data(copy));
        pointers.back() = &values.maps[source.index];
        break;
      }
      case Source::Kind::scalar:
        pointers.back() = const_cast<std::uint8_t*>(scalars_[source.index].data());
        break;
    }
  }
  return pointers;
}

std::optional<Failure> BoundKernel::enqueue(
    const Driver& driver, std::size_t copy, CUstream stream,
    const std::function<void(std::size_t)>& before_turn) const {
  Values values;
  for (std::size_t i = 0; i < kernel_->turns.size(); ++i) {
    if (before_turn) before_turn(i);
    const Turn& turn = kernel_->turns[i];
    const CudaKernel::Launch& launch = kernel_->launches[turn.launch];
    const CUresult code =
        LaunchConfig(launch.shape, turn.as, stream)
            .launch(driver, launch.function, parameters(driver, i, copy, values).data());
    if (code != CUDA_SUCCESS) {
      return refused_launch(
          static_cast<int>(code),
          "cuLaunchKernelEx of " + launch.shape.name_expression + ": " + driver.text(code));
    }
  }
  return std::nullopt;
}

std::size_t BoundKernel::provide_copies(std::size_t wanted, CUstream stream) {
  try {
    for (DeviceBuffer* buffer : buffers_) buffer->provide_copies(wanted, stream);
    for (const Scratch& scratch : scratch_) {
      const std::int64_t capacity = scratch.copies->front().capacity();
      while (scratch.copies->size() < wanted) scratch.copies->emplace_back(capacity);
    }
    return wanted;
  } catch (const CudaError& error) {
    if (error.code() != cudaErrorMemoryAllocation) throw;
  }
  std::size_t provided = wanted;
  for (const DeviceBuffer* buffer : buffers_) provided = std::min(provided, buffer->copies());
  for (const Scratch& scratch : scratch_) provided = std::min(provided, scratch.copies->size());
  return provided;
}

RepeatedLaunches::RepeatedLaunches(const Driver& driver, const BoundKernel& bound,
                                   std::size_t copies, std::size_t batch, CUstream stream)
    : driver_(driver),
      bound_(bound),
      copies_(copies),
      batch_(batch),
      stream_(stream),
      ends_{make_event(), make_event()} {}

std::size_t RepeatedLaunches::step() {
  while (queued_ - ended_ < ends_.size()) enqueue();
  const cudaError_t state = cudaEventQuery(ends_[ended_ % ends_.size()].get());
  if (state == cudaErrorNotReady) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } else {
    check(state, "cudaEventQuery");
    ++ended_;
    enqueue();
  }
  return ended_ * batch_;
}

void RepeatedLaunches::enqueue() {
  for (std::size_t i = 0; i < batch_; ++i) {
    const std::size_t copy = (queued_ * batch_ + i) % copies_;
    if (const auto failure = bound_.enqueue(driver_, copy, stream_)) {
      throw UnavailableError(failure->detail);
    }
  }
  check(cudaEventRecord(ends_[queued_ % ends_.size()].get(), stream_), "cudaEventRecord");
  ++queued_;
}

}  // namespace smemtune::cuda
