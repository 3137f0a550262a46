#include "tuner/backend/cuda/prepared_workload.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/fresh_data.h"

#include <algorithm>
#include <span>
#include <utility>

namespace smemtune::cuda {

namespace {

constexpr std::size_t kPartBytes = std::size_t{32} << 20;
constexpr std::int64_t kAlignment = 256;  // The alignment of cudaMalloc.

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// cudaMalloc of 0 bytes gives no address.
std::size_t at_least_one(std::int64_t bytes) {
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

void copy_on_device(void* to, const void* from, std::int64_t bytes, CUstream stream) {
  copy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream);
}

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

std::int64_t GuardedMemory::total_bytes(std::int64_t bytes) {
  return aligned(bytes) + 2 * kGuardBytes;
}

GuardedMemory::GuardedMemory(std::int64_t bytes)
    : capacity_(bytes), memory_(allocate(static_cast<std::size_t>(total_bytes(bytes)))) {}

CUdeviceptr GuardedMemory::data() const {
  return as_address(memory_.get()) + static_cast<CUdeviceptr>(kGuardBytes);
}

std::int64_t GuardedMemory::bytes_after(std::int64_t bytes) const {
  return total_bytes(capacity_) - kGuardBytes - bytes;
}

void ContentsWriter::write(const Argument& argument, std::uint64_t seed, void* to,
                           CUstream stream) {
  const auto rule = element_rule(argument, seed);
  const auto can_draw = [&] { return rule && kernels_.can_draw(); };
  std::optional<Contents> contents;
  const auto all = static_cast<std::size_t>(argument.bytes());
  std::size_t begin = 0;
  while (begin < all && !can_draw()) {
    if (!contents) contents.emplace(argument, seed);
    const std::size_t end = std::min(begin + kPartBytes, all);
    upload(*contents, begin, end, to, stream);
    begin = end;
  }
  if (begin == all || !rule) return;
  const std::size_t size = size_of(argument.type);
  kernels_.draw(stream, as_address(to), static_cast<std::int64_t>(begin / size),
                static_cast<std::int64_t>(all / size), argument.type, *rule);
}

void ContentsWriter::upload(const Contents& contents, std::size_t begin, std::size_t end, void* to,
                            CUstream stream) {
  if (parts_[0].bytes == nullptr) {
    for (Part& part : parts_) part = {.bytes = make_pinned(kPartBytes), .copied = make_event()};
  }
  std::swap(parts_[0], parts_[1]);
  const Part& part = parts_[0];
  check(cudaEventSynchronize(part.copied.get()), "cudaEventSynchronize");
  const std::span<std::uint8_t> bytes(static_cast<std::uint8_t*>(part.bytes.get()), end - begin);
  contents.read(begin, bytes);
  copy(static_cast<std::uint8_t*>(to) + begin, bytes.data(), bytes.size(), cudaMemcpyHostToDevice,
       stream);
  check(cudaEventRecord(part.copied.get(), stream), "cudaEventRecord");
}

DeviceBuffer::DeviceBuffer(const Argument& argument, std::uint64_t seed, bool can_redraw,
                           std::uint32_t salt, const DeviceBuffer* like, ContentsWriter& writer,
                           CUstream stream)
    : argument_(argument), can_redraw_(can_redraw), salt_(salt) {
  copies_.emplace_back(argument_.bytes());
  if (begins_with_contents(argument_) && argument_.bytes() > 0) {
    pristine_ = allocate(at_least_one(argument_.bytes()));
    if (like == nullptr) {
      writer.write(argument_, seed, pristine_.get(), stream);
    } else {
      copy_on_device(pristine_.get(), like->pristine_.get(), argument_.bytes(), stream);
    }
  }
  if (is_result()) expected_ = allocate(at_least_one(argument_.bytes()));
  restore(0, stream);
  synchronize(stream);
}

std::int64_t DeviceBuffer::device_bytes(const Argument& argument, bool has_contents) {
  return GuardedMemory::total_bytes(argument.bytes()) +
         aligned(argument.bytes()) * ((has_contents ? 1 : 0) + (argument.is_result() ? 1 : 0));
}

void DeviceBuffer::restore(std::size_t copy, CUstream stream) const {
  void* const to = as_pointer(data(copy));
  if (has_contents()) {
    copy_on_device(to, pristine_.get(), argument_.bytes(), stream);
  } else {
    check(cudaMemsetAsync(to, poison_byte(argument_.type),
                          static_cast<std::size_t>(argument_.bytes()), stream),
          "cudaMemsetAsync");
  }
}

void DeviceBuffer::keep_as_expected(CUdeviceptr from, CUstream stream) const {
  copy_on_device(expected_.get(), as_pointer(from), argument_.bytes(), stream);
}

void DeviceBuffer::keep_as_expected(const std::vector<std::uint8_t>& bytes, CUstream stream) const {
  copy(expected_.get(), bytes.data(),
       std::min(bytes.size(), static_cast<std::size_t>(argument_.bytes())), cudaMemcpyHostToDevice,
       stream);
  synchronize(stream);
}

void DeviceBuffer::provide_copies(std::size_t count, CUstream stream) {
  while (copies_.size() < count) {
    copies_.emplace_back(argument_.bytes());
    restore(copies_.size() - 1, stream);
    if (!textures_.empty()) provide_textures();
  }
}

void DeviceBuffer::drop_copies() {
  if (!textures_.empty()) textures_.erase(textures_.begin() + 1, textures_.end());
  copies_.erase(copies_.begin() + 1, copies_.end());
}

void DeviceBuffer::provide_textures() {
  while (textures_.size() < copies_.size()) {
    textures_.push_back(make_texture(argument_, data(textures_.size())));
  }
}

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
