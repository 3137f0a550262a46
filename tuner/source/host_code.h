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

/// Assignments, calls and allocations of a source's functions, found by name. Refers to what it was
/// made of.
class HostCode {
 public:
  HostCode(const CppTokens& tokens, const std::vector<SourceItem>& items);

  /// The item of the function that holds token i; nullptr: none does.
  const SourceItem* function_at(std::size_t i) const;

  /// `dim3(a, b)`, or what the variable of that name was made of before token `before`.
  std::vector<std::string> dimensions(TokenRange range, std::size_t before, int depth = 0) const;

  /// The value of the last `NAME.member = value;` before a token, in the same function; empty:
  /// there is none.
  TokenRange assigned_to_member(std::string_view name, std::string_view member,
                                std::size_t before) const;

  /// The function that holds token `at` and those that call it, with what they have of the names in
  /// `used`, which the first uses.
  std::vector<HostFrame> frames(std::size_t at, const std::vector<std::string>& used) const;

  /// What assert() says before token `end` in the function that holds it.
  std::vector<std::string> asserted(std::size_t end) const;

  /// What the array of that name was last made of before a token; empty: not known.
  std::vector<std::string> listed_in(std::string_view array, std::size_t before) const;

 private:
  /// `NAME(` or `NAME<...>(`
  struct Call {
    std::size_t name = 0;  ///< Token.
    std::size_t open = 0;  ///< Of the parenthesis.
  };

  /// A function that allocates as much as it is told, for a pointer that it is passed the address
  /// of or that it returns.
  struct Allocator {
    const SourceItem* function = nullptr;
    std::optional<std::size_t> parameter;  ///< nullopt: it is returned.
    TokenRange bytes;
  };

  struct Assignment {
    std::size_t name = 0;   ///< Token.
    TokenRange value;       ///< Empty: it is changed by something else than a plain =.
    bool is_array = false;  ///< The value is what an array begins with.
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
  std::vector<const SourceItem*> functions_;               ///< With a body, in the source's order.
  std::map<std::string_view, const SourceItem*> by_name_;  ///< The first of each.
  std::map<std::pair<const SourceItem*, std::size_t>, TokenRange> given_;  ///< By address.
  std::map<std::string_view, std::vector<Assignment>> assignments_;
  std::map<std::string_view, std::vector<Assignment>> members_;  ///< `NAME.x = `, also y and z.
  std::map<std::string_view, std::vector<std::size_t>> dim3s_;   ///< `dim3 NAME(`: its tokens.
  std::map<std::string_view, std::vector<Call>> calls_;
  std::map<std::string, std::string> allocated_;  ///< By cudaMalloc or a container.
  std::set<std::string> of_classes_;              ///< Of those: allocated by classes' functions.
  std::map<std::string, std::string> copied_;     ///< By cudaMemcpy.
  std::map<std::string, std::string> of_host_;    ///< By malloc() and its like, a vector.
  /// What `v.size()` and `sizeof(array)` are, by these texts' names.
  std::map<std::string, std::pair<std::string, std::string>> measured_;
  std::vector<Allocator> allocators_;
  std::vector<TokenRange> asserted_;
};

}  // namespace smemtune
