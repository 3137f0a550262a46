#include "tuner/init/host_reader.h"

#include "tuner/init/copies.h"
#include "tuner/init/counting_loop.h"
#include "tuner/init/elements.h"
#include "tuner/init/host_checks.h"
#include "tuner/init/host_function.h"
#include "tuner/init/host_state.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/kernel_uses.h"
#include "tuner/init/names.h"
#include "tuner/init/space_names.h"
#include "tuner/init/syntax.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;

/// A function of the host that has a body.
struct Function {
  std::string name;
  CXCursor cursor = {};
  std::vector<std::string> parameters;
  std::vector<bool> may_change;  ///< True for each parameter that is a reference to a variable.
  std::vector<std::string> template_parameters;
  Syntax body = {};
  std::map<std::string, std::string> types;  ///< Types that its variables have or point to.
  bool is_member = false;
  std::map<std::size_t, std::string> given;  ///< Values that it assigns through pointer parameters.
  std::map<std::size_t, std::string> allocated;  ///< Bytes that it allocates for a parameter.
  std::string returned;                          ///< Bytes that it allocates and returns.
  std::set<std::pair<std::size_t, std::size_t>> copies = {};  ///< Parameters to and from.
};

/// A call or a launch as written, `name<A, B>(arguments)`.
struct CallText {
  std::string name;
  std::vector<std::string> template_arguments;
  std::vector<std::string> arguments;
};

/// The way to a function: where another one calls it.
struct Caller {
  const Function* function = nullptr;
  std::size_t line = 0;
  HostState state;
  std::map<std::string, std::string> passed;
};

/// A call of a function that the source has.
struct Call {
  const Function* caller = nullptr;
  const Function* callee = nullptr;
  std::map<std::string, std::string> passed;
  std::size_t line = 0;
};

/// A launch, and what its function knows there.
struct Launch {
  LaunchSite site;
  const Function* function = nullptr;
  HostState state;
};

/// Walks through the functions of a source as they run, and records their launches.
class HostReader {
 public:
  explicit HostReader(const FlatSource& source) : source_(source), tokens_(source_.tokens()) {
    for_each_declaration(source_.root(), [&](CXCursor one) { read_declaration(one, false); });
    for (Function& function : functions_) by_name_.emplace(function.name, &function);
    read_asserts();
    run_all();  // To know what functions allocate and give before their callers are walked through.
    launches_.clear();
    callers_.clear();
    calls_.clear();
    seen_.clear();
    run_all();
  }

  HostPart part() {
    HostPart host = {.launches = launches(),
                     .functions = functions(),
                     .layouts = type_layouts(source_),
                     .fills = fills(),
                     .zeroed = zeroed_,
                     .copied_to_constants = copied_to_constants(),
                     .calls = calls(),
                     .checks = checks(),
                     .compared_arrays = compared_arrays(),
                     .copies = copies_};
    add_calls_of_checks(host);
    for (const auto& [token, answer] : answers_) host.answers.push_back(answer);
    add_enumerations(source_, host);
    return host;
  }

 private:
  // Results.

  std::vector<LaunchSite> launches() {
    std::vector<LaunchSite> sites;
    forget_various_sizes();
    allocated_elsewhere_.insert(copied_.begin(), copied_.end());
    for (Launch& launch : launches_) {
      add_frames(launch);
      sites.push_back(std::move(launch.site));
    }
    return sites;
  }

  std::map<std::string, std::string> fills() const {
    std::map<std::string, std::string> fills = filled_;
    for (const auto& [to, from] : copies_) {
      const auto filled = filled_.find(from);
      if (filled != filled_.end()) fills.emplace(to, filled->second);
    }
    return fills;
  }

  std::map<std::string, std::set<std::string>> copied_to_constants() const {
    std::map<std::string, std::set<std::string>> copied;
    for (const auto& [constant, data] : constants_) {
      copied[constant] = {data};
      for (const auto& [to, from] : copies_) {
        if (from == data) copied[constant].insert(to);
      }
    }
    return copied;
  }

  std::vector<HostCall> calls() const {
    std::vector<HostCall> calls;
    for (const Call& call : calls_) {
      calls.push_back({call.caller->name, call.callee->name, call.passed, call.line});
    }
    return calls;
  }

  std::vector<HostCheck> checks() {
    std::vector<HostCheck> checks;
    for (const Function& function : functions_) {
      if (function.is_member) continue;
      HostChecks found = checks_in(source_, function.cursor, function.body);
      std::ranges::move(found.checks, std::back_inserter(checks));
      compared_[function.name].merge(found.compared);
    }
    return checks;
  }

  /// Adds a call of each check: where its function has it, or where that is called.
  static void add_calls_of_checks(HostPart& host) {
    const std::vector<HostCall> known = host.calls;
    for (const HostCheck& check : host.checks) {
      if (check.is_loop) {
        host.calls.push_back({check.function, check.name, check.passed, check.line});
        continue;
      }
      for (const HostCall& call : known) {
        if (call.callee == check.function) {
          host.calls.push_back({call.caller, check.name, call.passed, call.line});
        }
      }
    }
  }

  /// Returns the arrays that functions compare, also by functions that they call.
  std::map<std::string, ComparedArrays> compared_arrays() const {
    constexpr int kDeepest = 3;
    std::map<std::string, ComparedArrays> all = compared_;
    for (int depth = 0; depth < kDeepest; ++depth) {
      for (const Call& call : calls_) {
        const ComparedArrays in_callee = all[call.callee->name];
        for (const auto& [one, other] : in_callee) {
          const auto first = call.passed.find(one);
          const auto second = call.passed.find(other);
          if (first == call.passed.end() || second == call.passed.end()) continue;
          all[call.caller->name].emplace(pointer_in(first->second), pointer_in(second->second));
        }
      }
    }
    return all;
  }

  Macros functions() const {
    Macros found;
    for (const Function& function : functions_) {
      const bool is_short =
          function.body.parts.size() == 1 && function.body.parts[0].is(Kind::leave, "return");
      if (!is_short || function.parameters.empty()) continue;
      const TokenRange range = function.body.parts[0].range;
      found[function.name] = {.is_called = true,
                              .parameters = function.parameters,
                              .text = joined(tokens_, {range.first + 1, range.end})};
    }
    return found;
  }

  // Declarations.

  void read_declaration(CXCursor declaration, bool is_class) {
    switch (ParsedSource::kind(declaration)) {
      case CXCursor_ClassDecl:
      case CXCursor_StructDecl:
      case CXCursor_ClassTemplate:
        for_each_declaration(declaration, [&](CXCursor member) { read_declaration(member, true); });
        break;
      case CXCursor_FunctionDecl:
      case CXCursor_FunctionTemplate:
      case CXCursor_CXXMethod:
      case CXCursor_Constructor:
        read_function(declaration, is_class);
        break;
      case CXCursor_VarDecl:
        global_declarations_.push_back(syntax_of(source_, declaration));
        break;
      default:
        break;
    }
  }

  void read_function(CXCursor cursor, bool is_member) {
    Function function;
    function.name = ParsedSource::name(cursor);
    function.name = function.name.substr(0, function.name.find('<'));
    function.is_member = is_member;
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
        function.body = syntax_of(source_, child);
        has_body = true;
      }
    }
    if (has_body) functions_.push_back(std::move(function));
  }

  void read_asserts() {
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (!tokens_[i].is("assert") || !tokens_[i + 1].is("(")) continue;
      asserts_.push_back({i + 2, closing(tokens_, i + 1)});
    }
  }

  void run_all() {
    HostState globals;
    function_ = nullptr;
    for (const Syntax& variable : global_declarations_) declare(variable, globals);
    for (const Function& function : functions_) {
      // A variable that a function changes no longer has its initial value.
      for (const std::string& name : assigned_in(function.body)) {
        if (globals_.contains(name)) globals.assign(name, only_number(name));
      }
    }
    for (Function& function : functions_) {
      HostState state = globals;
      for (const std::string& name : function.parameters) state.make_counter(name);
      function_ = &function;
      previous_ = kNoToken;
      loops_.clear();
      conditions_.clear();
      is_chosen_ = false;
      statement(function.body, state);
    }
  }

  /// Returns the number that a single statement gives a variable outside of functions; nullopt if
  /// it has an initial value, or if something else changes it.
  std::optional<std::string> only_number(const std::string& name) const {
    const bool has_initial = std::ranges::any_of(global_declarations_, [&](const Syntax& variable) {
      return variable.text == name && !variable.parts.empty();
    });
    if (has_initial) return std::nullopt;
    std::optional<std::string> number;
    for (const Function& function : functions_) {
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
      number = joined(tokens_, uses.front()->parts[1].range);
      if (!number_of(*number)) return std::nullopt;
    }
    return number;
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
        note_returned(syntax);
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
      record_launches(gaps[i], state);
      ends = statement(block.parts[i], state) || ends;
    }
    record_launches(gaps.back(), state);
    return ends;
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
    const std::vector<Syntax> branches(syntax.parts.begin() + 1, syntax.parts.end());
    if (branches.empty()) return false;
    if (const auto known = constant_value(condition)) {
      const std::size_t taken = *known != 0 ? 0 : 1;
      return taken < branches.size() && statement(branches[taken], state);
    }
    const std::size_t launched = launches_.size();
    const Enclosed enclosed(*this, source_.line(syntax.cursor), condition, state);
    state.begin_branches(condition);
    HostState other = state;
    const bool ends = statement(branches[0], state);
    previous_ = kNoToken;
    const bool other_ends = branches.size() > 1 && statement(branches[1], other);
    const bool takes_options = launches_.size() == launched && reads_options(syntax.range);
    if ((ends && !other_ends) || (takes_options && reads_options(branches[0].range))) {
      if (!other_ends) state = std::move(other);
    } else if (!other_ends && !takes_options) {
      state.join_if(other);
    } else if (!other_ends && branches.size() == 1) {
      state.join(other);
    }
    state.end_branches();
    if (launches_.size() > launched) previous_ = kNoToken;
    return ends && other_ends;
  }

  /// Marks what is read while it lives as one of several branches.
  class Enclosed {
   public:
    Enclosed(HostReader& reader, std::size_t line, const std::string& condition,
             const HostState& state)
        : reader_(reader), was_chosen_(std::exchange(reader.is_chosen_, true)) {
      std::set<std::string> counters;
      for (const CountingLoop& loop : reader_.loops_) {
        if (!loop.counter.empty()) counters.insert(loop.counter);
      }
      const bool depends = state.uses(condition, counters);
      if (depends) reader_.conditions_.emplace_back(line, condition);
      added_ = depends;
      launched_ = reader_.launches_.size();
      previous_ = std::exchange(reader_.previous_, kNoToken);
    }
    ~Enclosed() {
      reader_.is_chosen_ = was_chosen_;
      if (added_) reader_.conditions_.pop_back();
      if (reader_.launches_.size() == launched_) reader_.previous_ = previous_;
    }
    Enclosed(const Enclosed&) = delete;
    Enclosed& operator=(const Enclosed&) = delete;

   private:
    HostReader& reader_;
    bool was_chosen_;
    bool added_ = false;
    std::size_t launched_ = 0;
    std::size_t previous_ = kNoToken;
  };

  bool choose(const Syntax& syntax, HostState& state) {
    const std::string condition = syntax.parts.empty() ? "" : text(syntax.parts[0]);
    const bool is_of_turns = counts_turns(condition);
    const std::size_t launched = launches_.size();
    const Enclosed enclosed(*this, source_.line(syntax.cursor), condition, state);
    const HostState entry = state;
    std::optional<HostState> behind;
    HostState now = entry;
    bool has_default = false;
    const auto leave = [&] {
      if (behind) {
        behind->join(now);
      } else {
        behind = now;
      }
    };
    for (const Syntax& part : syntax.parts.empty() ? syntax.parts : syntax.parts.back().parts) {
      const bool is_default = part.is(Kind::block, "default");
      if (part.is(Kind::block, "case") || is_default) {
        now = entry;
        previous_ = kNoToken;
      }
      has_default = has_default || is_default;
      const std::string value = is_of_turns ? case_value(part) : "";
      if (!value.empty()) turns_[condition] = value;
      if (statement(part, now)) leave();
    }
    turns_.erase(condition);
    leave();
    if (!has_default) behind->join(entry);
    state = std::move(*behind);
    if (launches_.size() > launched) previous_ = kNoToken;
    return false;
  }

  /// Returns true for the counter of a loop around this place.
  bool counts_turns(const std::string& name) const {
    return std::ranges::find(loops_, name, &CountingLoop::counter) != loops_.end();
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
    const std::size_t launched = launches_.size();
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
    if (is_over_options && launches_.size() == launched) state = before;
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
      state.set_list(list, parts_in(colon + 1));
    }
    if (!state.list(list).empty()) state.assign(name, list + "[" + name + "__turn]");
  }

  void repeat(const CountingLoop& loop, const Syntax& body, HostState& state) {
    const std::set<std::string> frozen_before = frozen_;
    for (const auto& [one, other] : loop.swaps) frozen_.insert({one, other});
    loops_.push_back(loop);
    statement(body, state);
    loops_.pop_back();
    frozen_ = frozen_before;
  }

  /// Returns the texts between commas in the bracket that token `open` opens.
  std::vector<std::string> parts_in(std::size_t open) const {
    return texts(tokens_, split(tokens_, {open + 1, closing(tokens_, open)}));
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
    const TokenRange type = {range.first, i};
    state.make_counter(name);
    declare_members(cursor, name, state);
    if (function_ == nullptr) globals_.insert(name);
    if (function_ != nullptr) function_->types[name] = ParsedSource::element_type(cursor);
    if (i + 1 >= range.end) return;
    const bool is_constant = clang().isConstQualifiedType(clang().getCursorType(cursor)) != 0;
    const CppToken& next = tokens_[i + 1];
    if (next.is("[")) return declare_array(i, type, range.end, state);
    if (next.is("=")) return give(name, {i + 2, range.end}, state, is_constant);
    if (!next.is("(") && !next.is("{")) return;
    const std::size_t close = std::min(closing(tokens_, i + 1), range.end);
    const std::vector<std::string> parts = texts(tokens_, split(tokens_, {i + 2, close}));
    if (!type.empty() && tokens_[i - 1].is("ifstream") && !parts.empty()) {
      note_answer(i, parts[0], true);
    } else if (ParsedSource::type(cursor).ends_with("dim3")) {
      const std::string text = "dim3(" + joined(tokens_, {i + 2, close}) + ")";
      state.set_shape(name, state.extents(text));
    } else if (!type.empty() && tokens_[i - 1].is(">")) {
      declare_container(i, type, parts, state);
    } else if (parts.size() == 1) {
      state.assign(name, parts[0]);
    }
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

  /// Reads `T name[n]`, `T name[] = {a, b}`.
  void declare_array(std::size_t i, TokenRange type, std::size_t end, HostState& state) {
    const std::string name(tokens_[i].text);
    std::string bytes;
    std::size_t next = i + 1;
    while (next < end && tokens_[next].is("[")) {
      const std::size_t close = closing(tokens_, next);
      if (close >= end) return;
      if (close > next + 1) bytes += "(" + joined(tokens_, {next + 1, close}) + ") * ";
      next = close + 1;
    }
    const bool is_list = next + 1 < end && tokens_[next].is("=") && tokens_[next + 1].is("{");
    if (is_list || (next < end && tokens_[next].is("{"))) {
      const std::size_t open = is_list ? next + 1 : next;
      note_answer(i, name, false);
      state.set_list(name, parts_in(open));
    }
    if (bytes.empty()) return;
    std::size_t first = type.first;
    while (first < type.end &&
           is_one_of(tokens_[first].text, {"const", "static", "__device__", "__managed__"})) {
      ++first;
    }
    bytes += "sizeof(" + joined(tokens_, {first, type.end}) + ")";
    state.set_text("sizeof(" + name + ")", bytes);
    note_host_array(name, bytes);
  }

  /// Notes an array of this function alone: others may have arrays of the same name. The array of a
  /// member function may be its class's, and counts for all functions.
  void note_host_array(const std::string& name, const std::string& bytes) {
    const bool is_own = function_ != nullptr && !function_->is_member;
    of_host_[is_own ? function_ : nullptr].emplace(name, bytes);
  }

  /// Reads `std::vector<T> a(n)` and `thrust::device_vector<T> a(n)`.
  void declare_container(std::size_t i, TokenRange type, const std::vector<std::string>& parts,
                         HostState& state) {
    const std::size_t less = opening_angle(tokens_, i - 1, type.first);
    if (less == kNoToken || less == 0 || parts.empty() || parts[0].empty()) return;
    if (!tokens_[less - 1].text.ends_with("vector")) return;
    const bool is_of_device = tokens_[less - 1].is("device_vector");
    if (tokens_[i + 1].is("{") && !is_of_device) return;  // A list of elements.
    const std::string name(tokens_[i].text);
    const std::string bytes =
        "(" + parts[0] + ") * sizeof(" + joined(tokens_, {less + 1, i - 1}) + ")";
    state.set_text(name + ".size()", parts[0]);
    if (is_of_device) {
      state.set_bytes(name, bytes);
    } else {
      note_host_array(name, bytes);
    }
  }

  /// Gives a variable the value of a range.
  void give(const std::string& name, TokenRange value, HostState& state, bool is_constant) {
    if (frozen_.contains(name)) return;
    read_host_allocation(name, value);
    use_returned_allocation(name, value, state);
    if (value.empty()) return state.make_counter(name);
    const std::string text = without_option(value);
    if (tokens_[value.first].is("{")) return state.set_list(name, parts_in(value.first));
    // A variable that begins with 0 mostly gets its value from what is not seen.
    if (text == "0" && !is_constant) return state.make_counter(name);
    state.assign(name, text);
  }

  /// Returns the default of `argc > 1 ? atoi(argv[1]) : 1024`; another value as it is.
  std::string without_option(TokenRange value) const {
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
        statement(syntax, state);  // In a lambda.
        return;
      case Kind::variable:
        declare(syntax, state);
        return;
      default:
        break;
    }
    for (const Syntax& part : syntax.parts) expression(part, state);
    if (syntax.kind == Kind::assignment) assignment(syntax, state);
    if (syntax.steps()) {
      change(syntax.parts[0], syntax.text.substr(1), "1", state);
    }
    if (syntax.kind == Kind::call) call(syntax, state);
    record_launches(syntax.whole, state);
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
    if (is_element && !loops_.empty()) filled_.emplace(first, joined(tokens_, value));
    const bool is_member = target.kind == Kind::member && left.end == left.first + 3;
    if (is_member && kAxes.find(target.text) != std::string_view::npos) {
      state.set_extent(first, kAxes.find(target.text), joined(tokens_, value));
    } else if (is_member || (is_element && left.end == left.first + 4 &&
                             number_of(tokens_[left.first + 2].text))) {
      state.set_text(without_blanks(joined(tokens_, left)), joined(tokens_, value));
    } else if (target.is(Kind::unary, "*") && function_ != nullptr) {
      if (const auto number = parameter(target.parts[0].text)) {
        function_->given[*number] = joined(tokens_, value);
      }
    }
  }

  std::optional<std::size_t> parameter(std::string_view name) const {
    if (function_ == nullptr) return std::nullopt;
    const auto found = std::ranges::find(function_->parameters, name);
    if (found == function_->parameters.end()) return std::nullopt;
    return static_cast<std::size_t>(found - function_->parameters.begin());
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

  /// Reads the name before a parenthesis or <<<, and its template arguments: `name<A, B>`.
  std::optional<CallText> name_before(std::size_t end, std::size_t first) const {
    if (end == first || end == kNoToken) return std::nullopt;
    CallText call;
    std::size_t name = end - 1;
    if (tokens_[name].is(")")) {  // `(name<A>)<<<...>>>`
      const std::size_t open = opening(tokens_, name);
      return open == kNoToken || open < first ? std::nullopt : name_before(name, open + 1);
    }
    if (tokens_[name].is(">")) {
      const std::size_t less = opening_angle(tokens_, name, first);
      if (less == kNoToken || less == first) return std::nullopt;
      call.template_arguments = texts(tokens_, split(tokens_, {less + 1, name}));
      name = less - 1;
    }
    if (!tokens_[name].is_word()) return std::nullopt;
    call.name = tokens_[name].text;
    return call;
  }

  std::optional<CallText> call_in(TokenRange range) const {
    if (range.empty() || !tokens_[range.end - 1].is(")")) return std::nullopt;
    const std::size_t open = opening(tokens_, range.end - 1);
    if (open == kNoToken || open <= range.first) return std::nullopt;
    std::optional<CallText> call = name_before(open, range.first);
    if (call) call->arguments = parts_in(open);
    return call;
  }

  void call(const Syntax& syntax, HostState& state) {
    const TokenRange range = syntax.range;
    const std::optional<CallText> call = call_in(range);
    if (!call) return;
    if (call->name == "resize" && call->arguments.size() == 1 && tokens_[range.first].is_word()) {
      state.set_text(std::string(tokens_[range.first].text) + ".size()", call->arguments[0]);
    }
    if (call->name == "fopen" && call->arguments.size() == 2 && call->arguments[1][0] == '"' &&
        call->arguments[1].find('r') != std::string::npos) {
      note_answer(range.first, call->arguments[0], true);
    }
    read_allocation(*call, state);
    record_transfer(*call, range.first, state);
    const auto found = by_name_.find(call->name);
    Function* const callee = found == by_name_.end() ? nullptr : found->second;
    pass_variables(*call, callee, state);
    if (callee == nullptr) note_comparison(*call);
    if (callee == nullptr || callee == function_ || function_ == nullptr) return;
    Caller caller = {.function = function_,
                     .line = source_.line(syntax.cursor),
                     .state = state,
                     .passed = passed(*call, *callee)};
    for (const auto& [number, bytes] : callee->allocated) {
      if (number >= call->arguments.size()) continue;
      const std::vector<std::string_view> names = identifiers(call->arguments[number]);
      if (!names.empty()) {
        state.set_bytes(std::string(names.back()), in_caller(bytes, caller.passed));
        allocated_elsewhere_.emplace(names.back(), in_caller(bytes, caller.passed));
      }
    }
    for (const auto& [to, from] : callee->copies) {
      if (std::max(to, from) >= call->arguments.size()) continue;
      note_copy(call->arguments[to], call->arguments[from]);
    }
    calls_.push_back(
        {.caller = function_, .callee = callee, .passed = caller.passed, .line = caller.line});
    callers_.emplace(callee, std::move(caller));
  }

  /// Notes that a function without a body here gets arrays to compare, as its name says.
  void note_comparison(const CallText& call) {
    if (function_ == nullptr ||
        !holds_any(call.name, {"check", "compare", "verify", "memcmp", "valid"}))
      return;
    std::vector<std::string> names;
    for (const std::string& text : call.arguments) {
      const std::string name = pointer_in(text);
      if (!name.empty()) names.push_back(name);
    }
    for (const std::string& one : names) {
      for (const std::string& other : names) {
        if (one != other) compared_[function_->name].emplace(one, other);
      }
    }
  }

  void note_copy(const std::string& to, const std::string& from) {
    copies_.emplace(pointer_in(to), pointer_in(from));
    copies_.emplace(
        to, from);  // The last word alone does not tell the members of two structures apart.
    const auto [i, j] = std::pair(parameter(pointer_in(to)), parameter(pointer_in(from)));
    if (i && j) function_->copies.emplace(*i, *j);
  }

  /// Returns the template parameter that is a variable's type; empty if none is.
  static std::string parameter_type(const Function& function, const std::string& variable) {
    const std::string& type = function.types.find(variable)->second;
    for (std::size_t i = 0; i < function.template_parameters.size(); ++i) {
      // Clang gives template parameters such names in canonical types.
      if (type == "type-parameter-0-" + std::to_string(i)) return function.template_parameters[i];
    }
    return "";
  }

  std::map<std::string, std::string> passed(const CallText& call, const Function& callee) const {
    std::map<std::string, std::string> passed;
    for (std::size_t i = 0; i < std::min(callee.parameters.size(), call.arguments.size()); ++i) {
      passed.emplace(callee.parameters[i], call.arguments[i]);
    }
    for (std::size_t i = 0;
         i < std::min(callee.template_parameters.size(), call.template_arguments.size()); ++i) {
      passed.emplace(callee.template_parameters[i], call.template_arguments[i]);
    }
    if (function_ == nullptr) return passed;
    for (std::size_t i = 0; i < std::min(callee.parameters.size(), call.arguments.size()); ++i) {
      const auto given = function_->types.find(call.arguments[i]);
      if (given == function_->types.end()) continue;
      const std::string deduced = parameter_type(callee, callee.parameters[i]);
      if (!deduced.empty()) passed.emplace(deduced, given->second);
    }
    return passed;
  }

  /// Returns a text of a function in terms of what a caller passes.
  static std::string in_caller(const std::string& text,
                               const std::map<std::string, std::string>& passed) {
    Terms terms;
    for (const auto& [name, value] : passed) {
      terms.emplace_back("sizeof(" + name + ")", "sizeof(" + value + ")");
      terms.emplace_back(name, in_parentheses(value));
    }
    return substituted(text, terms);
  }

  /// Changes the variables whose address or reference a function gets.
  void pass_variables(const CallText& call, const Function* callee, HostState& state) {
    if (call.name == "cudaLaunchKernelEx" || call.name.starts_with("cudaMalloc")) return;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const CppTokens words = cpp_tokens(call.arguments[i]);
      const bool is_address = words.size() == 2 && words[0].is("&") && words[1].is_word();
      const bool is_reference = words.size() == 1 && words[0].is_word() && callee != nullptr &&
                                i < callee->may_change.size() && callee->may_change[i];
      if (!is_address && !is_reference) continue;
      const std::string name(words.back().text);
      if (frozen_.contains(name)) continue;
      const auto given = callee == nullptr ? std::map<std::size_t, std::string>::const_iterator()
                                           : callee->given.find(i);
      const bool is_given = callee != nullptr && given != callee->given.end();
      state.assign(name, is_given ? std::optional(given->second) : std::nullopt);
    }
  }

  /// Reads `cudaMalloc(&a, bytes)`, `cudaMallocPitch(&a, &pitch, width, height)`,
  /// `cudaGetSymbolAddress(&a, array)`, `cudaMemcpy(a, b, bytes)`, `v.resize(n)`.
  void read_allocation(const CallText& call, HostState& state) {
    const std::vector<std::string>& parts = call.arguments;
    const bool copies =
        call.name == "cudaMemcpy" || call.name == "cudaMemcpyAsync" || call.name == "cudaMemset";
    if (call.name == "cudaMemcpyToSymbol" && parts.size() > 1) {
      constants_[pointer_in(parts[0])] = pointer_in(parts[1]);
    }
    if (copies && parts.size() > 2 && call.name != "cudaMemset") {
      note_copy(parts[0], parts[1]);
    }
    if (copies && parts.size() > 2) {
      const std::size_t pointers = call.name == "cudaMemset" ? 1 : 2;
      for (std::size_t i = 0; i < pointers; ++i) {
        copied_.emplace(pointer_in(parts[i]), parts[2]);
        note_size(pointer_in(parts[i]), parts[2], state);
      }
    }
    const bool sets_zero =
        call.name.starts_with("cudaMemset") && parts.size() > 2 && parts[1] == "0";
    if (sets_zero) zeroed_.insert(pointer_in(parts[0]));
    const bool is_symbol = call.name == "cudaGetSymbolAddress";
    const bool allocates = is_symbol || call.name.starts_with("cudaMalloc");
    if (copies || !allocates || parts.size() < 2) return;
    const bool has_pitch = call.name == "cudaMallocPitch" && parts.size() > 3;
    const std::string bytes = has_pitch   ? "(" + parts[2] + ") * (" + parts[3] + ")"
                              : is_symbol ? "sizeof(" + parts[1] + ")"
                                          : parts[1];
    const std::string pointer = pointer_in(parts[0]);
    state.set_bytes(pointer, bytes);
    if (function_ == nullptr) return;
    const std::string whole =
        cpp_tokens(bytes).size() == 1 ? state.value(bytes).value_or(bytes) : bytes;
    if (const auto number = parameter(pointer)) function_->allocated[*number] = whole;
    if (!function_->is_member) allocated_elsewhere_.emplace(pointer, bytes);
    note_size(pointer, bytes, state);
    own_[pointer] = whole;
  }

  void note_size(const std::string& pointer, const std::string& bytes, const HostState& state) {
    if (function_ == nullptr) return;
    for (const std::string& name : function_->parameters) {
      if (state.uses(bytes, {name})) sized_by_[pointer].emplace(function_, name);
    }
  }

  /// Forgets what functions allocate or copy by a parameter for which calls pass different things:
  /// the pointer has no one size.
  void forget_various_sizes() {
    for (const auto& [pointer, sizes] : sized_by_) {
      for (const auto& [function, name] : sizes) {
        std::set<std::string> passed;
        for (const Call& call : calls_) {
          const auto text = call.passed.find(name);
          const bool is_its = call.callee == function && text != call.passed.end();
          if (is_its) passed.insert(text->second);
        }
        if (passed.size() < 2) continue;
        allocated_elsewhere_.erase(pointer);
        copied_.erase(pointer);
      }
    }
  }

  /// Notes what a function allocates and returns.
  void note_returned(const Syntax& syntax) {
    const TokenRange range = syntax.range;
    if (function_ == nullptr || range.end != range.first + 2) return;
    const auto bytes = own_.find(std::string(tokens_[range.first + 1].text));
    if (bytes != own_.end()) function_->returned = bytes->second;
  }

  void use_returned_allocation(const std::string& name, TokenRange value, HostState& state) {
    const std::optional<CallText> call = call_in(value);
    if (!call) return;
    const auto callee = by_name_.find(call->name);
    if (callee == by_name_.end() || callee->second->returned.empty()) return;
    const std::string bytes = in_caller(callee->second->returned, passed(*call, *callee->second));
    state.set_bytes(name, bytes);
    allocated_elsewhere_.emplace(name, bytes);
  }

  /// Reads `malloc(bytes)`, `calloc(n, size)`, `new T[n]`.
  void read_host_allocation(const std::string& name, TokenRange value) {
    for (std::size_t j = value.first; j + 1 < value.end; ++j) {
      const bool is_call = tokens_[j + 1].is("(") && tokens_[j].is("malloc", "calloc");
      const std::size_t close = is_call ? closing(tokens_, j + 1) : kNoToken;
      const std::vector<std::string> parts =
          close < value.end ? parts_in(j + 1) : std::vector<std::string>();
      if (tokens_[j].is("malloc") && parts.size() == 1) {
        note_host_array(name, parts[0]);
      } else if (tokens_[j].is("calloc") && parts.size() == 2) {
        note_host_array(name, "(" + parts[0] + ") * " + parts[1]);
      } else if (tokens_[j].is("new")) {
        std::size_t open = j + 1;
        while (open < value.end && (tokens_[open].is_word() || tokens_[open].is("::"))) ++open;
        const std::size_t end =
            open < value.end && tokens_[open].is("[") ? closing(tokens_, open) : kNoToken;
        if (end >= value.end) return;
        note_host_array(name, "(" + joined(tokens_, {open + 1, end}) + ") * sizeof(" +
                                  joined(tokens_, {j + 1, open}) + ")");
      }
    }
  }

  // Launches.

  /// Returns true if <<< or >>> begins at token i; editors write `<< <` as well.
  bool three(std::size_t i, std::string_view symbol) const {
    for (std::size_t j = i; j < i + 3; ++j) {
      if (j >= tokens_.size() || !tokens_[j].is(symbol)) return false;
      if (j > i && tokens_[j].begin > tokens_[j - 1].end() + 1) return false;
    }
    return true;
  }

  /// Records a copy on the device as the launch that does the same. A copy from or to the host is a
  /// launch of no kernel, which no other follows.
  void record_transfer(const CallText& call, std::size_t token, const HostState& state) {
    if (!call.name.starts_with("cudaMem") || function_ == nullptr) return;
    std::optional<LaunchSite> site = as_launch(call.name, call.arguments);
    const bool waits = !site && call.name == "cudaMemcpy" && call.arguments.size() > 1;
    if (waits && !loops_.empty()) {
      site.emplace();
      site->kernel = call.name;
      site->arguments = {pointer_in(call.arguments[0]), pointer_in(call.arguments[1])};
    }
    if (waits) previous_ = kNoToken;
    if (site) add_launch(std::move(*site), token, state);
    if (waits) previous_ = kNoToken;
  }

  void add_launch(LaunchSite site, std::size_t token, const HostState& state) {
    if (!seen_.insert(token).second) return;
    site.line = tokens_[token].line;
    add_surroundings(site, token, state);
    launches_.push_back({.site = std::move(site), .function = function_, .state = state});
  }

  void record_launches(TokenRange range, const HostState& state) {
    if (function_ == nullptr) return;
    for (std::size_t i = range.first; i < range.end; ++i) {
      const bool is_launch = three(i, "<");
      const bool is_call =
          tokens_[i].text.starts_with("cudaLaunch") && i + 1 < range.end && tokens_[i + 1].is("(");
      if ((!is_launch && !is_call) || seen_.contains(i)) continue;
      std::optional<LaunchSite> site =
          is_launch ? launch(i, range, state) : called_launch(i, range, state);
      if (site) add_launch(std::move(*site), i, state);
    }
  }

  std::optional<LaunchSite> launch(std::size_t open, TokenRange range,
                                   const HostState& state) const {
    const std::optional<CallText> name = name_before(open, range.first);
    std::size_t close = open + 3;
    while (close < range.end && !three(close, ">")) {
      const bool opens = tokens_[close].is("(", "{");
      close = (opens ? closing(tokens_, close) : close) + 1;
    }
    if (!name || close >= range.end) return std::nullopt;
    const std::vector<TokenRange> parts = split(tokens_, {open + 3, close});
    if (parts.size() < 2) return std::nullopt;
    LaunchSite site;
    site.kernel = name->name;
    site.template_arguments = name->template_arguments;
    set_shape(site, joined(tokens_, parts[0]), joined(tokens_, parts[1]), state);
    if (parts.size() > 2) site.shared_bytes = joined(tokens_, parts[2]);
    const std::size_t list = close + 3;
    const bool is_list = list < range.end && tokens_[list].is("(");
    if (is_list && closing(tokens_, list) < tokens_.size()) site.arguments = parts_in(list);
    return site;
  }

  void set_shape(LaunchSite& site, std::string grid, std::string block,
                 const HostState& state) const {
    const Terms turns(turns_.begin(), turns_.end());
    for (std::string* const text : {&grid, &block}) *text = substituted(*text, turns);
    const CppTokens words = cpp_tokens(block);
    if (words.size() == 1 && words[0].is_word()) site.block_name = block;
    site.grid = state.extents(grid);
    const std::optional<std::string> value = state.value(grid);
    const bool is_number = value && site.grid == std::vector{*value} && identifiers(*value).empty();
    if (is_number) site.grid.front() = grid;  // Its name may be that of a size.
    site.block = state.extents(block);
  }

  /// Reads `cudaLaunchKernel((void*)name, grid, block, arguments, shared, stream)`, and
  /// `cudaLaunchKernelEx(&configuration, name, arguments...)`.
  std::optional<LaunchSite> called_launch(std::size_t call, TokenRange range,
                                          const HostState& state) const {
    const std::size_t close = closing(tokens_, call + 1);
    if (close >= range.end) return std::nullopt;
    const std::vector<TokenRange> parts = split(tokens_, {call + 2, close});
    const bool is_configured = tokens_[call].text.starts_with("cudaLaunchKernelEx");
    if (parts.size() < (is_configured ? 2U : 4U)) return std::nullopt;
    const TokenRange named = parts[is_configured ? 1 : 0];
    const std::optional<CallText> name = name_before(named.end, named.first);
    if (!name) return std::nullopt;
    LaunchSite site;
    site.kernel = name->name;
    site.template_arguments = name->template_arguments;
    if (is_configured) {
      add_configuration(site, parts, state);
    } else {
      add_call(site, parts, state);
      site.cooperative = tokens_[call].is("cudaLaunchCooperativeKernel");
    }
    return site;
  }

  void add_configuration(LaunchSite& site, const std::vector<TokenRange>& parts,
                         const HostState& state) const {
    const std::string configuration(tokens_[parts[0].end - 1].text);
    const auto member = [&](const char* of) {
      return state.value(configuration + "." + of).value_or("");
    };
    set_shape(site, member("gridDim"), member("blockDim"), state);
    site.shared_bytes = member("dynamicSmemBytes");
    site.arguments = texts(tokens_, {parts.begin() + 2, parts.end()});
  }

  void add_call(LaunchSite& site, const std::vector<TokenRange>& parts,
                const HostState& state) const {
    set_shape(site, joined(tokens_, parts[1]), joined(tokens_, parts[2]), state);
    for (const std::string& text : state.list(std::string(tokens_[parts[3].end - 1].text))) {
      const std::size_t address = text.rfind('&');  // `(void*)&n`
      if (address != std::string::npos) site.arguments.push_back(text.substr(address + 1));
    }
    if (parts.size() > 4) site.shared_bytes = joined(tokens_, parts[4]);
  }

  void add_surroundings(LaunchSite& site, std::size_t token, const HostState& state) {
    for (const std::string& argument : site.arguments) {
      const auto type = function_->types.find(argument);
      site.types.push_back(type == function_->types.end() ? "" : type->second);
    }
    site.is_chosen = is_chosen_;
    site.conditions = conditions_;
    std::erase_if(site.conditions,
                  [&](const auto& condition) { return turns_.contains(condition.second); });
    site.follows = previous_ != kNoToken;
    previous_ = token;
    const std::vector<std::string> used = site.texts();
    for (const CountingLoop& loop : loops_) {
      if (turns_.contains(loop.counter)) continue;  // It is done in one turn only.
      const bool is_used = std::ranges::any_of(
          used, [&](const std::string& text) { return state.uses(text, loop.changes); });
      // A `for` that is not understood mostly measures; a `while` waits for something.
      const bool is_known = !loop.counter.empty();
      if (is_known || is_used || !loop.header.starts_with("for")) site.loops.push_back(loop);
    }
    const TokenRange body = function_->body.range;
    for (const TokenRange& condition : asserts_) {
      if (condition.first > body.first && condition.first < token) {
        site.asserted.push_back(joined(tokens_, condition));
      }
    }
    constexpr std::ptrdiff_t kMost = 20;
    const auto many = std::ssize(site.asserted) - kMost;
    if (many > 0) site.asserted.erase(site.asserted.begin(), site.asserted.begin() + many);
  }

  /// Adds the functions on the way to a launch, each with the allocations for what the launch's
  /// arguments are made of.
  void add_frames(Launch& launch) const {
    constexpr std::size_t kMost = 4;
    const Function* function = launch.function;
    const HostState* state = &launch.state;
    std::size_t line = launch.site.line;
    std::map<std::string, std::string> passed;
    std::vector<std::string> used = launch.site.arguments;
    for (;;) {
      HostFrame frame = state->frame(allocated_elsewhere_);
      for (const Function* const holder : {function, static_cast<const Function*>(nullptr)}) {
        const auto arrays = of_host_.find(holder);
        if (arrays == of_host_.end()) continue;
        frame.allocated.insert(arrays->second.begin(), arrays->second.end());
      }
      const std::set<std::string> names = names_behind(
          used, [&](const std::string& name) { return value_among(frame.variables, name); });
      std::erase_if(frame.allocated,
                    [&](const auto& entry) { return !names.contains(entry.first); });
      frame.line = line;
      frame.function = function->name;
      frame.parameters = std::move(passed);
      launch.site.frames.push_back(std::move(frame));
      const auto caller = callers_.find(function);
      if (launch.site.frames.size() == kMost || caller == callers_.end()) return;
      passed = caller->second.passed;
      used.clear();
      for (const auto& [name, text] : passed) {
        if (names.contains(name)) used.push_back(text);
      }
      for (const auto& [former, variable] : launch.site.frames.back().former) {
        const auto same = passed.find(variable);
        if (same != passed.end()) passed.emplace(former, same->second);
      }
      std::erase_if(passed, [&](const auto& entry) {
        return launch.site.frames.back().changed.contains(entry.first);
      });
      function = caller->second.function;
      state = &caller->second.state;
      line = caller->second.line;
    }
  }

  ParsedSource source_;
  const CppTokens& tokens_;
  std::vector<Syntax> global_declarations_;
  std::vector<Function> functions_;
  std::map<std::string, Function*> by_name_;  ///< The first of each name.
  std::vector<TokenRange> asserts_;
  std::set<std::string> globals_;

  // The place that is walked through.
  Function* function_ = nullptr;
  std::vector<CountingLoop> loops_;  ///< Loops around it.
  /// Counters of these loops that a `case` around it has a number for.
  std::map<std::string, std::string> turns_;
  std::vector<std::pair<std::size_t, std::string>> conditions_;
  bool is_chosen_ = false;
  std::size_t previous_ = kNoToken;  ///< Token of the launch from which it goes straight to here.
  std::set<std::string> frozen_;     ///< Variables that a loop around it swaps.

  // Results.
  std::set<std::size_t> seen_;  ///< Tokens of launches.
  std::vector<Launch> launches_;
  std::map<const Function*, Caller> callers_;  ///< The first call of each function.
  std::map<std::string, std::string> own_;     ///< Bytes, by the pointer that they are for.
  std::map<std::string, std::string> allocated_elsewhere_;
  /// Functions, and the parameters that they make the sizes of pointers of.
  std::map<std::string, std::set<std::pair<const Function*, std::string>>> sized_by_;
  std::map<std::string, std::string> copied_;
  /// Bytes of the host's arrays, by the function that has them; nullptr for those of all functions.
  std::map<const Function*, std::map<std::string, std::string>> of_host_;
  std::map<std::string, std::string> filled_;     ///< Values stored in loops, by array.
  std::map<std::string, std::string> constants_;  ///< Variables that are copied to constant memory.
  std::set<std::pair<std::string, std::string>> copies_;  ///< Pointers to and from.
  std::set<std::string> zeroed_;                          ///< Pointers to what is set to zero.
  std::vector<Call> calls_;
  std::map<std::string, ComparedArrays> compared_;  ///< Keyed by function.
  std::map<std::size_t, Answer> answers_;           ///< Keyed by the index of the token.
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
