#pragma once

#include "tuner/source/launch_sites.h"
#include "tuner/source/source_items.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

/// The assignments, calls and allocations in a source's functions, by name. Refers to the tokens
/// and items that it was made from.
class HostCode {
 public:
  HostCode(const CppTokens& tokens, const std::vector<SourceItem>& items);

  /// Returns the item of the function that holds token i, or nullptr.
  const SourceItem* function_at(std::size_t i) const;

  /// Returns the dimensions of `dim3(a, b)`, or of the dim3 variable that the range names, as set
  /// before token `before`.
  std::vector<std::string> dimensions(TokenRange range, std::size_t before, int depth = 0) const;

  /// Returns the value of the last `NAME.member = value;` before a token, in the same function;
  /// empty if there is none.
  TokenRange assigned_to_member(std::string_view name, std::string_view member,
                                std::size_t before) const;

  /// Returns the function that holds token `at` and the functions that call it, with the values
  /// that they have for the names in `used`, which the first one uses.
  std::vector<HostFrame> frames(std::size_t at, const std::vector<std::string>& used) const;

  /// Returns the conditions of assert() before token `end` in the function that holds it.
  std::vector<std::string> asserted(std::size_t end) const;

  /// Returns the elements that the array of that name was last given before a token; empty when not
  /// known.
  std::vector<std::string> listed_in(std::string_view array, std::size_t before) const;

 private:
  /// A call, `NAME(` or `NAME<...>(`.
  struct Call {
    std::size_t name = 0;  ///< Token of the name.
    std::size_t open = 0;  ///< Token of the parenthesis.
  };

  /// A function that allocates memory of a size that it is passed, for a pointer whose address it
  /// is passed or that it returns.
  struct Allocator {
    const SourceItem* function = nullptr;
    std::optional<std::size_t> parameter;  ///< Number of the pointer; nullopt if it is returned.
    TokenRange bytes;
  };

  struct Assignment {
    std::size_t name = 0;   ///< Token of the name.
    TokenRange value;       ///< Empty if the variable is changed in another way than by a plain =.
    bool is_array = false;  ///< True if the value lists an array's initial elements.
  };

  void read_assignment(std::size_t i);
  void read_member(std::size_t i);
  void read_allocation(std::size_t call);
  void read_host_allocation(std::size_t i, TokenRange value);
  void read_array(std::size_t i);
  void read_container(std::size_t i);
  void read_allocator(std::size_t call, const std::string& pointer, TokenRange bytes);
  void use_allocators();
  std::size_t list_around(std::size_t i, std::size_t& number) const;
  bool is_listed(std::size_t i) const;
  TokenRange given_by_function(std::size_t i);
  std::vector<std::string> members_of(std::string_view name, std::size_t before) const;
  TokenRange value_behind(std::size_t equals) const;
  bool is_constant(const Assignment& global) const;
  const Assignment* last_assignment(std::string_view name, std::size_t before) const;
  void add_variables(const std::string& text, std::size_t before, HostFrame& frame) const;
  std::vector<std::string> parameters_of(const SourceItem& function) const;
  const Call* call_of(const SourceItem& function) const;
  std::map<std::string, std::string> passed_by(const Call& call, const SourceItem& function) const;
  std::vector<std::string> given_to(const Call& call) const;
  std::string assigned_before(std::size_t i) const;
  bool declares_dim3(std::size_t i) const;

  const CppTokens& tokens_;
  std::vector<const SourceItem*> functions_;  ///< Functions with a body, in the source's order.
  std::map<std::string_view, const SourceItem*> by_name_;  ///< The first of each name.
  /// Values assigned through an address that is passed.
  std::map<std::pair<const SourceItem*, std::size_t>, TokenRange> given_;
  std::map<std::string_view, std::vector<Assignment>> assignments_;
  std::map<std::string_view, std::vector<Assignment>> members_;  ///< `NAME.x = `, also for y and z.
  std::map<std::string_view, std::vector<std::size_t>> dim3s_;   ///< Tokens of each `dim3 NAME(`.
  std::map<std::string_view, std::vector<Call>> calls_;
  std::map<std::string, std::string> allocated_;  ///< Bytes allocated by cudaMalloc or a container.
  /// The pointers among these that functions of classes allocate.
  std::set<std::string> of_classes_;
  std::map<std::string, std::string> copied_;  ///< Bytes copied by cudaMemcpy.
  /// Bytes allocated by malloc() and its like, or a vector.
  std::map<std::string, std::string> of_host_;
  /// The texts `v.size()` and `sizeof(array)` and their values, by the name of the vector or array.
  std::map<std::string, std::pair<std::string, std::string>> measured_;
  std::vector<Allocator> allocators_;
  std::vector<TokenRange> asserted_;
};

}  // namespace smemtune
