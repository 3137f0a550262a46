#include "tuner/init/host_reader.h"

#include "tuner/init/copies.h"
#include "tuner/init/counting_loop.h"
#include "tuner/init/elements.h"
#include "tuner/init/host_checks.h"
#include "tuner/init/host_function.h"
#include "tuner/init/host_launches.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/kernel_uses.h"
#include "tuner/init/library_products.h"
#include "tuner/init/names.h"
#include "tuner/init/space_names.h"
#include "tuner/init/totals.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;

/// Walks through the functions of a source as they run, and records their launches.
class HostReader {
 public:
  explicit HostReader(const FlatSource& source)
      : source_(source), declared_(host_declarations(source_)), launches_(tokens_) {
    run_all();  // To know what functions allocate and give before their callers are walked through.
    launches_.clear();
    callers_.clear();
    host_.calls.clear();
    run_all();
  }

  HostPart part() {
    host_.launches = launches_.sites(memory_, memory_.common(host_.calls, callers_), callers_);
    host_.functions = short_functions(declared_, tokens_);
    host_.layouts = type_layouts(source_);
    for (const DeclaredFunction& function : declared_.functions) {
      if (function.of_class.empty()) add_checks(source_, function.cursor, function.body, host_);
    }
    add_totals(source_, declared_, host_);
    add_products(source_, declared_, host_);
    follow_calls(host_);
    follow_copies(host_);
    for (const auto& [token, answer] : answers_) host_.answers.push_back(answer);
    add_enumerations(source_, host_);
    return std::move(host_);
  }

 private:
  void run_all() {
    HostState globals;
    function_ = nullptr;
    for (const Syntax& variable : declared_.variables) declare(variable, globals);
    for (const DeclaredFunction& function : declared_.functions) {
      // A variable that a function changes no longer has its initial value.
      for (const std::string& name : assigned_in(function.body)) {
        if (globals_.contains(name)) globals.assign(name, only_number(declared_, tokens_, name));
      }
    }
    for (DeclaredFunction& function : declared_.functions) {
      HostState state = globals;
      for (const std::string& name : function.parameters) state.make_counter(name);
      function_ = &function;
      launches_.begin();
      statement(function.body, state);
    }
  }

  // Statements. Each returns true if nothing runs behind it.

  bool statement(const Syntax& syntax, HostState& state) {
    switch (syntax.kind) {
      case Kind::block:
        return statements(syntax, state);
      case Kind::branch:
        return branch(syntax, state);
      case Kind::choice:
        return choose(syntax, state);
      case Kind::loop:
        // `do { ... } while (0)`, as macros have it.
        if (syntax.text == "do" && syntax.parts[Syntax::kCondition].kind == Kind::literal) {
          return statement(syntax.parts[Syntax::kBody], state);
        }
        [[fallthrough]];
      case Kind::list_loop:
        loop(syntax, state);
        return false;
      case Kind::leave:
        note_returned(syntax.range);
        expression(syntax, state);
        return true;
      default:
        expression(syntax, state);
        return syntax.is(Kind::call, "exit") || syntax.is(Kind::call, "abort");
    }
  }

  bool statements(const Syntax& block, HostState& state) {
    bool ends = false;
    const std::vector<TokenRange> gaps = gaps_in(block);
    for (std::size_t i = 0; i < block.parts.size(); ++i) {
      gap(gaps[i], state);
      ends = statement(block.parts[i], state) || ends;
    }
    gap(gaps.back(), state);
    return ends;
  }

  /// Reads what clang has left out, which may change a variable whose address it takes.
  void gap(TokenRange range, HostState& state) {
    launches_.record(range, function_, state);
    for (std::size_t i = range.first + 2; i < range.end; ++i) {
      const bool is_address = tokens_[i - 1].is("&") && tokens_[i - 2].is("(", ",");
      if (is_address && tokens_[i].is_word()) state.assign(std::string(tokens_[i].text), {});
    }
  }

  /// Returns true if a range asks for the program's options, which leave defaults in place.
  bool reads_options(TokenRange range) const {
    for (std::size_t i = range.first; i < std::min(range.end, tokens_.size()); ++i) {
      const std::string_view text = tokens_[i].text;
      if (is_one_of(text, {"argc", "argv", "optarg", "getopt", "getopt_long"})) return true;
      if (text.find("CmdLine") != std::string_view::npos) return true;
    }
    return false;
  }

  std::string text(const Syntax& syntax) const { return joined(tokens_, syntax.whole); }

  bool branch(const Syntax& syntax, HostState& state) {
    const std::string condition = text(syntax.parts[0]);
    expression(syntax.parts[0], state);
    if (syntax.parts.size() < 2) return false;
    const Syntax& then = syntax.parts[1];
    const Syntax* const otherwise = syntax.parts.size() > 2 ? &syntax.parts[2] : nullptr;
    if (const auto known = constant_value(condition)) {
      if (*known != 0) return statement(then, state);
      return otherwise != nullptr && statement(*otherwise, state);
    }
    const auto outside = launches_.enter_branches(source_.line(syntax.cursor), condition, state);
    state.begin_branches(condition);
    HostState other = state;
    const bool ends = statement(then, state);
    launches_.begin();
    const bool other_ends = otherwise != nullptr && statement(*otherwise, other);
    const bool takes_options = launches_.count() == outside.launches && reads_options(syntax.range);
    if ((ends && !other_ends) || (takes_options && reads_options(then.range))) {
      if (!other_ends) state = std::move(other);
    } else if (!other_ends && !takes_options) {
      state.join_if(other);
    } else if (!other_ends && otherwise == nullptr) {
      state.join(other);
    }
    state.end_branches();
    launches_.leave_branches(outside);
    return ends && other_ends;
  }

  bool choose(const Syntax& syntax, HostState& state) {
    const std::string condition = syntax.parts.empty() ? "" : text(syntax.parts[0]);
    const bool is_of_turns = launches_.counts_turns(condition);
    const auto outside = launches_.enter_branches(source_.line(syntax.cursor), condition, state);
    const HostState entry = state;
    std::vector<HostState> ends;
    bool has_default = false;
    for (const Syntax& part : syntax.parts.empty() ? syntax.parts : syntax.parts.back().parts) {
      const bool is_default = part.is(Kind::block, "default");
      if (part.is(Kind::block, "case") || is_default) {
        state = entry;
        launches_.begin();
      }
      has_default = has_default || is_default;
      const std::string value = is_of_turns ? case_value(part) : "";
      if (!value.empty()) launches_.set_turn(condition, value);
      if (statement(part, state)) ends.push_back(state);
    }
    launches_.forget_turn(condition);
    launches_.leave_branches(outside);
    ends.push_back(std::move(state));
    if (!has_default) ends.push_back(entry);
    state = std::move(ends.front());
    for (std::size_t i = 1; i < ends.size(); ++i) state.join(ends[i]);
    return false;
  }

  /// Returns the number of `case 2:`; empty if it is none.
  std::string case_value(const Syntax& part) const {
    const std::size_t first = part.range.first;
    const bool is_number = part.is(Kind::block, "case") && first + 2 < part.range.end &&
                           tokens_[first + 2].is(":") && number_of(tokens_[first + 1].text);
    return is_number ? std::string(tokens_[first + 1].text) : "";
  }

  void loop(const Syntax& syntax, HostState& state) {
    if (syntax.parts.empty()) return;
    const Syntax& body = syntax.parts.back();
    const TokenRange head = {syntax.range.first, body.range.first};
    if (syntax.kind == Kind::loop) statement(syntax.parts[Syntax::kBeginning], state);
    const std::size_t launched = launches_.count();
    const HostState before = state;
    CountingLoop loop = read_counting_loop(source_, syntax);
    enter(syntax, loop, state);
    if (syntax.kind == Kind::list_loop) enter_list(head, state);
    repeat(loop, body, state);
    for (const std::string& name : loop.changes) {
      if (name == loop.counter) {
        state.make_counter(name);
      } else {
        state.assign(name, std::nullopt, loop.line);
      }
    }
    // A loop over the program's options leaves the defaults in place.
    const bool is_over_options = reads_options(head);
    if (is_over_options && launches_.count() == launched) state = before;
  }

  /// Forgets what a loop changes, and begins to count.
  void enter(const Syntax& syntax, CountingLoop& loop, HostState& state) {
    const bool is_while = syntax.is(Kind::loop, "while");
    if (is_while && !loop.counter.empty()) loop.first = state.keep_former(loop.counter);
    for (const std::string& name : loop.changes) state.assign(name, std::nullopt);
    if (loop.counter.empty()) return;
    if (!is_while) return state.make_counter(loop.counter);
    // It has a name of its own, as the body changes the variable.
    const std::string variable = loop.counter;
    loop.counter = variable + "__turn";
    state.assign(variable, loop.counter);
  }

  /// Reads `for (int n : {32, 64})` and `for (int n : list)`.
  void enter_list(TokenRange head, HostState& state) {
    std::size_t colon = head.first;
    while (colon < head.end && !tokens_[colon].is(":")) ++colon;
    if (colon + 1 >= head.end) return;
    const std::string name(tokens_[colon - 1].text);
    std::string list(tokens_[colon + 1].text);
    if (tokens_[colon + 1].is("{")) {
      list = name + "__list";
      state.set_list(list, parts_in(tokens_, colon + 1));
    }
    if (!state.list(list).empty()) state.assign(name, list + "[" + name + "__turn]");
  }

  void repeat(const CountingLoop& loop, const Syntax& body, HostState& state) {
    const std::set<std::string> frozen_before = frozen_;
    for (const auto& [one, other] : loop.swaps) frozen_.insert({one, other});
    launches_.enter_loop(loop);
    statement(body, state);
    launches_.leave_loop();
    frozen_ = frozen_before;
  }

  // Declarations and expressions.

  void declare(const Syntax& syntax, HostState& state) {
    for (const Syntax& part : syntax.parts) expression(part, state);
    const CXCursor cursor = syntax.cursor;
    const TokenRange range = syntax.range;
    const std::string& name = syntax.text;
    std::size_t i = range.first;
    while (i < range.end && !tokens_[i].is(name)) ++i;
    if (i >= range.end) return;
    const TokenRange type = type_of(range.first, i);
    state.make_counter(name);
    declare_members(cursor, name, state);
    if (function_ == nullptr) globals_.insert(name);
    if (function_ != nullptr) function_->types[name] = ParsedSource::element_type(cursor);
    if (i + 1 >= range.end) return;
    const CXType whole = clang().getCanonicalType(clang().getCursorType(cursor));
    const bool is_constant = clang().isConstQualifiedType(whole) != 0 ||
                             whole.kind == CXType_Pointer;  // It is null until it gets a value.
    const CppToken& next = tokens_[i + 1];
    if (next.is("[")) return declare_array(i, type, range.end, state);
    if (next.is("=")) {
      // `thrust::device_vector<T> a = b`
      if (!type.empty() && i + 3 == range.end && tokens_[type.end - 1].is(">")) {
        declare_container(i, type, {std::string(tokens_[i + 2].text) + ".size()"}, state);
      }
      return give(name, {i + 2, range.end}, state, is_constant);
    }
    if (!next.is("(") && !next.is("{")) return;
    const std::size_t close = std::min(closing(tokens_, i + 1), range.end);
    const std::vector<std::string> parts = texts(tokens_, split(tokens_, {i + 2, close}));
    if (parts.size() == 1 && declare_buffer(cursor, name, parts[0], state)) return;
    if (!type.empty() && tokens_[i - 1].is("ifstream") && !parts.empty()) {
      note_answer(i, parts[0], true);
    } else if (ParsedSource::type(cursor).ends_with("dim3")) {
      const std::string text = "dim3(" + joined(tokens_, {i + 2, close}) + ")";
      state.set_shape(name, state.extents(text));
    } else if (!type.empty() && tokens_[type.end - 1].is(">")) {
      declare_container(i, type, parts, state);
    } else if (parts.size() == 1) {
      state.assign(name, parts[0]);
    }
  }

  /// Returns the type of the variable that token i names: what is before it from `first` on, or
  /// before the first of several, `vector<T> a(n), b(n)`.
  TokenRange type_of(std::size_t first, std::size_t i) const {
    if (first < i || i == 0 || !tokens_[i - 1].is(",")) return {first, i};
    while (first > 0 && !is_one_of(tokens_[first - 1].text, {";", "{", "}"})) --first;
    int angles = 0;
    for (std::size_t end = first; end + 1 < i; ++end) {
      angles += tokens_[end].is("<") ? 1 : tokens_[end].is(">") ? -1 : 0;
      const bool ends_name = is_one_of(tokens_[end + 1].text, {",", "(", "[", "="});
      if (angles == 0 && ends_name && tokens_[end].is_word()) return {first, end};
    }
    return {i, i};
  }

  /// Gives the members of a variable the values that its class gives them: `int rows = 64;`.
  void declare_members(CXCursor variable, const std::string& name, HostState& state) const {
    const CXType type = clang().getCanonicalType(clang().getCursorType(variable));
    const CXCursor declaration = clang().getTypeDeclaration(type);
    if (type.kind != CXType_Record || !ParsedSource::is_own(declaration)) return;
    for (const CXCursor field : ParsedSource::children(declaration)) {
      if (ParsedSource::kind(field) != CXCursor_FieldDecl) continue;
      const TokenRange range = source_.range(field);
      std::size_t equals = range.first;
      while (equals < range.end && !tokens_[equals].is("=")) ++equals;
      if (equals >= range.end) continue;
      state.set_text(name + "." + ParsedSource::name(field),
                     joined(tokens_, {equals + 1, range.end}));
    }
  }

  /// Returns the product of the extents in brackets from token `next` on, which it sets to the token
  /// behind them.
  std::string elements_of(std::size_t& next, std::size_t end) const {
    std::string elements;
    for (; next < end && tokens_[next].is("["); next = closing(tokens_, next) + 1) {
      const std::string extent = joined(tokens_, {next + 1, closing(tokens_, next)});
      if (!extent.empty()) elements += (elements.empty() ? "(" : " * (") + extent + ")";
    }
    return elements;
  }

  /// Reads `T name[n]`, `T name[] = {a, b}`, and `void (*kernels[])(float*) = {one, two}`.
  void declare_array(std::size_t i, TokenRange type, std::size_t end, HostState& state) {
    const std::string name(tokens_[i].text);
    std::size_t next = i + 1;
    std::string elements = elements_of(next, end);
    const bool is_of_functions =
        next + 1 < end && tokens_[next].is(")") && tokens_[next + 1].is("(");
    if (is_of_functions) next = closing(tokens_, next + 1) + 1;
    if (next + 1 < end && tokens_[next].is("=")) ++next;
    if (next < end && tokens_[next].is("{")) {
      const std::vector<std::string> parts = parts_in(tokens_, next);
      note_answer(i, name, false);
      if (elements.empty()) elements = std::to_string(parts.size());
      state.set_list(name, parts);
    }
    if (elements.empty() || is_of_functions) return;
    std::size_t first = type.first;
    while (first < type.end &&
           is_one_of(tokens_[first].text, {"const", "static", "__device__", "__managed__"})) {
      ++first;
    }
    const std::string bytes = elements + " * sizeof(" + joined(tokens_, {first, type.end}) + ")";
    state.set_text("sizeof(" + name + ")", bytes);
    for (const std::string& one : {name + "[0]", "*" + name}) {
      state.set_text("sizeof(" + name + ") / sizeof(" + one + ")", elements);
    }
    memory_.add_host_array(name, bytes, function_);
  }

  /// Reads `std::vector<T> a(n)`, `a(n, 0)` and `thrust::device_vector<T> a(n)`.
  void declare_container(std::size_t i, TokenRange type, const std::vector<std::string>& parts,
                         HostState& state) {
    const std::size_t less = opening_angle(tokens_, type.end - 1, type.first);
    if (less == kNoToken || less == 0 || parts.empty() || parts[0].empty()) return;
    if (!tokens_[less - 1].text.ends_with("vector")) return;
    const bool is_of_device = tokens_[less - 1].is("device_vector");
    if (tokens_[i + 1].is("{") && !is_of_device) return;  // A list of elements.
    const std::string name(tokens_[i].text);
    const std::string bytes =
        "(" + parts[0] + ") * sizeof(" + joined(tokens_, {less + 1, type.end - 1}) + ")";
    state.set_text(name + ".size()", parts[0]);
    if (parts.size() == 2) host_.fills.emplace(name, parts[1]);
    if (is_of_device) {
      state.set_bytes(name, bytes);
    } else {
      memory_.add_host_array(name, bytes, function_);
    }
  }

  /// Reads `Buffer<T> a(n)` where the constructor of that class, or the function that it passes n
  /// on to, allocates one device pointer. Returns false for anything else.
  bool declare_buffer(CXCursor variable, const std::string& name, const std::string& size,
                      HostState& state) const {
    const std::string type = ParsedSource::element_type(variable);
    const std::string of_class = type.substr(0, type.find('<'));
    for (const DeclaredFunction& function : declared_.functions) {
      const bool is_its = function.of_class == of_class && function.parameters.size() == 1;
      if (!is_its || !has_name(function.allocated, function.parameters[0])) continue;
      if (function.name != of_class && !is_passed_on(of_class, function.name)) continue;
      state.set_bytes(
          name, substituted(function.allocated, {{function.parameters[0], in_parentheses(size)}}));
      return true;
    }
    return false;
  }

  /// Returns true if a constructor passes its only parameter on to a function, as it is.
  bool is_passed_on(const std::string& of_class, const std::string& to) const {
    return std::ranges::any_of(declared_.functions, [&](const DeclaredFunction& function) {
      const bool constructs = function.name == of_class && function.parameters.size() == 1;
      return constructs && std::ranges::any_of(host_.calls, [&](const HostCall& call) {
               return call.caller == of_class && call.callee == to && call.passed.size() == 1 &&
                      call.passed.begin()->second == function.parameters[0];
             });
    });
  }

  /// Gives a variable the value of a range.
  void give(const std::string& name, TokenRange value, HostState& state, bool is_constant) {
    if (frozen_.contains(name)) return;
    const std::optional<std::string> bytes = allocated_bytes(tokens_, value);
    if (bytes) memory_.add_host_array(name, *bytes, function_);
    use_returned_allocation(name, value, state);
    if (value.empty()) return state.make_counter(name);
    const std::string text = without_option(value);
    if (tokens_[value.first].is("{")) return state.set_list(name, parts_in(tokens_, value.first));
    // A variable that begins with 0 mostly gets its value from what is not seen.
    if (text == "0" && !is_constant) return state.make_counter(name);
    state.assign(name, text);
  }

  /// Returns the default of `argc > 1 ? atoi(argv[1]) : 1024`, or of a function that returns one of
  /// its parameters in the end, `option(argc, argv, "n", 1024)`; another value as it is.
  std::string without_option(TokenRange value) const {
    const auto call = reads_options(value) ? call_in(tokens_, value) : std::nullopt;
    const DeclaredFunction* const callee = call ? function_of(*call) : nullptr;
    if (callee != nullptr && !callee->body.parts.empty()) {
      const Syntax& last = callee->body.parts.back();
      const auto number = last.is(Kind::leave, "return") && last.parts.size() == 1
                              ? callee->parameter(last.parts[0].text)
                              : std::nullopt;
      if (number && *number < call->arguments.size()) return call->arguments[*number];
    }
    std::size_t question = value.first;
    while (question < value.end && !tokens_[question].is("?")) ++question;
    std::size_t colon = question;
    while (colon < value.end && !tokens_[colon].is(":")) ++colon;
    if (colon >= value.end || !reads_options({value.first, question}))
      return joined(tokens_, value);
    const TokenRange yes = {question + 1, colon};
    const TokenRange no = {colon + 1, value.end};
    return joined(tokens_, reads_options(yes) ? no : yes);
  }

  void expression(const Syntax& syntax, HostState& state) {
    switch (syntax.kind) {
      case Kind::block:
      case Kind::branch:
      case Kind::loop:
      case Kind::list_loop:
      case Kind::choice:
        statement(syntax, state);  // The syntax is part of a lambda.
        return;
      case Kind::variable:
        declare(syntax, state);
        return;
      default:
        break;
    }
    for (const Syntax& part : syntax.parts) expression(part, state);
    if (syntax.kind == Kind::assignment) assignment(syntax, state);
    if (syntax.steps()) change(syntax.parts[0], syntax.text.substr(1), "1", state);
    if (syntax.kind == Kind::call) call(syntax, state);
    launches_.record(syntax.whole, function_, state);
  }

  void assignment(const Syntax& syntax, HostState& state) {
    const Syntax& target = syntax.parts[0];
    const Syntax* value = &syntax.parts[1];
    while (value->is(Kind::assignment, "=")) value = &value->parts[1];  // `a = b = 2`
    if (syntax.text == "=") {
      store(target, value->whole, state);
    } else {
      change(target, syntax.text.substr(0, syntax.text.size() - 1), text(*value), state);
    }
  }

  void store(const Syntax& target, TokenRange value, HostState& state) {
    static constexpr std::string_view kAxes = "xyz";
    const TokenRange left = target.range;
    const bool is_element = target.kind == Kind::element;
    const std::string first(left.empty() ? "" : tokens_[left.first].text);
    if (target.kind == Kind::name) return give(target.text, value, state, false);
    if (is_element && launches_.is_in_loop()) host_.fills.emplace(first, joined(tokens_, value));
    const bool is_member = target.kind == Kind::member && left.end == left.first + 3;
    if (is_member && kAxes.find(target.text) != std::string_view::npos) {
      state.set_extent(first, kAxes.find(target.text), joined(tokens_, value));
    } else if (is_member || (is_element && left.end == left.first + 4 &&
                             number_of(tokens_[left.first + 2].text))) {
      state.set_text(without_blanks(joined(tokens_, left)), joined(tokens_, value));
    } else if (target.is(Kind::unary, "*") && function_ != nullptr) {
      if (const auto number = function_->parameter(target.parts[0].text)) {
        function_->given[*number] = joined(tokens_, value);
      }
    }
  }

  void change(const Syntax& target, const std::string& sign, const std::string& by,
              HostState& state) {
    if (target.kind != Kind::name || frozen_.contains(target.text)) return;
    state.assign(target.text, target.text + " " + sign + " " + in_parentheses(by));
  }

  /// Notes the file or the list of numbers of that name if it may hold the expected results.
  void note_answer(std::size_t token, std::string name, bool is_file) {
    if (is_file) name = name.size() > 2 && name[0] == '"' ? name.substr(1, name.size() - 2) : "";
    std::string words = name;
    std::ranges::replace_if(
        words, [](char c) { return !is_letter(c); }, '_');
    if (!is_for_comparison(words)) return;
    answers_[token] = {.line = tokens_[token].line, .name = name, .is_file = is_file};
  }

  // Calls.

  void call(const Syntax& syntax, HostState& state) {
    const TokenRange range = syntax.range;
    const std::optional<CallText> call = call_in(tokens_, range);
    if (!call) return;
    const bool has_size = is_one_of(call->name, {"resize", "reserve"});
    if (has_size && call->arguments.size() == 1 && tokens_[range.first].is_word()) {
      state.set_text(std::string(tokens_[range.first].text) + ".size()", call->arguments[0]);
    }
    if (call->name == "fopen" && call->arguments.size() == 2 && call->arguments[1][0] == '"' &&
        call->arguments[1].find('r') != std::string::npos) {
      note_answer(range.first, call->arguments[0], true);
    }
    memory_.read_call(*call, function_, state);
    if (call->name == "cudaMalloc" && function_ != nullptr && call->arguments.size() == 2) {
      function_->member = pointer_in(call->arguments[0]);
      function_->allocated = call->arguments[1];
    }
    note_contents(*call);
    launches_.record_transfer(*call, range.first, function_, state);
    const DeclaredFunction* const callee = function_of(*call);
    pass_variables(*call, callee, state);
    if (function_ == nullptr || callee == function_) return;
    if (callee == nullptr) return note_comparison(*call);
    FunctionCall made = function_call(*call, *callee, function_);
    made.line = source_.line(syntax.cursor);
    made.state = state;
    host_.calls.push_back({function_->name, callee->name, made.passed, made.line});
    memory_.pass_back(*call, made, state);
    callers_.emplace(callee, std::move(made));
    for (const auto& [to, from] : callee->copies) copy(*call, *callee, to, from, range.first);
  }

  /// Notes a copy that a function makes. `first`: the first token of its call.
  void copy(const CallText& call, const DeclaredFunction& callee, std::size_t to, std::size_t from,
            std::size_t first) {
    constexpr std::size_t kMember = DeclaredFunction::kMember;
    const bool is_of_object = to == kMember || from == kMember;
    const std::size_t other = to == kMember ? from : to;
    if ((is_of_object ? other : std::max(to, from)) >= call.arguments.size()) return;
    if (!is_of_object) return note_copy(call.arguments[to], call.arguments[from]);
    const std::string object(tokens_[first].text);
    const std::string array = pointer_in(call.arguments[other]);
    for (const std::string& own : {object, object + "." + callee.member}) {
      host_.copies.emplace(to == kMember ? own : array, to == kMember ? array : own);
    }
  }

  /// Notes what a call copies or sets to zero.
  void note_contents(const CallText& call) {
    const std::vector<std::string>& parts = call.arguments;
    if (call.name == "cudaMemcpyToSymbol" && parts.size() > 1) {
      host_.copied_to_constants[pointer_in(parts[0])] = {pointer_in(parts[1])};
    }
    if (parts.size() < 3) return;
    if (is_one_of(call.name, {"cudaMemcpy", "cudaMemcpyAsync"})) note_copy(parts[0], parts[1]);
    const bool sets_zero = call.name.starts_with("cudaMemset") && parts[1] == "0";
    if (sets_zero) host_.zeroed.insert(pointer_in(parts[0]));
  }

  void note_copy(const std::string& to, const std::string& from) {
    host_.copies.emplace(pointer_in(to), pointer_in(from));
    // The last word alone does not tell the members of two structures apart.
    host_.copies.emplace(to, from);
    if (function_ == nullptr) return;
    const auto i = function_->parameter(pointer_in(to));
    const auto j = function_->parameter(pointer_in(from));
    if (i && j) function_->copies.emplace(*i, *j);
    if (function_->of_class.empty() || i.has_value() == j.has_value()) return;
    function_->member = pointer_in(i ? from : to);
    constexpr std::size_t kMember = DeclaredFunction::kMember;
    function_->copies.emplace(i.value_or(kMember), j.value_or(kMember));
  }

  /// Notes that a function without a body here gets arrays to compare, as its name says.
  void note_comparison(const CallText& call) {
    if (!holds_any(call.name, {"check", "compare", "verify", "memcmp", "valid"})) return;
    std::set<std::string> names;
    for (const std::string& text : call.arguments) names.insert(pointer_in(text));
    names.erase("");
    for (const std::string& one : names) {
      for (const std::string& other : names) {
        if (one != other) host_.compared_arrays[function_->name].emplace(one, other);
      }
    }
  }

  /// Returns the first function of the name that a call has; nullptr if there is none.
  const DeclaredFunction* function_of(const CallText& call) const {
    const auto found = std::ranges::find(declared_.functions, call.name, &DeclaredFunction::name);
    return found == declared_.functions.end() ? nullptr : &*found;
  }

  /// Changes the variables whose address or reference a function gets.
  void pass_variables(const CallText& call, const DeclaredFunction* callee, HostState& state) {
    if (call.name == "cudaLaunchKernelEx" || call.name.starts_with("cudaMalloc")) return;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const CppTokens words = cpp_tokens(call.arguments[i]);
      const std::size_t last = words.empty() ? 0 : words.size() - 1;
      const bool is_null = words.size() > 2 && words[last - 1].is("&") && words[last - 2].is(")") &&
                           is_null_pointer(state.value(std::string(words[last].text)).value_or(""));
      const bool is_address =
          is_null || (words.size() == 2 && words[0].is("&") && words[1].is_word());
      const bool is_reference = words.size() == 1 && words[0].is_word() && callee != nullptr &&
                                i < callee->may_change.size() && callee->may_change[i];
      if (!is_address && !is_reference) continue;
      const std::string name(words.back().text);
      if (frozen_.contains(name)) continue;
      std::optional<std::string> given;
      if (callee != nullptr && callee->given.contains(i)) given = callee->given.at(i);
      const bool is_sm_count = call.name == "cudaDeviceGetAttribute" && i == 0 &&
                               call.arguments.size() > 1 &&
                               call.arguments[1] == "cudaDevAttrMultiProcessorCount";
      if (is_sm_count) given = kSmCount;
      state.assign(name, given);
    }
  }

  void note_returned(TokenRange range) {
    if (function_ == nullptr || range.end != range.first + 2) return;
    memory_.add_returned(std::string(tokens_[range.first + 1].text), *function_);
  }

  void use_returned_allocation(const std::string& name, TokenRange value, HostState& state) {
    const std::optional<CallText> call = call_in(tokens_, value);
    const DeclaredFunction* const callee = call ? function_of(*call) : nullptr;
    if (callee == nullptr) return;
    memory_.give_returned(name, function_call(*call, *callee, function_), state);
  }

  ParsedSource source_;
  const CppTokens& tokens_ = source_.tokens();
  HostDeclarations declared_;
  std::set<std::string> globals_;

  // The place that is walked through.
  DeclaredFunction* function_ = nullptr;
  std::set<std::string> frozen_;  ///< Variables that a loop around it swaps.

  // Results.
  HostLaunches launches_;
  HostMemory memory_;
  Callers callers_;
  std::map<std::size_t, Answer> answers_;  ///< Keyed by the index of the token.
  HostPart host_;                          ///< The rest of them.
};

/// Removes launches that main() does not lead to where it leads to another of the same kernel: the
/// program never runs them, and nothing says what they would be passed.
void keep_those_of_main(std::vector<LaunchSite>& launches) {
  const auto is_of_main = [](const LaunchSite& site) {
    return site.frames.back().function == "main";
  };
  std::set<std::string> launched;
  for (const LaunchSite& site : launches) {
    if (is_of_main(site)) launched.insert(site.kernel);
  }
  for (auto site = launches.begin(); site != launches.end();) {
    const bool is_kept = is_of_main(*site) || !launched.contains(site->kernel);
    site = is_kept ? site + 1 : launches.erase(site);
    if (!is_kept && site != launches.end()) site->follows = false;
  }
}

}  // namespace

HostPart read_host(const FlatSource& source) {
  HostPart host = HostReader(source).part();
  keep_those_of_main(host.launches);
  return host;
}

void add_host(const HostPart& host, KernelFile& file) {
  static_cast<HostPart&>(file) = host;
  file.function_macros.insert(host.functions.begin(), host.functions.end());
  add_kernel_uses(file);
}

}  // namespace smemtune
