#include "tuner/core/expression.h"

#include "tuner/core/expression_operations.h"
#include "tuner/core/text.h"
#include "tuner/core/tokens.h"

#include <algorithm>
#include <array>
#include <bit>

namespace smemtune {

void Scope::add(std::string name, const Entry& entry) {
  if (entries_.contains(name)) throw InputError("the name '" + name + "' has two meanings");
  entries_.emplace(std::move(name), entry);
}

void Scope::add_variable(std::string name, std::size_t slot, Kind kind) {
  add(std::move(name),
      {.is_variable = true, .kind = kind, .value = static_cast<std::int64_t>(slot)});
}

void Scope::add_constant(std::string name, Value value) {
  const Kind kind = std::holds_alternative<std::int64_t>(value) ? Kind::integer : Kind::word;
  add(std::move(name), {.is_variable = false, .kind = kind, .value = to_slot(value)});
}

void Scope::add_constants(const Bindings& bindings) {
  for (const auto& [name, value] : bindings) add_constant(name, value);
}

bool Scope::contains(std::string_view name) const { return entries_.find(name) != entries_.end(); }

std::vector<std::string> Scope::names() const {
  return texts_of(entries_, [](const auto& entry) { return entry.first; });
}

const std::map<std::string, std::size_t, std::less<>>& type_sizes() {
  static const auto sizes = [] {
    std::map<std::string, std::size_t, std::less<>> all = {{"__nv_fp8x2_e4m3", 2},
                                                           {"__nv_fp8x4_e4m3", 4},
                                                           {"__half2", 4},
                                                           {"half2", 4},
                                                           {"__nv_bfloat162", 4}};
    for (const std::string_view name : scalar_type_names()) {
      all.emplace(name, size_of(*scalar_type(name)));
    }
    constexpr std::pair<const char*, std::size_t> kElements[] = {
        {"char", 1}, {"uchar", 1}, {"short", 2},    {"ushort", 2},    {"int", 4},   {"uint", 4},
        {"long", 8}, {"ulong", 8}, {"longlong", 8}, {"ulonglong", 8}, {"float", 4}, {"double", 8}};
    for (const auto& [element, bytes] : kElements) {
      for (std::size_t count = 1; count <= 4; ++count) {
        all.emplace(element + std::to_string(count), count * bytes);
      }
    }
    return all;
  }();
  return sizes;
}

std::optional<std::size_t> type_size(std::string_view name) {
  const auto type = type_sizes().find(name);
  return type == type_sizes().end() ? std::nullopt : std::optional(type->second);
}

std::int64_t to_slot(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const std::string& word = std::get<std::string>(value);
  std::uint64_t hash = 0xCBF29CE484222325ull;  // Hashed by FNV-1a.
  for (const char letter : word) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ull;
  }
  return static_cast<std::int64_t>((hash << 8) | type_size(word).value_or(0));
}

std::int64_t Expression::evaluate(std::span<const std::int64_t> slots) const {
  using expressions::Operation;
  // There is at most one temporary for every node. Not initialized: that would take longer than the
  // rest.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  std::array<std::int64_t, kMaxNodes> temporaries;
  const std::array<const std::int64_t*, 3> places = {temporaries.data(), slots.data(),
                                                     constants_.data()};
  const Instruction* const begin = code_.data();
  const Instruction* const end = begin + code_.size();
  for (const Instruction* at = begin; at != end;) {
    const Instruction& instruction = *at++;
    std::int64_t& result = temporaries[instruction.result];
    const std::int64_t left =
        places[static_cast<std::size_t>(instruction.left_place)][instruction.left];
    const auto operation = static_cast<Operation>(instruction.operation);
    if (operation >= Operation::logical_and && !is_of_reals(operation)) {
      switch (operation) {
        case Operation::copy:
          result = left;
          continue;
        case Operation::jump:
          break;
        case Operation::logical_and:
          if (left != 0) continue;
          result = 0;
          break;
        case Operation::logical_or:
          if (left == 0) continue;
          result = 1;
          break;
        default:  // jump_if_zero
          if (left != 0) continue;
      }
      at = begin + instruction.right;
      continue;
    }
    const std::int64_t right =
        places[static_cast<std::size_t>(instruction.right_place)][instruction.right];
    const char* const fault = calculate(operation, left, right, result);
    if (fault != nullptr) fail(instruction, fault, left, right);
  }
  return temporaries[0];
}

bool Expression::is_affine_in(std::size_t slot) const {
  using expressions::Operation;
  // The degrees of the temporaries as polynomials of the slot.
  std::vector<int> degrees(kMaxNodes, 0);
  const auto degree = [&](Place place, std::uint32_t index) {
    if (place == Place::temporary) return degrees[index];
    return place == Place::slot && index == slot ? 1 : 0;
  };
  for (const Instruction& one : code_) {
    const auto operation = static_cast<Operation>(one.operation);
    const bool jumps = operation >= Operation::logical_and && operation != Operation::copy;
    const bool has_right = operation >= Operation::add && operation != Operation::copy;
    const int left = degree(one.left_place, one.left);
    const int right = has_right ? degree(one.right_place, one.right) : 0;
    int& result = degrees[one.result];
    if (operation == Operation::add || operation == Operation::subtract) {
      result = std::max(left, right);
    } else if (operation == Operation::multiply) {
      result = left + right;
    } else if (operation == Operation::negate || operation == Operation::copy) {
      result = left;
    } else if (jumps || left + right > 0) {
      return false;
    } else {
      result = 0;
    }
    if (result > 1) return false;
  }
  return true;
}

double Expression::evaluate_real(std::span<const std::int64_t> slots) const {
  return std::bit_cast<double>(evaluate(slots));
}

void Expression::fail(const Instruction& instruction, const char* fault, std::int64_t left,
                      std::int64_t right) const {
  fail_at(text_, instruction.column,
          describe(fault, static_cast<expressions::Operation>(instruction.operation), left, right));
}

}  // namespace smemtune
