#include "tuner/init/device_function.h"

#include "tuner/core/text.h"
#include "tuner/init/elements.h"
#include "tuner/init/host_terms.h"
#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <string_view>

namespace smemtune {
namespace {

/// The heap of a kernel of one thread: 16 MiB, in which every allocation is aligned to 16 bytes and
/// zeroed, and stops the kernel if it does not fit. Only the last allocation can be freed.
constexpr const char* kHeap = R"cu(
// A heap for one thread.
__device__ ulonglong2 smemtune_heap[1 << 20];
__device__ unsigned long long smemtune_heap_end;
__device__ unsigned long long smemtune_heap_last;
__device__ void* smemtune_calloc(unsigned long long count, unsigned long long bytes) {
  const unsigned long long most = sizeof(smemtune_heap) / sizeof(ulonglong2);
  if (bytes > 0 && count > sizeof(smemtune_heap) / bytes) __trap();
  const unsigned long long parts = (count * bytes + sizeof(ulonglong2) - 1) / sizeof(ulonglong2);
  const unsigned long long first = smemtune_heap_end;
  if (parts + 1 > most - first) __trap();
  smemtune_heap[first].x = smemtune_heap_last;
  for (unsigned long long i = 1; i <= parts; ++i) smemtune_heap[first + i] = make_ulonglong2(0, 0);
  smemtune_heap_last = first;
  smemtune_heap_end = first + 1 + parts;
  return &smemtune_heap[first + 1];
}
__device__ void* smemtune_malloc(unsigned long long bytes) { return smemtune_calloc(1, bytes); }
__device__ void smemtune_free(void* memory) {
  if (memory != &smemtune_heap[smemtune_heap_last + 1]) return;
  smemtune_heap_end = smemtune_heap_last;
  smemtune_heap_last = smemtune_heap[smemtune_heap_end].x;
}
)cu";

constexpr const char* kHeapDeclared =
    "__device__ void* smemtune_calloc(unsigned long long count, unsigned long long bytes); "
    "__device__ void* smemtune_malloc(unsigned long long bytes); "
    "__device__ void smemtune_free(void* memory); ";

/// Returns true for `std::` before a function that the device has as well: `std::max(a, b)`.
bool is_standard(const CppTokens& tokens, std::size_t i) {
  static const std::initializer_list<std::string_view> kBoth = {
      "abs",       "ceil", "cos",   "exp",   "exp2", "fabs", "floor", "fma",
      "fmax",      "fmin", "isinf", "isnan", "log",  "log2", "max",   "min",
      "nearbyint", "pow",  "round", "sin",   "sqrt", "tanh"};
  return i + 3 < tokens.size() && tokens[i].is("std") && tokens[i + 1].is("::") &&
         is_one_of(tokens[i + 2].text, kBoth) && tokens[i + 3].is("(");
}

/// The type of a vector's elements, and the token behind `std::vector<T>`.
struct VectorType {
  std::string element;
  std::size_t end = 0;
};

std::optional<VectorType> vector_type(const CppTokens& tokens, std::size_t i) {
  const bool has_space = i + 2 < tokens.size() && tokens[i].is("std") && tokens[i + 1].is("::");
  const std::size_t name = has_space ? i + 2 : i;
  const bool is_vector =
      name + 1 < tokens.size() && tokens[name].is("vector") && tokens[name + 1].is("<");
  const std::size_t close = is_vector ? closing(tokens, name + 1) : tokens.size();
  if (close >= tokens.size()) return std::nullopt;
  return VectorType{.element = joined(tokens, {name + 2, close}), .end = close + 1};
}

/// Returns the type of the vector that a parameter `std::vector<T>&` at token i refers to.
std::optional<VectorType> vector_reference(const CppTokens& tokens, std::size_t i) {
  auto type = vector_type(tokens, i);
  const bool is_one = type && type->end < tokens.size() && tokens[type->end].is("&");
  if (is_one) ++type->end;
  return is_one ? type : std::nullopt;
}

/// Returns true if a function only reads and stores a vector's elements, goes through them and asks
/// for its size.
/// `declared`: the token of the vector's declaration.
bool uses_elements(const CppTokens& tokens, const SourceItem& item, std::string_view vector,
                   std::size_t declared) {
  for (std::size_t i = item.body; i + 2 < item.end; ++i) {
    const bool is_size = tokens[i + 1].is(".") && tokens[i + 2].is("size");
    const bool is_list = tokens[i - 1].is(":") && tokens[i + 1].is(")");
    const bool is_known = tokens[i + 1].is("[") || is_size || is_list;
    if (i != declared && tokens[i].is(vector) && !is_known) return false;
  }
  return true;
}

std::string size_of_vector(std::string_view vector) { return std::string(vector) + "_size"; }

/// Replaces what only a vector has: `v.size()` by the variable that holds it, and
/// `for (auto x : v)` by a loop that counts.
void replace_sizes(const CppTokens& tokens, const SourceItem& item, std::string_view vector,
                   Edits& edits) {
  const std::string size = size_of_vector(vector);
  for (std::size_t i = item.body; i + 4 < item.end; ++i) {
    if (!tokens[i].is(vector)) continue;
    if (tokens[i + 1].is(".")) edits[tokens[i].begin] = {tokens[i + 4].end(), size};
    if (!tokens[i - 1].is(":")) continue;
    const std::size_t open = opening(tokens, i + 1);
    const std::string at = std::string(vector) + "_at";
    edits[tokens[open].begin] = {
        tokens[i + 1].end(), "(long " + at + " = 0; " + at + " < " + size + "; ++" + at + ") if (" +
                                 joined(tokens, {open + 1, i - 1}) + " = " + std::string(vector) +
                                 "[" + at + "]; true)"};
  }
}

/// Returns true if a function asks for a vector's size, or goes through all of its elements.
bool needs_size(const CppTokens& tokens, const SourceItem& item, std::string_view vector) {
  for (std::size_t i = item.body; i + 1 < item.end; ++i) {
    if (tokens[i].is(vector) && (tokens[i + 1].is(".") || tokens[i - 1].is(":"))) return true;
  }
  return false;
}

/// Reads what a function does with a heap: `malloc(...)`, `new T[n]`, `std::vector<T> v(n, 0)`.
class HeapUse {
 public:
  HeapUse(const CppTokens& tokens, const SourceItem& item, Edits& edits)
      : tokens_(tokens), item_(item), edits_(edits) {}

  /// Edits the use of the heap that begins at token i for the device, and returns its last token;
  /// kNoToken if the device cannot have it.
  std::size_t read(std::size_t i) {
    const std::size_t name = tokens_[i].is("std") ? i + 2 : i;
    const bool is_call = name + 1 < item_.end && tokens_[name + 1].is("(") &&
                         is_one_of(tokens_[name].text, {"malloc", "calloc", "free"});
    if (is_call) return edited(i, name, "smemtune_" + std::string(tokens_[name].text));
    if (tokens_[i].is("new")) return array(i);
    const bool deletes = tokens_[i].is("delete") && i + 4 < item_.end && tokens_[i + 1].is("[") &&
                         tokens_[i + 3].is_word() && tokens_[i + 4].is(";");
    if (deletes) {
      return edited(i, i + 3, "smemtune_free(" + std::string(tokens_[i + 3].text) + ")");
    }
    return vector(i);
  }

 private:
  std::size_t edited(std::size_t first, std::size_t last, const std::string& text) {
    edits_[tokens_[first].begin] = {tokens_[last].end(), text};
    return last;
  }

  /// Replaces `new T[` and the bracket that closes, so that what is between them is read as well.
  std::size_t array(std::size_t i) {
    std::size_t open = i + 1;
    while (open < item_.end && tokens_[open].is_word()) ++open;
    const std::size_t close = tokens_[open].is("[") ? closing(tokens_, open) : item_.end;
    if (close + 2 >= item_.end || open == i + 1) return kNoToken;
    const std::string type = joined(tokens_, {i + 1, open});
    if (!is_scalar(type)) return kNoToken;  // It may have a constructor.
    const bool is_zeroed = tokens_[close + 1].is("(") && tokens_[close + 2].is(")");
    edited(close, is_zeroed ? close + 2 : close, ", sizeof(" + type + "))");
    return edited(i, open, "(" + type + "*)smemtune_calloc(");
  }

  bool is_scalar(const std::string& type) const {
    return !elements_of(type).type.empty() ||
           std::ranges::any_of(template_parameters(tokens_, item_),
                               [&](const TemplateParameter& one) { return one.name == type; });
  }

  std::size_t vector(std::size_t i) {
    const auto type = vector_type(tokens_, i);
    const std::size_t name = type ? type->end : item_.end;
    if (name + 2 >= item_.end || !tokens_[name].is_word() || !tokens_[name + 1].is("(")) {
      return kNoToken;
    }
    const std::size_t close = closing(tokens_, name + 1);
    if (close >= item_.end || !uses_elements(tokens_, item_, tokens_[name].text, name)) {
      return kNoToken;
    }
    const std::vector<TokenRange> given = split(tokens_, {name + 2, close});
    const bool is_zeroed =
        given.size() == 1 || (given.size() == 2 && given[1].end == given[1].first + 1 &&
                              is_one_of(tokens_[given[1].first].text, {"0", "0.0", "0.0f", "0.f"}));
    const std::string vector(tokens_[name].text);
    const std::string size = size_of_vector(vector);
    const bool is_taken = has_name(joined(tokens_, {item_.first, item_.end}), size);
    if (!is_zeroed || is_taken || !is_scalar(type->element)) return kNoToken;
    const std::string memory =
        "(" + type->element + "*)smemtune_calloc(" + size + ", sizeof(" + type->element + "))";
    replace_sizes(tokens_, item_, vector, edits_);
    edited(given.front().end, close, "; " + type->element + "* " + vector + " = " + memory);
    return edited(i, name + 1, "const long " + size + " = ");
  }

  const CppTokens& tokens_;
  const SourceItem& item_;
  Edits& edits_;
};

/// The functions of the host by their names; nullptr for those with several definitions.
using HostFunctions = std::map<std::string, const SourceItem*>;

HostFunctions host_functions(const SourceItems& read) {
  HostFunctions hosts;
  for (const SourceItem& item : read.items) {
    if (item.body == kNoToken || !item.is_host) continue;
    const bool is_plain = item.declares.size() == 1 && item.name_space.empty();
    for (const std::string& name : item.declares) {
      const auto [known, is_new] = hosts.emplace(name, is_plain ? &item : nullptr);
      if (!is_new) known->second = nullptr;
    }
  }
  return hosts;
}

/// Collects the functions that one needs.
class NeededFunctions {
 public:
  NeededFunctions(const CppTokens& tokens, const SourceItems& read)
      : tokens_(tokens), hosts_(host_functions(read)) {}

  /// Adds a function behind those that it calls. Returns false if the device cannot have one of
  /// them.
  // NOLINTNEXTLINE(misc-no-recursion): each function once.
  bool add(const SourceItem& item, bool is_called) {
    Edits edits;
    HeapUse heap(tokens_, item, edits);
    const bool is_static = tokens_[item.first].is("static");  // A static variable is refused.
    for (std::size_t i = item.first + (is_static ? 1 : 0); i < item.end; ++i) {
      if (i < item.body && !is_called) {
        if (const auto vector = vector_reference(tokens_, i)) i = vector->end;
      }
      if (is_standard(tokens_, i)) {
        edits[tokens_[i].begin] = {tokens_[i + 2].begin, ""};
      } else if (is_hosts(i)) {
        i = i > item.body ? heap.read(i) : kNoToken;
        if (i == kNoToken) return false;
      } else if (!add_called(i, item) || launches(i, item.end)) {
        return false;
      }
    }
    found_.push_back({.item = &item, .edits = std::move(edits)});
    return true;
  }

  std::vector<NeededFunction>& found() { return found_; }

 private:
  /// Returns true for what only the host has, or what means something else on the device.
  bool is_hosts(std::size_t i) const {
    return is_one_of(tokens_[i].text,
                     {"realloc", "std", "malloc", "calloc", "free", "new", "delete", "printf",
                      "fprintf", "fopen", "cout", "exit", "rand", "vector", "blockIdx", "threadIdx",
                      "blockDim", "static", "gridDim"}) ||
           tokens_[i].text.starts_with("cuda") || tokens_[i].text.starts_with("omp_");
  }

  bool launches(std::size_t i, std::size_t end) const {
    return i + 2 < end && tokens_[i].is("<") && tokens_[i + 1].is("<") && tokens_[i + 2].is("<");
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  bool add_called(std::size_t i, const SourceItem& item) {
    const bool is_call = i > item.body && i + 1 < item.end && tokens_[i + 1].is("(");
    const auto called = is_call ? hosts_.find(std::string(tokens_[i].text)) : hosts_.end();
    if (called == hosts_.end() ||
        std::ranges::find(found_, called->second, &NeededFunction::item) != found_.end()) {
      return true;
    }
    const bool is_before = called->second != nullptr && called->second->end <= item.first;
    return is_before && add(*called->second, true);
  }

  const CppTokens& tokens_;
  HostFunctions hosts_;
  std::vector<NeededFunction> found_;
};

/// Returns the members of a structure of the source; empty if there is none of that name, or if it
/// has other members than scalars and pointers.
std::vector<KernelParameter> members_of(const CppTokens& tokens, const SourceItems& read,
                                        const std::string& type) {
  std::vector<KernelParameter> members;
  for (const SourceItem& item : read.items) {
    const bool is_its = std::ranges::find(item.declares, type) != item.declares.end();
    std::size_t open = item.first;
    while (open < item.end && !tokens[open].is("{")) ++open;
    const bool is_structure =
        tokens[item.first].is("struct") ||
        (tokens[item.first].is("typedef") && tokens[item.first + 1].is("struct"));
    if (!is_its || !is_structure || open >= item.end) continue;
    const std::size_t close = closing(tokens, open);
    std::size_t first = open + 1;
    for (std::size_t i = first; i < close; ++i) {
      if (tokens[i].is("(", "[", "{")) return {};
      if (!tokens[i].is(";") && !tokens[i].is(",")) continue;
      auto member = kernel_parameter(tokens, {first, i});
      const bool is_further = !members.empty() && tokens[first - 1].is(",");
      if (is_further) {
        const bool is_pointer = tokens[first].is("*");
        member = KernelParameter();
        member->type = members.back().type;
        member->pointers = is_pointer ? 1 : 0;
        member->name = tokens[is_pointer ? first + 1 : first].text;
      }
      if (!member || member->name.empty() || member->pointers > 1) return {};
      members.push_back(*member);
      first = i + 1;
    }
    return members;
  }
  return members;
}

/// Reads the parameters of a function.
class SignatureReader {
 public:
  SignatureReader(const CppTokens& tokens, const SourceItems& read, const SourceItem& item)
      : tokens_(tokens), read_(read), item_(item), text_(joined(tokens, {item.list, item.end})) {}

  HostSignature read() {
    for (const TemplateParameter& parameter : template_parameters(tokens_, item_)) {
      if (!parameter.is_type()) return {};
      signature_.types.insert(parameter.name);
    }
    const std::size_t close = std::min(closing(tokens_, item_.list), item_.end);
    for (const TokenRange& part : split(tokens_, {item_.list + 1, close})) {
      const auto parameter = kernel_parameter(tokens_, part);
      if (!parameter || parameter->name.empty() || parameter->pointers > 1) return {};
      if (!add_members(*parameter) && !add_vector(part, *parameter)) return {};
    }
    signature_.parameters.insert(signature_.parameters.end(), sizes_.begin(), sizes_.end());
    // A call could not deduce a type that no parameter has.
    const bool is_deduced = std::ranges::all_of(signature_.types, [&](const std::string& type) {
      return std::ranges::find(signature_.parameters, type, &KernelParameter::type) !=
             signature_.parameters.end();
    });
    return is_deduced ? signature_ : HostSignature();
  }

 private:
  /// Adds a parameter, a vector as a pointer. Returns false if the function does with a vector what
  /// no pointer can.
  bool add_vector(TokenRange part, KernelParameter parameter) {
    const std::size_t first = part.first + (tokens_[part.first].is("const") ? 1 : 0);
    const auto vector = vector_reference(tokens_, first);
    if (vector) {
      const std::string size = size_of_vector(parameter.name);
      const bool is_taken = has_name(text_, size);
      if (is_taken || !uses_elements(tokens_, item_, parameter.name, kNoToken)) return false;
      parameter.type = vector->element;
      parameter.pointers = 1;
      if (needs_size(tokens_, item_, parameter.name)) {
        signature_.pieces[size] = {.parameter = parameter.name, .behind = ".size()"};
        sizes_.emplace_back();
        sizes_.back().name = size;
        sizes_.back().type = "long";
      }
    }
    signature_.parameters.push_back(std::move(parameter));
    return true;
  }

  /// Adds the members that the body uses of a structure with pointers. Returns false if the
  /// parameter is no such structure, or if the body uses it as a whole.
  bool add_members(const KernelParameter& parameter) {
    const std::vector<KernelParameter> members = members_of(tokens_, read_, parameter.type);
    // The kernel may take a structure without pointers itself.
    if (std::ranges::none_of(members, [](const auto& member) { return member.pointers > 0; })) {
      return false;
    }
    std::set<std::string> used;
    for (std::size_t i = item_.body; i + 2 < item_.end; ++i) {
      if (!tokens_[i].is(parameter.name) || tokens_[i - 1].is(".", "->")) continue;
      if (!tokens_[i + 1].is(parameter.pointers > 0 ? "->" : ".")) return false;
      used.emplace(tokens_[i + 2].text);
    }
    if (used.empty()) return false;
    for (KernelParameter member : members) {
      if (!used.erase(member.name)) continue;
      const std::string behind = "." + member.name;
      member.name = parameter.name + "_" + member.name;
      member.is_const = member.pointers > 0 && parameter.is_const;
      if (has_name(text_, member.name)) return false;
      signature_.pieces[member.name] = {
          .parameter = parameter.name, .behind = behind, .is_member = true};
      signature_.parameters.push_back(std::move(member));
    }
    signature_.structures[parameter.name] = {.type = parameter.type,
                                             .is_pointer = parameter.pointers > 0};
    return used.empty();
  }

  const CppTokens& tokens_;
  const SourceItems& read_;
  const SourceItem& item_;
  std::string text_;  ///< The parameters and the body.
  HostSignature signature_;
  std::vector<KernelParameter> sizes_;
};

/// Replaces the vectors of a parameter list by pointers, and their sizes by parameters behind all
/// others.
void replace_vectors(const CppTokens& tokens, const SourceItem& item,
                     const HostSignature& signature, Edits& edits) {
  for (std::size_t i = item.list; i < item.body; ++i) {
    const auto vector = vector_reference(tokens, i);
    if (!vector) continue;
    edits[tokens[i].begin] = {tokens[vector->end - 1].end(), vector->element + "*"};
    i = vector->end;
  }
  for (const auto& [size, piece] : signature.pieces) {
    if (piece.is_member) continue;
    edits[tokens[closing(tokens, item.list)].begin].second += ", long " + size;
    replace_sizes(tokens, item, piece.parameter, edits);
  }
}

std::string declared(const KernelParameter& parameter) {
  return (parameter.is_const ? "const " : "") + parameter.type +
         std::string(static_cast<std::size_t>(parameter.pointers), '*') + " " + parameter.name;
}

std::string text_of(const CallingKernel& kernel, const HostSignature& signature, bool has_heap) {
  std::string before = has_heap ? "  smemtune_heap_end = 0;\n  smemtune_heap_last = 0;\n" : "";
  std::vector<std::string> given;
  std::set<std::string> made;
  for (std::size_t i = 0; i < kernel.given.size(); ++i) {
    const auto piece = signature.pieces.find(signature.parameters[i].name);
    if (piece == signature.pieces.end() || !piece->second.is_member) {
      given.push_back(kernel.given[i]);
      continue;
    }
    const std::string& parameter = piece->second.parameter;
    const HostSignature::Structure& structure = signature.structures.at(parameter);
    const std::string variable = "its_" + parameter;
    if (made.insert(parameter).second) {
      before += "  " + structure.type + " " + variable + ";\n";
      given.push_back((structure.is_pointer ? "&" : "") + variable);
    }
    before += "  " + variable + piece->second.behind + " = " + kernel.given[i] + ";\n";
  }
  return "\n// The host's function, for one thread.\n__global__ void " + kernel.name + "(" +
         joined(kernel.taken, ", ", declared) + ") {\n" + before + "  " +
         (kernel.result.empty() ? "" : "*" + kernel.result + " = ") + kernel.function + "(" +
         joined(given, ", ", [](const std::string& text) { return text; }) + ");\n}\n";
}

bool uses_heap(const NeededFunction& function) {
  return std::ranges::any_of(function.edits, [](const auto& edit) {
    return edit.second.second.find("smemtune_") != std::string::npos;
  });
}

}  // namespace

std::vector<NeededFunction> needed_by(const CppTokens& tokens, const SourceItems& read,
                                      const SourceItem& item) {
  NeededFunctions needed(tokens, read);
  if (!needed.add(item, false)) return {};
  return std::move(needed.found());
}

std::optional<std::string> HostSignature::passed(
    const KernelParameter& parameter, const std::map<std::string, std::string>& texts) const {
  const auto piece = pieces.find(parameter.name);
  const bool is_whole = piece == pieces.end();
  const auto text = texts.find(is_whole ? parameter.name : piece->second.parameter);
  if (text == texts.end()) return std::nullopt;
  if (is_whole) return text->second;
  const bool is_address = text->second.starts_with("&");
  const bool is_pointer =
      piece->second.is_member && structures.at(piece->second.parameter).is_pointer && !is_address;
  const std::string object = text->second.substr(is_address ? 1 : 0);
  return object + (is_pointer ? "->" + piece->second.behind.substr(1) : piece->second.behind);
}

HostSignature host_signature(const CppTokens& tokens, const SourceItems& read,
                             const SourceItem& item) {
  return SignatureReader(tokens, read, item).read();
}

std::string with_functions_for_device(const std::string& source, const CppTokens& tokens,
                                      const std::vector<NeededFunction>& functions,
                                      const HostSignature& signature, const CallingKernel& kernel) {
  const bool has_heap = std::ranges::any_of(functions, uses_heap);
  Edits edits;
  replace_vectors(tokens, *functions.back().item, signature, edits);
  for (const NeededFunction& function : functions) {
    edits.insert(function.edits.begin(), function.edits.end());
    std::size_t first = function.item->first;
    const bool is_first = has_heap && &function == &functions.front();
    if (is_first) edits[tokens[first].begin].second = kHeapDeclared;
    if (tokens[first].is("template")) first = closing(tokens, first + 1) + 1;
    if (tokens[first].is("extern") && tokens[first + 1].text.starts_with('"')) first += 2;
    edits[tokens[first].begin].second += "__host__ __device__ ";
  }
  std::string whole = source;
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {  // From the end: none moves.
    const auto& [end, text] = edit->second;
    whole.replace(edit->first, std::max(end, edit->first) - edit->first, text);
  }
  return whole + (has_heap ? kHeap : "") + text_of(kernel, signature, has_heap);
}

}  // namespace smemtune
