#include "tuner/init/statement_reader.h"

#include "tuner/init/counting_loop.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace smemtune {

Statements::Statements(const ParsedSource& source, const KernelFunction& kernel)
    : tokens_(source.tokens()) {
  pointers_.emplace();
  for (const KernelParameter& parameter : kernel.parameters) {
    if (parameter.pointers == 1) pointers_->insert(parameter.name);
    if (parameter.pointers > 1 || parameter.is_texture()) throw NotSimple();
  }
  for (const TemplateParameter& parameter : kernel.template_parameters) {
    if (parameter.is_type()) types_.push_back(parameter.name);
  }
}

SingleStore Statements::read(const Syntax& body) {
  statement(body);
  return stored();
}

SingleStore Statements::stored() const {
  if (!values_.contains(stored_)) throw NotSimple();
  SingleStore store = store_;
  const std::size_t open = stored_.find('[');
  store.array = stored_.substr(0, open);
  store.index = stored_.substr(open + 1, stored_.size() - open - 2);
  store.value = values_.at(stored_);
  return store;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
void Statements::statement(const Syntax& syntax) {
  if (syntax.kind == Kind::block) {
    expect_no_gaps(syntax);
    for (const Syntax& part : syntax.parts) statement(part);
    return;
  }
  if (is_done_) throw NotSimple();
  switch (syntax.kind) {
    case Kind::variable:
      return declare(syntax);
    case Kind::branch:
      return condition(syntax);
    case Kind::loop:
      return loop(syntax);
    case Kind::assignment:
      return assign(syntax);
    default:
      throw NotSimple();
  }
}

void Statements::expect_no_gaps(const Syntax& block) const {
  for (const TokenRange& gap : gaps_in(block)) {
    for (std::size_t i = gap.first; i < gap.end; ++i) expect_no_value(tokens_[i]);
  }
}

void Statements::expect_no_value(const CppToken& token) {
  const bool is_pragma = token.kind == CppToken::Kind::directive &&
                         token.text.find("pragma") != std::string_view::npos;
  if (!is_pragma && token.kind != CppToken::Kind::symbol) throw NotSimple();
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
void Statements::condition(const Syntax& syntax) {
  if (syntax.parts.size() != 2) throw NotSimple();
  if (depth_ > 0) return add_on_condition(syntax.parts[0].range, syntax.parts[1]);
  if (!stored_.empty()) throw NotSimple();
  const std::string text = resolved(syntax.parts[0].range);
  const Syntax& then = syntax.parts[1];
  const bool in_braces = then.kind == Kind::block && then.parts.size() == 1;
  if ((in_braces ? then.parts[0] : then).is(Kind::leave, "return")) {
    store_.conditions.push_back("!(" + text + ")");
    return;
  }
  store_.conditions.push_back(text);
  statement(then);
  if (stored_.empty()) throw NotSimple();
  is_done_ = true;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
void Statements::add_on_condition(TokenRange condition, const Syntax& body) {
  const std::string text = resolved(condition);
  std::map<std::string, std::string> before = std::exchange(added_, {});
  const std::map<std::string, std::string> outside = values_;
  statement(body);
  values_ = outside;
  const std::map<std::string, std::string> inner = std::exchange(added_, std::move(before));
  for (const auto& [target, value] : inner) {
    add_to(target, "(" + text + ") ? " + value + " : 0");
  }
}

Statements::Range Statements::range_of(const Syntax& loop) {
  if (loop.text != "for") throw NotSimple();
  const auto [counter, first] = counted_from(loop);
  if (first == nullptr) throw NotSimple();
  const Syntax& compared = loop.parts[Syntax::kCondition];
  const bool to_end = compared.is(Kind::binary, "<=");
  const bool is_whole = compared.is(Kind::binary, "!=") && first->text == "0";
  const bool compares = to_end || is_whole || compared.is(Kind::binary, "<");
  if (!compares || !compared.parts[0].is_name(counter)) throw NotSimple();
  const Syntax& step = loop.parts[Syntax::kStep];
  return {.counter = counter,
          .first = resolved(first->range),
          .end = "(" + resolved(compared.parts[1].range) + ")" + (to_end ? " + 1" : ""),
          .by_one = step.is(Kind::unary, "++") ||
                    (step.is(Kind::assignment, "+=") && step.parts[1].text == "1")};
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
void Statements::loop(const Syntax& syntax) {
  if (const auto grid = depth_ == 0 ? grid_loop_in(syntax) : std::nullopt) {
    return grid_loop(*grid, syntax.parts[Syntax::kCondition]);
  }
  if (depth_ == 0 && pointers_ && chooses(syntax)) {
    expect_one_element(syntax);
    through(syntax);
    is_done_ = true;
    return;
  }
  add_up(range_of(syntax), syntax.parts[Syntax::kBody]);
}

void Statements::add_up(const Range& range, const Syntax& body) {
  if (!range.by_one || counters_ == kMostLoops) throw NotSimple();
  const bool is_from_zero = range.first == "0" || !range.step.empty();
  const std::string bound = range.end + (is_from_zero ? "" : " - (" + range.first + ")");
  const std::string counted = range.counter + "_" + std::to_string(counters_++);
  const std::map<std::string, std::string> outside = values_;
  values_[range.counter] = !range.array.empty() ? range.array + "[" + counted + "]"
                           : !range.step.empty()
                               ? "(" + range.first + " + " + counted + " * " + range.step + ")"
                           : is_from_zero ? counted
                                          : "(" + counted + " + " + range.first + ")";
  unknown_.erase(range.counter);
  std::map<std::string, std::string> sums = std::exchange(added_, {});
  std::set<std::string> read = std::exchange(read_, {});
  ++depth_;
  range.step.empty() ? statement(body) : add_on_condition(range.condition, body);
  --depth_;
  const std::set<std::string> read_here = std::exchange(read_, std::move(read));
  read_.insert(read_here.begin(), read_here.end());
  const std::map<std::string, std::string> inner = std::exchange(added_, std::move(sums));
  values_ = outside;
  for (const auto& [target, text] : inner) {
    // Each turn would read another value.
    if (read_here.contains(target.substr(0, target.find('[')))) throw NotSimple();
    add_to(target, "sum(" + counted + " < bound_of[" + bound + "], " + text + ")");
  }
}

std::optional<Statements::GridLoop> Statements::grid_loop_in(const Syntax& syntax) {
  const Syntax& condition = syntax.parts[Syntax::kCondition];
  const Syntax& body = syntax.parts[Syntax::kBody];
  const bool compares = condition.kind == Kind::binary && condition.parts[0].kind == Kind::name;
  if (!compares || syntax.text == "do") return std::nullopt;
  const bool is_while = syntax.text == "while";
  if (is_while && (body.kind != Kind::block || body.parts.empty())) return std::nullopt;
  const Syntax& step = is_while ? body.parts.back() : syntax.parts[Syntax::kStep];
  if (step.kind != Kind::assignment) return std::nullopt;
  GridLoop loop = {.counter = condition.parts[0].text, .body = body};
  const Syntax& value = step.parts[1];
  const bool is_whole =
      step.text == "=" && value.is(Kind::binary, "+") && value.parts[0].is_name(loop.counter);
  const bool adds = step.parts[0].is_name(loop.counter) && (step.text == "+=" || is_whole);
  if (!adds) return std::nullopt;
  loop.step = in_parentheses(resolved((is_whole ? value.parts[1] : value).range));
  const auto [counter, first] = counted_from(syntax);
  loop.start =
      first != nullptr && counter == loop.counter ? resolved(first->range) : value_of(loop.counter);
  if (is_while) {
    loop.body.range.end = step.whole.first;
    loop.body.parts.pop_back();
  }
  return is_by_all_threads(loop) ? std::optional(loop) : std::nullopt;
}

bool Statements::is_by_all_threads(const GridLoop& loop) const {
  return loop.step.find("gridDim") != std::string::npos &&
         loop.start.find("axis_") != std::string::npos;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
void Statements::grid_loop(const GridLoop& loop, const Syntax& condition) {
  forget(assigned_in(loop.body));
  unknown_.erase(loop.counter);
  values_[loop.counter] = loop.start;
  store_.conditions.push_back(resolved(condition.range));
  statement(loop.body);
  is_done_ = true;
}

void Statements::for_each_store(const Syntax& syntax,
                                const std::function<void(const Syntax&)>& use) const {
  for_each(syntax, [&](const Syntax& part) {
    if (part.kind != Kind::assignment || part.parts[0].kind != Kind::element) return;
    if (pointers_ && pointers_->contains(part.parts[0].parts[0].text)) use(part.parts[0]);
  });
}

bool Statements::chooses(const Syntax& loop) const {
  std::map<std::string, std::string> made_of;
  for_each(loop, [&](const Syntax& part) {
    if (part.kind == Kind::variable && part.parts.size() == 1) {
      made_of[part.text] = joined(tokens_, part.parts[0].whole);
    }
  });
  bool chooses = false;
  for_each_store(loop, [&](const Syntax& element) {
    const auto value = [&](const std::string& name) { return value_among(made_of, name); };
    const std::string index = joined(tokens_, element.parts.back().whole);
    chooses = chooses || names_behind({index}, value).contains(counted_from(loop).first);
  });
  return chooses;
}

void Statements::expect_one_element(const Syntax& loop) const {
  std::set<std::string> arrays;
  for_each_store(loop, [&](const Syntax& element) { arrays.insert(element.parts[0].text); });
  std::set<std::string> elements;
  for_each(loop, [&](const Syntax& part) {
    const bool is_its = part.kind == Kind::element && arrays.contains(part.parts[0].text);
    if (is_its) elements.insert(joined(tokens_, part.range));
  });
  if (elements.size() != 1) throw NotSimple();
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
void Statements::through(const Syntax& loop) {
  const Range range = range_of(loop);
  forget(assigned_in(loop.parts[Syntax::kBody]));  // Each turn may go on from the one before.
  if (!range.by_one || axes_ == kMostLoops) throw NotSimple();
  const std::string axis = std::string("axis_") + static_cast<char>('a' + axes_++);
  if (range.first != "0") store_.conditions.push_back(axis + " >= " + range.first);
  store_.conditions.push_back(axis + " < " + range.end);
  unknown_.erase(range.counter);
  values_[range.counter] = axis;
  walk(loop.parts[Syntax::kBody]);
}

void Statements::declare(const Syntax& syntax) {
  const CXType type = clang().getCanonicalType(clang().getCursorType(syntax.cursor));
  const bool is_plain = type.kind != CXType_Pointer && type.kind != CXType_ConstantArray;
  const bool is_shared = tokens_[syntax.range.first].is("__shared__");
  if (!is_plain || is_shared || syntax.parts.size() != 1) throw NotSimple();
  values_[syntax.text] = thread_or(resolved(syntax.parts[0].range));
  unknown_.erase(syntax.text);
}

std::string Statements::thread_or(const std::string& text) const {
  const CppTokens tokens = cpp_tokens(text);
  std::string axis;
  std::size_t threads = 0;
  std::size_t blocks = 0;
  std::size_t sums = 0;
  std::size_t products = 0;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    const bool is_thread = tokens[i].is("threadIdx");
    if (!is_thread && !tokens[i].is("blockIdx")) continue;
    if (!axis.empty() && axis != tokens[i + 2].text) return text;
    axis = tokens[i + 2].text;
    ++(is_thread ? threads : blocks);
  }
  for (const CppToken& token : tokens) {
    sums += token.is("+") ? 1 : 0;
    products += token.is("*") ? 1 : 0;
  }
  const bool has_other = std::ranges::any_of(tokens, [](const CppToken& token) {
    return is_one_of(token.text, {"-", "/", "%", "[", "<", "?", "&"});
  });
  const bool is_all = threads == 1 && blocks == 1 && sums == 1 && products == 1 && !has_other &&
                      (!may_differ_ || text.find("blockDim") != std::string::npos);
  return is_all ? "axis_" + axis : text;
}

void Statements::assign(const Syntax& syntax) {
  const Syntax& left = syntax.parts[0];
  const Syntax& right = syntax.parts[1];
  const std::string target = target_of(left);
  const std::size_t first = right.range.first;
  const bool adds = syntax.text == "=" && left.kind == Kind::name && right.kind == Kind::binary &&
                    tokens_[first].is(target) && tokens_[first + 1].is("+");
  if (adds) return add_to(target, resolved({first + 2, right.range.end}));
  const std::string value = resolved(right.range);
  if (syntax.text == "=") {
    set(target, value);
  } else if (syntax.text == "+=") {
    add_to(target, value);
  } else if (syntax.text == "-=") {
    add_to(target, "-(" + value + ")");
  } else if (syntax.text == "*=" && depth_ == 0) {
    set(target, "(" + value_of(target) + ") * (" + value + ")");
  } else {
    throw NotSimple();
  }
}

std::string Statements::target_of(const Syntax& left) {
  if (left.kind == Kind::name && values_.contains(left.text)) return left.text;
  if (left.kind != Kind::element || left.parts[0].kind != Kind::name) throw NotSimple();
  std::string target = left.parts[0].text;
  if (pointers_ && !pointers_->contains(target)) throw NotSimple();
  target += "[" + resolved(left.parts[1].range) + "]";
  begin_store(target);
  return target;
}

void Statements::begin_store(const std::string& target) {
  if (!stored_.empty() && stored_ != target) throw NotSimple();
  stored_ = target;
}

std::string Statements::value_of(const std::string& target) const {
  const auto known = values_.find(target);
  return known == values_.end() ? target : known->second;
}

void Statements::set(const std::string& target, const std::string& value) {
  if (depth_ > 0) throw NotSimple();
  values_[target] = value;
}

void Statements::add_to(const std::string& target, const std::string& value) {
  if (depth_ == 0) {
    const std::string before = value_of(target);
    const bool is_nothing =
        before == "0" || before == "0.0" || before == "0.0f" || before == "0.f" || before == "0.";
    values_[target] = is_nothing ? value : "(" + before + ") + (" + value + ")";
  } else {
    std::string& sum = added_[target];
    sum += (sum.empty() ? "" : " + ") + ("(" + value + ")");
  }
  if (value.size() > kLongestText) throw NotSimple();
}

void Statements::forget(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    values_.erase(name);
    unknown_.insert(name);
  }
}

Terms Statements::terms() const {
  Terms terms;
  for (const auto& [name, value] : values_) {
    terms.emplace_back(name, in_parentheses(value));
  }
  for (const std::string& type : types_) terms.emplace_back(type + "(", "(");
  return terms;
}

std::string Statements::resolved(TokenRange range) {
  for (std::size_t i = range.first; i < range.end; ++i) {
    if (is_one_of(tokens_[i].text, {"__shared__", "++", "--", "=", "+=", ";", "{"}))
      throw NotSimple();
    if (unknown_.contains(tokens_[i].text)) throw NotSimple();
    if (depth_ > 0) read_.emplace(tokens_[i].text);
  }
  std::string text = substituted(joined(tokens_, range), terms());
  text = without_casts(thread_or(text));
  if (text.size() > kLongestText) throw NotSimple();
  // Reading the stored element gives the stored value.
  return stored_.empty() || !values_.contains(stored_)
             ? text
             : substituted(text, {{stored_, "(" + values_.at(stored_) + ")"}});
}

}  // namespace smemtune
