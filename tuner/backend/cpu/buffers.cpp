#include "tuner/backend/cpu/buffers.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/cpu/processor.h"
#include "tuner/backend/fresh_data.h"
#include "tuner/backend/tolerances.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/reasons.h"
#include "tuner/core/whole.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <sys/mman.h>
#include <utility>

namespace smemtune::cpu {

namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr unsigned char kGuardByte = 0xA5;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + abi::kPageBytes - 1) / abi::kPageBytes * abi::kPageBytes;
}

/// Contains a quarter of a page more, so that a shifted start fits.
std::size_t region_bytes(const Argument& argument) {
  return kGuardBytes + whole_pages(static_cast<std::size_t>(argument.bytes()) + abi::kPageBytes) +
         kGuardBytes;
}

std::size_t arena_bytes(const Workload& workload) {
  std::size_t bytes = 2 * abi::kPageBytes;
  for (const Argument& argument : workload.arguments) {
    if (argument.is_buffer() && !argument.in_constant_memory()) bytes += region_bytes(argument);
  }
  return bytes;
}

/// Calls visit(index, element) for each element, decoded in portions.
template <typename Visit>
void for_each_element(const unsigned char* data, std::size_t count, ScalarType type, Visit visit) {
  constexpr std::size_t kPortion = 65536;
  for (std::size_t first = 0; first < count; first += kPortion) {
    const std::size_t size = std::min(kPortion, count - first);
    const std::vector<double> elements =
        to_doubles(std::span(data + first * size_of(type), size * size_of(type)), type);
    for (std::size_t i = 0; i < size; ++i) visit(first + i, elements[i]);
  }
}

bool is_poison(const unsigned char* element, ScalarType type) {
  const unsigned char poison = poison_byte(type);
  return std::all_of(element, element + size_of(type),
                     [poison](unsigned char c) { return c == poison; });
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/// Returns true if every byte from `first` to before `last` is `value`.
bool is_filled(const unsigned char* first, const unsigned char* last, unsigned char value) {
  if (first == last) return true;
  return *first == value &&
         std::memcmp(first, first + 1, static_cast<std::size_t>(last - first) - 1) == 0;
}

}  // namespace

std::int64_t Buffers::needed_bytes(const Workload& workload) {
  // The arena, the initial contents and the reference.
  return 3 * total_bytes(workload.arguments) +
         static_cast<std::int64_t>(workload.arguments.size() * 4 * abi::kPageBytes);
}

Buffers::Buffers(const Workload& workload) : arena_(arena_bytes(workload)) {
  unsigned char* next = arena_.begin() + abi::kPageBytes;
  std::size_t shift = 0;
  for (const Argument& argument : workload.arguments) {
    Buffer buffer;
    buffer.argument = argument;
    buffer.can_redraw = smemtune::can_redraw(argument, workload.arguments);
    if (!argument.members.empty()) continue;  // The launcher makes it of the others.
    if (!argument.is_buffer()) {
      buffer.scalar = scalar_bytes(argument);
    } else {
      const bool is_poisoned = argument.is_scratch() || (argument.role == Role::output &&
                                                         argument.init.kind == Init::Kind::none);
      if (!is_poisoned) buffer.initial = initial_contents(argument, workload.seed);
    }
    if (buffer.in_arena()) {
      buffer.guard = next;
      // Buffers that begin at the same place of a page would compete for the same cache lines.
      buffer.data = next + kGuardBytes + shift;
      buffer.data_end = buffer.data + buffer.bytes();
      buffer.end = buffer.room_end = next + region_bytes(argument);
      next = buffer.room_end;
      shift = (shift + 256) % (abi::kPageBytes / 2);
    }
    buffers_.push_back(std::move(buffer));
  }
  // The result is ignored: if this fails, the guard zones are still checked.
  mprotect(arena_.begin(), abi::kPageBytes, PROT_NONE);
  mprotect(arena_.begin() + arena_.bytes() - abi::kPageBytes, abi::kPageBytes, PROT_NONE);
}

const Buffers::Buffer* Buffers::find(const std::string& name) const {
  const auto found = std::ranges::find_if(
      buffers_, [&](const Buffer& buffer) { return buffer.argument.name == name; });
  return found == buffers_.end() ? nullptr : &*found;
}

void* Buffers::kernel_argument(const std::string& name, bool as_texture) {
  for (Buffer& buffer : buffers_) {
    if (buffer.argument.name != name) continue;
    if (!buffer.argument.is_buffer()) return buffer.scalar.data();
    if (!as_texture) return static_cast<void*>(&buffer.data);
    const auto texel = static_cast<std::size_t>(buffer.argument.texel_elements());
    buffer.texture = {.texels = buffer.data,
                      .count = buffer.bytes() / (texel * buffer.element_bytes()),
                      .bytes = texel * buffer.element_bytes()};
    if (buffer.argument.is_texture_2d()) {
      const TextureReading& reading = buffer.argument.reading;
      buffer.texture.height = buffer.argument.shape[0];
      buffer.texture.width = buffer.argument.shape[1];
      buffer.texture.address = static_cast<int>(reading.address);
      buffer.texture.is_linear = reading.is_linear;
      buffer.texture.is_normalized = reading.is_normalized;
    }
    buffer.texture_object = &buffer.texture;
    return static_cast<void*>(&buffer.texture_object);
  }
  return nullptr;
}

const Argument* Buffers::argument(const std::string& name) const {
  const Buffer* const buffer = find(name);
  return buffer == nullptr ? nullptr : &buffer->argument;
}

const std::vector<std::uint8_t>& Buffers::initial(const std::string& name) const {
  return find(name)->initial;
}

bool Buffers::resize(const Argument& scratch) {
  for (Buffer& buffer : buffers_) {
    if (buffer.argument.name != scratch.name || !buffer.argument.is_scratch()) continue;
    const std::int64_t room = buffer.room_end - kGuardBytes - buffer.data;
    if (scratch.bytes() > room) return false;
    buffer.argument = scratch;
    buffer.data_end = buffer.data + buffer.bytes();
    buffer.end = buffer.data_end + kGuardBytes;
  }
  return true;
}

void Buffers::take_reference(Buffers& other) {
  for (Buffer& buffer : buffers_) {
    for (Buffer& before : other.buffers_) {
      if (before.argument.name == buffer.argument.name)
        std::swap(before.reference, buffer.reference);
    }
  }
}

void Buffers::fill(std::uint64_t key) {
  holders_.clear();
  for (const Buffer& buffer : buffers_) {
    if (!buffer.in_arena()) continue;
    std::memset(buffer.guard, kGuardByte, static_cast<std::size_t>(buffer.data - buffer.guard));
    std::memset(buffer.data_end, kGuardByte,
                static_cast<std::size_t>(buffer.end - buffer.data_end));
    if (buffer.initial.empty()) {
      std::memset(buffer.data, poison_byte(buffer.argument.type), buffer.bytes());
    } else {
      const Redraw how = buffer.can_redraw ? redraw_for(buffer.argument, key) : Redraw{};
      redraw(buffer.initial, buffer.argument.type, how, 0, buffer.argument.elements(), buffer.data);
    }
  }
}

DataSet Buffers::answered(std::uint64_t key) const {
  DataSet set = {.key = key, .mask = unforeseeable()};
  for (const Buffer& buffer : buffers_) {
    if (!buffer.is_result() || buffer.reference.empty()) continue;
    std::vector<std::uint8_t>& answer = set.answers[buffer.argument.name];
    const unsigned char* const data = holder(buffer).data;
    answer.assign(data, data + buffer.bytes());
    apply_mask(set.mask, 0, answer);
  }
  return set;
}

bool Buffers::can_redraw() const {
  return std::ranges::any_of(buffers_, [](const Buffer& buffer) { return buffer.can_redraw; });
}

std::int64_t Buffers::result_bytes() const {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : buffers_) bytes += buffer.is_result() ? buffer.argument.bytes() : 0;
  return bytes;
}

bool Buffers::has_reference() const {
  return std::ranges::any_of(buffers_,
                             [](const Buffer& buffer) { return !buffer.reference.empty(); });
}

bool Buffers::flush_from_caches(std::size_t most_bytes) const {
  std::size_t bytes = 0;
  for (const Buffer& buffer : buffers_)
    bytes += static_cast<std::size_t>(buffer.end - buffer.guard);
  if (bytes > most_bytes) return false;
  return std::ranges::all_of(buffers_, [](const Buffer& buffer) {
    return cpu::flush_from_caches(buffer.guard,
                                  static_cast<std::size_t>(buffer.end - buffer.guard));
  });
}

abi::Range Buffers::range() const { return {.begin = arena_.begin(), .bytes = arena_.bytes()}; }

std::optional<AccessFault> Buffers::access(const void* address, std::size_t bytes,
                                           abi::Access kind) const {
  const auto* const begin = static_cast<const unsigned char*>(address);
  const Buffer* nearest = nullptr;
  for (const Buffer& buffer : buffers_) {
    if (buffer.data == nullptr) continue;
    if (begin >= buffer.data && begin + bytes <= buffer.data_end) {
      if (kind == abi::Access::read || buffer.argument.role != Role::input) return std::nullopt;
      const auto element = static_cast<std::size_t>(begin - buffer.data) / buffer.element_bytes();
      return AccessFault{{Status::correctness, "input_modified"},
                         "writes element " + std::to_string(element) + " of " +
                             buffer.argument.name + ", which is an input"};
    }
    if (nearest == nullptr || begin >= buffer.guard) nearest = &buffer;
  }
  const std::string verb = kind == abi::Access::read ? "reads " : "writes ";
  if (nearest == nullptr)
    return AccessFault{{Status::correctness, "overrun"}, verb + "where there is no buffer"};
  const std::int64_t element =
      floor_divide(begin - nearest->data, static_cast<std::int64_t>(nearest->element_bytes()));
  return AccessFault{{Status::correctness, "overrun"},
                     verb + std::to_string(bytes) + " bytes at element " + std::to_string(element) +
                         " of " + nearest->argument.name + ", which has " +
                         std::to_string(nearest->argument.elements())};
}

void Buffers::examine(const RunRequest& request, RunReport& report) const {
  std::optional<Mismatch> wrong;
  for (const Buffer& buffer : buffers_) {
    if (!wrong && buffer.in_arena()) wrong = harmed_guard(buffer);
  }
  for (const Buffer& buffer : buffers_) {
    if (!wrong && buffer.in_arena() && buffer.argument.role == Role::input) {
      wrong = modified_input(buffer);
    }
  }
  const auto found = wrong_results(request, report);
  report.mismatch = wrong ? wrong : found;
}

std::optional<Mismatch> Buffers::wrong_results(const RunRequest& request, RunReport& report) const {
  std::optional<Mismatch> wrong;
  for (const Buffer& buffer : buffers_) {
    if (!buffer.is_result()) continue;
    const auto found = wrong_element(buffer, request.tolerance_of(buffer.argument.name),
                                     request.as_reference, report);
    if (!wrong) wrong = found;
  }
  return wrong;
}

std::optional<Mismatch> Buffers::examine(const RunRequest& request, const DataSet* set) {
  for (const Buffer& buffer : buffers_) {
    if (!buffer.in_arena()) continue;
    if (auto wrong = harmed_guard(buffer)) return wrong;
  }
  // The answers take the reference's place while they are compared.
  std::map<std::string, std::vector<std::uint8_t>> shown;
  if (set != nullptr) shown = set->answers;
  const auto exchange = [&] {
    for (auto& [name, answer] : shown) {
      const auto buffer = std::ranges::find(
          buffers_, name,
          [](const Buffer& one) -> const std::string& { return one.argument.name; });
      std::swap(buffer->reference, answer);
    }
  };
  for (auto& [name, answer] : shown) apply_mask(set->mask, 0, answer);
  exchange();
  RunReport report;
  const auto wrong = wrong_results(request, report);
  exchange();
  for (auto& [name, answer] : shown) std::ranges::fill(answer, std::uint8_t{0});
  return wrong;
}

std::optional<Mismatch> Buffers::harmed_guard(const Buffer& buffer) const {
  Mismatch mismatch = {.argument = buffer.argument.name,
                       .reason = Reason(Status::correctness, "overrun").word()};
  const auto look = [&](const unsigned char* first, const unsigned char* last) {
    if (is_filled(first, last, kGuardByte)) return;
    for (const unsigned char* byte = first; byte != last; ++byte) {
      if (*byte == kGuardByte) continue;
      if (mismatch.count == 0) {
        mismatch.index =
            floor_divide(byte - buffer.data, static_cast<std::int64_t>(buffer.element_bytes()));
        mismatch.value = *byte;
        mismatch.expected = kGuardByte;
      }
      ++mismatch.count;
    }
  };
  look(buffer.guard, buffer.data);
  look(buffer.data_end, buffer.end);
  return mismatch.count == 0 ? std::nullopt : std::optional(mismatch);
}

std::optional<Mismatch> Buffers::modified_input(const Buffer& buffer) const {
  if (std::memcmp(buffer.data, buffer.initial.data(), buffer.bytes()) == 0) return std::nullopt;
  Mismatch mismatch = {.argument = buffer.argument.name,
                       .reason = Reason(Status::correctness, "input_modified").word()};
  const std::size_t size = buffer.element_bytes();
  for (std::size_t i = 0; i < buffer.bytes() / size; ++i) {
    if (std::memcmp(buffer.data + i * size, buffer.initial.data() + i * size, size) == 0) continue;
    if (mismatch.count == 0) {
      mismatch.index = static_cast<std::int64_t>(i);
      const std::span<const std::uint8_t> now(buffer.data, buffer.bytes());
      mismatch.value = element_at(now, buffer.argument.type, i);
      mismatch.expected = element_at(buffer.initial, buffer.argument.type, i);
    }
    ++mismatch.count;
  }
  return mismatch;
}

std::optional<Mismatch> Buffers::wrong_element(const Buffer& buffer, const Tolerance& tolerance,
                                               bool as_reference, RunReport& report) const {
  const unsigned char* const data = holder(buffer).data;
  const std::span<const std::uint8_t> bytes(data, buffer.bytes());
  const ScalarType type = buffer.argument.type;
  const Tolerance used = tolerance_for(tolerance, type);
  const bool compares = !as_reference && !buffer.reference.empty();
  const bool was_poisoned = holder(buffer).initial.empty();
  const std::size_t size = buffer.element_bytes();
  const double unknown = std::numeric_limits<double>::quiet_NaN();

  // The kinds of mismatch, in the order in which they are reported.
  Mismatch unwritten = {.argument = buffer.argument.name,
                        .reason = Reason(Status::correctness, "unwritten").word()};
  Mismatch nan = {.argument = buffer.argument.name,
                  .reason = Reason(Status::correctness, "nan").word()};
  Mismatch mismatch = {.argument = buffer.argument.name,
                       .reason = Reason(Status::correctness, "mismatch").word()};
  const auto note = [&](Mismatch& into, std::size_t index, double value, double expected) {
    if (into.count++ > 0) return;
    into.index = static_cast<std::int64_t>(index);
    into.value = value;
    into.expected = expected;
    into.exact_value = exact_text(bits_at(bytes, type, index), type);
    if (!compares) return;
    into.exact_expected = exact_text(bits_at(buffer.reference, type, index), type);
  };

  std::vector<double> expected_portion;
  std::size_t portion_begin = 0;
  for_each_element(data, buffer.bytes() / size, type, [&](std::size_t i, double value) {
    double expected = unknown;
    if (compares) {
      if (i >= portion_begin + expected_portion.size()) {
        portion_begin = i;
        const std::size_t count = std::min<std::size_t>(65536, buffer.bytes() / size - i);
        expected_portion =
            to_doubles(std::span(buffer.reference.data() + i * size, count * size), type);
      }
      expected = expected_portion[i - portion_begin];
    }
    double error = std::abs(value - expected);
    bool agrees = value == expected;
    if (compares && is_wide_integer(type)) {
      error = distance(bits_at(bytes, type, i), bits_at(buffer.reference, type, i), type);
      agrees = error == 0;
    }
    // Poison is NaN in floating-point types; as an integer it may also be the right result.
    const bool is_unwritten = was_poisoned && is_poison(data + i * size, type) &&
                              (is_floating(type) || (compares && !agrees));
    if (is_unwritten) return note(unwritten, i, value, expected);
    const bool both_nan = std::isnan(value) && (!compares || std::isnan(expected));
    if (agrees || (buffer.argument.nan_agrees && both_nan)) return;
    const bool counts_places = compares && buffer.argument.compares_each();
    if (!counts_places &&
        (std::isinf(value) || (buffer.argument.nan_agrees && std::isnan(value)))) {
      return;
    }
    if (!std::isfinite(value)) return note(nan, i, value, expected);
    if (!counts_places) return;
    // The negation makes an expected NaN fail.
    if (!(error <= allowed_error(used, type, expected))) note(mismatch, i, value, expected);
    note_error(error, expected, report);
  });
  if (poison_by_chance(type, static_cast<std::uint64_t>(unwritten.count),
                       static_cast<std::uint64_t>(mismatch.count))) {
    const std::int64_t count = unwritten.count + mismatch.count;
    if (unwritten.count > 0 && unwritten.index < mismatch.index) {
      std::swap(unwritten.reason, mismatch.reason);
      mismatch = unwritten;
    }
    mismatch.count = count;
    unwritten.count = 0;
  }
  for (const Mismatch& found : {unwritten, nan, mismatch}) {
    if (found.count > 0) return found;
  }
  if (!compares || buffer.argument.compares_each()) return std::nullopt;
  if (buffer.argument.compares_sorted) {
    return wrong_sorted(buffer.argument, bytes, buffer.reference, tolerance, report);
  }
  return wrong_sum(buffer.argument, sum_of(bytes, type), sum_of(buffer.reference, type), tolerance,
                   report);
}

void Buffers::keep_reference(const std::map<std::string, std::vector<double>>& instead) {
  for (Buffer& buffer : buffers_) {
    if (!buffer.is_result()) continue;
    const auto given = instead.find(buffer.argument.name);
    if (given == instead.end()) {
      const unsigned char* const data = holder(buffer).data;
      buffer.reference.assign(data, data + buffer.bytes());
    } else {
      buffer.reference = encode(given->second, buffer.argument.type);
    }
  }
}

std::vector<KeptOutput> Buffers::kept() const {
  std::vector<KeptOutput> outputs;
  for (const Buffer& buffer : buffers_) {
    if (!buffer.is_result() || buffer.reference.empty()) continue;
    const std::vector<std::uint8_t>& now = buffer.reference;
    const std::size_t size = buffer.element_bytes();
    KeptOutput& output = outputs.emplace_back(KeptOutput{
        .name = buffer.argument.name, .elements = buffer.argument.elements(), .is_constant = true});
    for (std::size_t at = 0; at < now.size(); at += size) {
      const bool is_changed =
          buffer.initial.empty() || std::memcmp(&now[at], &buffer.initial[at], size) != 0;
      output.changed += is_changed ? 1 : 0;
      if (std::memcmp(&now[at], now.data(), size) != 0) output.is_constant = false;
    }
    if (!is_floating(buffer.argument.type)) continue;
    for (const double element : to_doubles(now, buffer.argument.type)) {
      if (std::isfinite(element)) output.largest = std::max(output.largest, std::abs(element));
    }
  }
  return outputs;
}

std::vector<std::uint8_t> Buffers::kept_elements(const std::string& output,
                                                 std::span<const std::int64_t> at) const {
  const Buffer& buffer = *find(output);
  if (buffer.reference.empty()) return {};
  return elements_at(buffer.reference, buffer.element_bytes(), at);
}

void Buffers::write_kept(const std::vector<Edit>& edits) {
  for (const Buffer& buffer : buffers_) {
    if (!buffer.is_result() || buffer.reference.empty()) continue;
    unsigned char* const data = holder(buffer).data;
    std::memcpy(data, buffer.reference.data(), buffer.bytes());
    for (const Edit& edit : edits) {
      if (edit.output != buffer.argument.name) continue;
      std::memcpy(data + static_cast<std::size_t>(edit.first) * buffer.element_bytes(),
                  edit.bytes.data(), edit.bytes.size());
    }
  }
}

void Buffers::set_holders(std::map<std::string, std::string> holders) {
  holders_ = std::move(holders);
}

const Buffers::Buffer& Buffers::holder(const Buffer& buffer) const {
  const auto other = holders_.find(buffer.argument.name);
  const Buffer* const found = other == holders_.end() ? nullptr : find(other->second);
  return found == nullptr ? buffer : *found;
}

EncodedArray Buffers::elements(const std::string& name) const {
  const Buffer* const buffer = find(name);
  if (buffer == nullptr || !buffer->argument.is_buffer()) {
    throw InputError("no buffer is called " + name);
  }
  const std::span<const std::uint8_t> bytes = bytes_of(*buffer);
  return {buffer->argument.type, {bytes.begin(), bytes.end()}};
}

std::span<const std::uint8_t> Buffers::bytes_of(const Buffer& buffer) const {
  if (!buffer.in_arena()) return buffer.initial;
  return std::span(holder(buffer).data, buffer.bytes());
}

}  // namespace smemtune::cpu
