#pragma once

#include "tuner/init/host_state.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/syntax.h"
#include "tuner/source/macros.h"

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The functions of the host, and how one calls another.

namespace smemtune {

/// A function of the host that has a body.
struct DeclaredFunction {
  std::string name;
  CXCursor cursor = {};
  std::vector<std::string> parameters;
  std::vector<bool> may_change;  ///< True for each parameter that is a reference to a variable.
  std::vector<std::string> template_parameters;
  Syntax body = {};
  std::map<std::string, std::string> types;  ///< Types that its variables have or point to.
  std::string of_class = {};                 ///< Empty for a function that is no member.
  std::map<std::size_t, std::string> given;  ///< Values that it assigns through pointer parameters.
  /// Parameters to and from, kMember for a device pointer of its object.
  std::set<std::pair<std::size_t, std::size_t>> copies = {};
  static constexpr std::size_t kMember = std::numeric_limits<std::size_t>::max();
  std::string member = {};     ///< Name of that pointer, or of the one that it allocates.
  std::string allocated = {};  ///< Bytes that it allocates for it.

  /// Returns the number of the parameter of that name.
  std::optional<std::size_t> parameter(std::string_view parameter_name) const;
};

/// The functions that a source declares for the host, in classes as well, and the variables outside
/// of functions and classes.
struct HostDeclarations {
  std::vector<DeclaredFunction> functions;
  std::vector<Syntax> variables;
};

HostDeclarations host_declarations(const ParsedSource& source);

/// Returns the number that a single statement gives a variable outside of functions; nullopt if
/// it has an initial value, or if something else changes it.
std::optional<std::string> only_number(const HostDeclarations& host, const CppTokens& tokens,
                                       const std::string& name);

/// Returns the functions that only return an expression.
Macros short_functions(const HostDeclarations& host, const CppTokens& tokens);

/// A call or a launch as written, `name<A, B>(arguments)`.
struct CallText {
  std::string name;
  std::vector<std::string> template_arguments;
  std::vector<std::string> arguments;
};

/// Reads the name before a parenthesis or <<<, and its template arguments: `name<A, B>`.
std::optional<CallText> name_before(const CppTokens& tokens, std::size_t end, std::size_t first);

/// Reads the call that a range ends with.
std::optional<CallText> call_in(const CppTokens& tokens, TokenRange range);

/// Returns the texts between commas in the bracket that token `open` opens.
std::vector<std::string> parts_in(const CppTokens& tokens, std::size_t open);

/// A call of a function that the source has.
struct FunctionCall {
  const DeclaredFunction* caller = nullptr;  ///< Null outside of functions.
  const DeclaredFunction* callee = nullptr;
  std::size_t line = 0;
  HostState state = {};  ///< The caller's at the call.
  /// The texts that it passes, by the names of the callee's parameters and template parameters.
  std::map<std::string, std::string> passed = {};

  /// Returns a text of the callee in terms of what the caller passes.
  std::string in_caller(const std::string& text) const;
};

/// Returns the parameters of a function as its caller has them, `a` for `a.data()` and `a.get()`.
Terms terms_of_call(const std::map<std::string, std::string>& passed);

/// The first call of each function. The callee of a call is the first function of its name.
using Callers = std::map<const DeclaredFunction*, FunctionCall>;

FunctionCall function_call(const CallText& text, const DeclaredFunction& callee,
                           const DeclaredFunction* caller);

}  // namespace smemtune
