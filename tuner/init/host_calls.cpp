#include "tuner/init/host_calls.h"

#include "tuner/init/counting_loop.h"
#include "tuner/init/host_terms.h"

#include <algorithm>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;

void read_function(const ParsedSource& source, CXCursor cursor, const std::string& of_class,
                   HostDeclarations& host) {
  DeclaredFunction function;
  function.name = ParsedSource::name(cursor);
  function.name = function.name.substr(0, function.name.find('<'));
  function.of_class = of_class;
  function.cursor = cursor;
  bool has_body = false;
  for (const CXCursor child : ParsedSource::children(cursor)) {
    const CXCursorKind kind = ParsedSource::kind(child);
    if (kind == CXCursor_CUDAGlobalAttr) return;  // A kernel's launches are not the host's.
    if (kind == CXCursor_ParmDecl) {
      const CXType type = clang().getCursorType(child);
      function.parameters.push_back(ParsedSource::name(child));
      function.types[function.parameters.back()] = ParsedSource::element_type(child);
      function.may_change.push_back(type.kind == CXType_LValueReference &&
                                    clang().isConstQualifiedType(clang().getPointeeType(type)) ==
                                        0);
    } else if (kind == CXCursor_TemplateTypeParameter ||
               kind == CXCursor_NonTypeTemplateParameter) {
      function.template_parameters.push_back(ParsedSource::name(child));
    } else if (kind == CXCursor_CompoundStmt) {
      function.body = syntax_of(source, child);
      has_body = true;
    }
  }
  if (has_body) host.functions.push_back(std::move(function));
}

void read_declarations(const ParsedSource& source, CXCursor parent, const std::string& of_class,
                       HostDeclarations& host) {
  for_each_declaration(parent, [&](CXCursor declaration) {
    switch (ParsedSource::kind(declaration)) {
      case CXCursor_ClassDecl:
      case CXCursor_StructDecl:
      case CXCursor_ClassTemplate:
        return read_declarations(source, declaration, ParsedSource::name(declaration), host);
      case CXCursor_FunctionDecl:
      case CXCursor_FunctionTemplate:
      case CXCursor_CXXMethod:
      case CXCursor_Constructor:
        return read_function(source, declaration, of_class, host);
      case CXCursor_VarDecl:
        host.variables.push_back(syntax_of(source, declaration));
        return;
      default:
        return;
    }
  });
}

/// Returns the template parameter that is a variable's type; empty if none is.
std::string parameter_type(const DeclaredFunction& function, const std::string& variable) {
  const std::string& type = function.types.find(variable)->second;
  for (std::size_t i = 0; i < function.template_parameters.size(); ++i) {
    // Clang gives template parameters such names in canonical types.
    if (type == "type-parameter-0-" + std::to_string(i)) return function.template_parameters[i];
  }
  return "";
}

}  // namespace

std::optional<std::size_t> DeclaredFunction::parameter(std::string_view parameter_name) const {
  const auto found = std::ranges::find(parameters, parameter_name);
  if (found == parameters.end()) return std::nullopt;
  return static_cast<std::size_t>(found - parameters.begin());
}

HostDeclarations host_declarations(const ParsedSource& source) {
  HostDeclarations host;
  read_declarations(source, source.root(), "", host);
  return host;
}

std::optional<std::string> only_number(const HostDeclarations& host, const CppTokens& tokens,
                                       const std::string& name) {
  const bool has_initial = std::ranges::any_of(host.variables, [&](const Syntax& variable) {
    return variable.text == name && !variable.parts.empty();
  });
  if (has_initial) return std::nullopt;
  std::optional<std::string> number;
  for (const DeclaredFunction& function : host.functions) {
    if (!assigned_in(function.body).contains(name)) continue;
    std::vector<const Syntax*> uses;
    for_each(function.body, [&](const Syntax& syntax) {
      const bool changes =
          syntax.kind == Kind::assignment || syntax.steps() || syntax.is(Kind::unary, "&");
      if (changes && syntax.parts.front().is_name(name)) uses.push_back(&syntax);
      if (syntax.kind == Kind::variable && syntax.text == name) uses.push_back(nullptr);
    });
    const bool is_only = uses.size() == 1 && uses.front() != nullptr && !number &&
                         uses.front()->is(Kind::assignment, "=");
    if (!is_only) return std::nullopt;
    number = joined(tokens, uses.front()->parts[1].range);
    if (!number_of(*number)) return std::nullopt;
  }
  return number;
}

Macros short_functions(const HostDeclarations& host, const CppTokens& tokens) {
  Macros found;
  for (const DeclaredFunction& function : host.functions) {
    const bool is_short =
        function.body.parts.size() == 1 && function.body.parts[0].is(Kind::leave, "return");
    if (!is_short || function.parameters.empty()) continue;
    const TokenRange range = function.body.parts[0].range;
    found[function.name] = {.is_called = true,
                            .parameters = function.parameters,
                            .text = joined(tokens, {range.first + 1, range.end})};
  }
  return found;
}

std::optional<CallText> name_before(const CppTokens& tokens, std::size_t end, std::size_t first) {
  if (end == first || end == kNoToken) return std::nullopt;
  CallText call;
  std::size_t name = end - 1;
  if (tokens[name].is(")")) {  // `(name<A>)<<<...>>>`
    const std::size_t open = opening(tokens, name);
    return open == kNoToken || open < first ? std::nullopt : name_before(tokens, name, open + 1);
  }
  if (tokens[name].is("]")) {  // `kernels[i]<<<...>>>`
    const std::size_t open = opening(tokens, name);
    if (open == kNoToken || open <= first) return std::nullopt;
    name = open - 1;
  }
  if (tokens[name].is(">")) {
    const std::size_t less = opening_angle(tokens, name, first);
    if (less == kNoToken || less == first) return std::nullopt;
    call.template_arguments = texts(tokens, split(tokens, {less + 1, name}));
    name = less - 1;
  }
  if (!tokens[name].is_word()) return std::nullopt;
  call.name = tokens[name].text;
  return call;
}

std::optional<CallText> call_in(const CppTokens& tokens, TokenRange range) {
  if (range.empty() || !tokens[range.end - 1].is(")")) return std::nullopt;
  const std::size_t open = opening(tokens, range.end - 1);
  if (open == kNoToken || open <= range.first) return std::nullopt;
  std::optional<CallText> call = name_before(tokens, open, range.first);
  if (call) call->arguments = parts_in(tokens, open);
  return call;
}

std::vector<std::string> parts_in(const CppTokens& tokens, std::size_t open) {
  return texts(tokens, split(tokens, {open + 1, closing(tokens, open)}));
}

std::string FunctionCall::in_caller(const std::string& text) const {
  return substituted(text, terms_of_call(passed));
}

Terms terms_of_call(const std::map<std::string, std::string>& passed) {
  Terms terms = {{"sum(", "sum("}};  // A parameter `sum` is no function.
  for (const auto& [name, text] : passed) {
    const bool is_pointer = text.ends_with(".data()") || text.ends_with(".get()");
    const std::string value = is_pointer ? pointer_in(text) : text;
    terms.emplace_back("sizeof(" + name + ")", "sizeof(" + value + ")");
    terms.emplace_back(name, in_parentheses(value));
  }
  return terms;
}

FunctionCall function_call(const CallText& text, const DeclaredFunction& callee,
                           const DeclaredFunction* caller) {
  FunctionCall call = {.caller = caller, .callee = &callee};
  const std::size_t count = std::min(callee.parameters.size(), text.arguments.size());
  for (std::size_t i = 0; i < count; ++i) {
    call.passed.emplace(callee.parameters[i], text.arguments[i]);
  }
  for (std::size_t i = 0;
       i < std::min(callee.template_parameters.size(), text.template_arguments.size()); ++i) {
    call.passed.emplace(callee.template_parameters[i], text.template_arguments[i]);
  }
  for (std::size_t i = 0; i < count && caller != nullptr; ++i) {
    const auto given = caller->types.find(text.arguments[i]);
    if (given == caller->types.end()) continue;
    const std::string deduced = parameter_type(callee, callee.parameters[i]);
    if (!deduced.empty()) call.passed.emplace(deduced, given->second);
  }
  return call;
}

}  // namespace smemtune
