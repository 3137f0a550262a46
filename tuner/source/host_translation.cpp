#include "tuner/source/host_translation.h"

#include "tuner/source/cpp_tokens.h"
#include "tuner/source/directive.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace smemtune {

namespace {

class FileTranslator {
 public:
  FileTranslator(const KernelSource::File& file, int number)
      : file_(file), number_(number), tokens_(cpp_tokens(file.text)) {}

  KernelSource::File translated() {
    for (std::size_t i = 0; i < tokens_.size() && unsupported_.empty();) i = next(i);
    text_ += file_.text.substr(copied_);
    return {.name = file_.name, .text = text_};
  }

  const std::string& inline_ptx() const { return inline_ptx_; }
  const std::string& unsupported() const { return unsupported_; }

 private:
  std::string place(std::size_t i) const {
    return file_.name + ":" + std::to_string(tokens_[i].line);
  }

  std::size_t refuse(std::size_t i, const std::string& what) {
    unsupported_ = what + ", " + place(i);
    return tokens_.size();
  }

  std::size_t next(std::size_t i) {
    const CppToken& token = tokens_[i];
    if (token.kind == CppToken::Kind::directive) return directive(i);
    if (token.is("{")) braces_.push_back(opens_function(i));
    if (token.is("}") && !braces_.empty()) braces_.pop_back();
    if (token.kind != CppToken::Kind::word) return i + 1;
    if (is_assembly(token)) return assembly(i);
    if (token.is("__cluster_dims__")) return refuse(i, "thread block clusters");
    if (token.is("__shared__")) return shared_declaration(i);
    return i + 1;
  }

  std::size_t directive(std::size_t i) {
    const Directive found = directive_of(tokens_[i]);
    const std::string header = found.name == "include" ? included(found) : "";
    if (!header.empty() && is_missing(std::string_view(header).substr(1, header.size() - 2))) {
      return refuse(i, "<" + header.substr(1, header.size() - 2) + ">");
    }
    if (found.name != "define") return i + 1;
    const std::size_t begin = tokens_[i].begin + 1;  // Behind the #.
    const CppTokens inside =
        cpp_tokens(std::string_view(file_.text).substr(begin, tokens_[i].text.size() - 1));
    for (std::size_t j = 0; j < inside.size(); ++j) {
      if (inside[j].is("__shared__")) return refuse(i, "__shared__ in a macro");
      if (!is_assembly(inside[j])) continue;
      const std::size_t close = end_of_assembly(inside, j);
      if (close == kNoToken) return refuse(i, "inline PTX");
      if (inline_ptx_.empty()) inline_ptx_ = place(i);
      replace(begin + inside[j].begin, begin + inside[close].end(), kInlinePtx, "\\\n");
      j = close;
    }
    return i + 1;
  }

  /// Returns true for headers of the toolkit that the CPU device has no replacement for.
  static bool is_missing(std::string_view header) {
    static constexpr std::array<std::string_view, 9> kMissing = {
        "mma.h",   "cooperative_groups/", "cuda/", "cub/", "cute/", "nv/", "cutlass/",
        "thrust/", "cuda_awbarrier"};
    return header != "cooperative_groups/reduce.h" &&
           std::ranges::any_of(kMissing,
                               [&](std::string_view prefix) { return header.starts_with(prefix); });
  }

  /// Returns true if the brace begins a block of statements, not a namespace or a class.
  bool opens_function(std::size_t brace) const {
    if (!braces_.empty() && braces_.back()) return true;
    for (std::size_t i = brace; i-- > 0;) {
      const CppToken& token = tokens_[i];
      if (token.kind == CppToken::Kind::directive || token.is(";", "{", "}", ")")) {
        return true;
      }
      if (token.is("namespace", "class", "struct", "union", "enum", "extern")) {
        return false;
      }
    }
    return true;
  }

  static bool is_assembly(const CppToken& token) { return token.is("asm", "__asm__", "__asm"); }

  /// Returns the ) of the assembly that begins at token i, or kNoToken.
  static std::size_t end_of_assembly(const CppTokens& tokens, std::size_t i) {
    std::size_t open = i + 1;
    while (open < tokens.size() && tokens[open].is_word()) ++open;
    if (open >= tokens.size() || !tokens[open].is("(")) return kNoToken;
    const std::size_t close = closing(tokens, open);
    return close < tokens.size() ? close : kNoToken;
  }

  std::size_t assembly(std::size_t first) {
    const std::size_t close = end_of_assembly(tokens_, first);
    if (close == kNoToken) return refuse(first, "inline PTX");
    if (inline_ptx_.empty()) inline_ptx_ = place(first);
    replace(tokens_[first].begin, tokens_[close].end(), kInlinePtx, "\n");
    return close + 1;
  }

  /// A declaration of __shared__ variables.
  struct Shared {
    struct Variable {
      std::string name;
      std::string dimensions;  ///< `[N][M]`
    };
    std::size_t first = 0;  ///< Tokens from here...
    std::size_t end = 0;    ///< ... up to its `;`.
    bool is_dynamic = false;
    std::string type;
    std::string alignment;
    std::vector<Variable> variables;
  };

  std::size_t shared_declaration(std::size_t keyword) {
    Shared shared;
    read_before(keyword, shared);
    if (const std::string fault = find_end(keyword, shared); !fault.empty()) {
      return refuse(keyword, fault);
    }
    const std::size_t last = read_variables(keyword, shared);
    if (last == kNoToken || !read_type(keyword, last, shared)) {
      return refuse(keyword, "a __shared__ declaration of this form");
    }
    replace(tokens_[shared.first].begin, tokens_[shared.end].end(), references(shared), "\n");
    return shared.end + 1;
  }

  /// Reads the words before the keyword.
  void read_before(std::size_t keyword, Shared& shared) const {
    std::size_t first = keyword;
    for (; first > 0; --first) {
      const CppToken& before = tokens_[first - 1];
      if (before.is("extern")) {
        shared.is_dynamic = true;
      } else if (before.is("volatile", "const")) {
        shared.type += std::string(before.text) + " ";
      } else if (before.is(")")) {
        const std::size_t open = opening(tokens_, first - 1);
        if (open == kNoToken || open == 0 || !is_alignment(tokens_[open - 1])) break;
        shared.alignment += "alignas" + joined(tokens_, {open, first}) + " ";
        first = open;
      } else if (!before.is("static") && !before.is("__device__")) {
        break;
      }
    }
    shared.first = first;
  }

  /// Returns the error; empty if there is none.
  std::string find_end(std::size_t keyword, Shared& shared) const {
    std::size_t end = keyword + 1;
    for (; end < tokens_.size() && !tokens_[end].is(";"); ++end) {
      if (tokens_[end].is("{", "}")) {
        return "a __shared__ variable of a type without a name";
      }
      if (tokens_[end].is("(", "[")) end = closing(tokens_, end);
    }
    shared.end = end;
    return end < tokens_.size() ? "" : "a __shared__ declaration without an end";
  }

  /// Reads from the right: NAME [N] [M], NAME [N], ..., until only the type is left. Returns the
  /// end of the type, or kNoToken.
  std::size_t read_variables(std::size_t keyword, Shared& shared) const {
    for (std::size_t last = shared.end;;) {
      std::size_t name = last - 1;
      while (name > keyword && tokens_[name].is("]")) {
        name = opening(tokens_, name);
        if (name == kNoToken || name <= keyword) return kNoToken;
        --name;
      }
      if (name <= keyword + 1 || !tokens_[name].is_word()) return kNoToken;
      shared.variables.insert(shared.variables.begin(),
                              {std::string(tokens_[name].text), joined(tokens_, {name + 1, last})});
      if (!tokens_[name - 1].is(",")) return name;
      last = name - 1;
    }
  }

  /// Reads the words between the keyword and the first variable.
  bool read_type(std::size_t keyword, std::size_t last, Shared& shared) const {
    for (std::size_t i = keyword + 1; i < last; ++i) {
      const CppToken& token = tokens_[i];
      if (token.is("extern")) {
        shared.is_dynamic = true;
      } else if (is_alignment(token) && i + 1 < last && tokens_[i + 1].is("(")) {
        const std::size_t close = closing(tokens_, i + 1);
        if (close >= last) return false;
        shared.alignment += "alignas" + joined(tokens_, {i + 1, close + 1}) + " ";
        i = close;
      } else if (!token.is("static")) {
        shared.type += token.text;
        if (i + 1 == last || tokens_[i + 1].begin > token.end()) shared.type += " ";
      }
    }
    return !shared.type.empty();
  }

  std::string references(const Shared& shared) {
    // Outside functions the address is found when an OS thread first asks for it, and never
    // changes.
    const bool in_function = !braces_.empty() && braces_.back();
    const std::string reference = in_function ? "auto& " : "static thread_local auto& ";
    std::string text;
    for (const Shared::Variable& variable : shared.variables) {
      const std::string type = shared.type + variable.dimensions;
      if (shared.is_dynamic) {
        text += reference + variable.name + " = ::smemtune::dynamic_shared<" + type + ">(); ";
        continue;
      }
      const std::string tag =
          "smemtune_shared_" + std::to_string(number_) + "_" + std::to_string(declared_++);
      text += "struct " + shared.alignment + tag +
              " { static constexpr const char* name() { return \"" + variable.name + "\"; } }; " +
              reference + variable.name + " = ::smemtune::shared<" + type + ", " + tag + ">(); ";
    }
    return text;
  }

  static bool is_alignment(const CppToken& token) { return token.is("alignas", "__align__"); }

  /// Replaces the characters `begin` to `end` - 1 by `text` and as many line ends as they had.
  void replace(std::size_t begin, std::size_t end, std::string_view text,
               std::string_view line_end) {
    text_ += file_.text.substr(copied_, begin - copied_);
    text_ += text;
    for (std::size_t i = begin; i < end; ++i) {
      if (file_.text[i] == '\n') text_ += line_end;
    }
    copied_ = end;
  }

  static constexpr std::string_view kInlinePtx = "smemtune_inline_ptx()";

  const KernelSource::File& file_;
  int number_;
  const CppTokens tokens_;
  std::vector<bool> braces_;  ///< For each open brace, whether statements stand in it.
  std::string text_;
  std::size_t copied_ = 0;  ///< How much of the source has been copied to text_.
  int declared_ = 0;
  std::string inline_ptx_;
  std::string unsupported_;
};

}  // namespace

HostTranslation translate_for_host(const KernelSource& source) {
  HostTranslation translation;
  int number = 0;
  for (const KernelSource::File& file : source.files) {
    FileTranslator translator(file, number++);
    translation.source.files.push_back(translator.translated());
    if (translation.inline_ptx.empty()) translation.inline_ptx = translator.inline_ptx();
    if (translation.unsupported.empty()) translation.unsupported = translator.unsupported();
  }
  return translation;
}

}  // namespace smemtune
