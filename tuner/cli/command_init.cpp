#include "tuner/cli/command_init.h"

#include "db/export_json.h"
#include "tuner/cli/options.h"
#include "tuner/config/space_file.h"
#include "tuner/config/space_words.h"
#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/text.h"
#include "tuner/core/text_file.h"
#include "tuner/init/space_draft.h"
#include "tuner/source/kernel_file.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

namespace smemtune::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSourceBytes = 4u << 20;

/// The files that the source includes by #include "..." and that lie beside it.
std::map<std::string, std::string> headers_beside(const fs::path& source, const std::string& text) {
  std::map<std::string, std::string> headers;
  for (const std::string& name : quoted_includes(text)) {
    const fs::path header = source.parent_path() / name;
    std::error_code error;
    if (fs::is_regular_file(header, error)) headers[name] = read_text(header, kMaxSourceBytes);
  }
  return headers;
}

std::vector<std::string> chosen_kernels(const KernelFile& file, const InitOptions& options) {
  if (file.kernels.empty()) {
    throw InputError(options.source.string() + ": has no __global__ function with a body");
  }
  if (options.kernels.empty()) return kernels_like(file, file.kernels.front().name);
  std::vector<std::string> names;
  for (const KernelFunction& kernel : file.kernels) names.push_back(kernel.name);
  for (const std::string& wanted : options.kernels) {
    if (std::ranges::find(names, wanted) == names.end()) {
      const std::string nearest = suggestion(wanted, names);
      throw InputError("--kernel: " + options.source.string() + " has no __global__ function " +
                       quote(wanted) + (nearest.empty() ? "; it has " + listed(names) : nearest));
    }
    const std::vector<std::string> alike = kernels_like(file, options.kernels.front());
    if (std::ranges::find(alike, wanted) == alike.end()) {
      throw InputError("--kernel: " + wanted + " takes other arguments than " +
                       options.kernels.front());
    }
  }
  return options.kernels;
}

/// A name of a space, made of a file's.
std::string space_name(const fs::path& file) {
  std::string name;
  for (const char c : file.stem().string()) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    name += is_letter || (c >= '0' && c <= '9') ? c : '_';
  }
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) name = "space_" + name;
  return name.substr(0, kMaxNameBytes);
}

void refuse_to_overwrite(const fs::path& file, bool force) {
  std::error_code error;
  if (force || !fs::exists(fs::symlink_status(file, error))) return;
  throw InputError(file.string() + ": is there already (--force writes over it)");
}

std::string kernels_text(const KernelFile& file, const InitOptions& options,
                         const std::set<std::string>& guard) {
  std::string text = "// The kernels of " + options.source.filename().string() +
                     ", written by smemtune init. This file is what is tuned: keep both in step.\n";
  if (!guard.empty()) {
    text += "// #ifndef around " + listed(std::vector<std::string>(guard.begin(), guard.end())) +
            " lets values be handed over.\n";
  }
  return text + "\n" + file.device_text;
}

std::string signature_text(const KernelFunction& kernel) {
  std::vector<std::string> templates;
  for (const TemplateParameter& parameter : kernel.template_parameters) {
    templates.push_back(parameter.name);
  }
  std::string text = kernel.name;
  if (!templates.empty()) text += "<" + listed(templates) + ">";
  text += ", line " + std::to_string(kernel.line);
  for (const std::size_t line : kernel.other_lines) text += " or " + std::to_string(line);
  return text + ", " + std::to_string(kernel.parameters.size()) + " arguments";
}

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

void add_init_options(CLI::App& app, InitOptions& options) {
  app.add_option("source", options.source, "A .cu file with the kernel")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", options.output,
                 "Space file to write [the source's name with .json]")
      ->type_name("FILE");
  app.add_option("--kernel", options.kernels,
                 "A __global__ function to tune; may be repeated, the first is the reference [the "
                 "first of the file, and those that take the same arguments]")
      ->type_name("NAME");
  app.add_flag("--force", options.force, "Write over files that are there");
}

int run_init(const InitOptions& options) {
  const std::string text = read_text(options.source, kMaxSourceBytes);
  const std::map<std::string, std::string> headers = headers_beside(options.source, text);
  const KernelFile all = read_kernel_file(text, headers);
  const std::vector<std::string> kernels = chosen_kernels(all, options);
  const std::set<std::string> only(kernels.begin(), kernels.end());
  const KernelFile file = read_kernel_file(text, headers, {}, only);

  fs::path output = options.output;
  if (output.empty()) output = fs::path(options.source).replace_extension(".json");
  std::error_code error;
  const fs::path folder =
      fs::canonical(output.has_parent_path() ? output.parent_path() : ".", error);
  if (error) throw InputError(output.string() + ": there is no such folder");
  const fs::path source_folder = fs::canonical(options.source).parent_path();
  const fs::path beneath = source_folder.lexically_relative(folder);
  if (beneath.empty() || *beneath.begin() == "..") {
    throw InputError(
        "--output: sources are looked for in the space file's folder and beneath it, "
        "so it must lie in " +
        source_folder.string() + " or above");
  }

  DraftRequest request = {.name = space_name(output),
                          .written_from = options.source.filename().string(),
                          .source = {},
                          .kernels = kernels};
  std::set<std::string> guard;
  for (const auto& numbers : {tunable_numbers(file), problem_numbers(file)}) {
    for (const NamedNumber& number : numbers) {
      if (!number.is_guarded) guard.insert(number.name);
    }
  }
  const bool needs_copy = !file.left_out.empty() || !guard.empty();
  fs::path source = options.source;
  if (needs_copy) {
    source.replace_filename(options.source.stem().string() + "_kernel.cu");
    refuse_to_overwrite(source, options.force);
  }
  refuse_to_overwrite(output, options.force);
  request.source = (beneath / source.filename()).lexically_normal().generic_string();

  if (needs_copy) {
    db::write_whole_file(
        source, kernels_text(read_kernel_file(text, headers, guard, only), options, guard));
  }
  db::write_whole_file(output, draft_space(file, request));

  for (const KernelFunction& kernel : file.kernels) {
    const bool is_taken = std::ranges::find(request.kernels, kernel.name) != request.kernels.end();
    say(options.source.string() + ": " + signature_text(kernel) +
        (is_taken                  ? "\n"
         : options.kernels.empty() ? ": not taken, for it has other arguments (--kernel)\n"
                                   : ": not taken\n"));
  }
  if (request.kernels.size() > 1 && options.kernels.empty()) {
    say("all are compared with " + request.kernels.front() +
        ": remove from the space those that compute something else, or name those to take "
        "(--kernel)\n");
  }
  for (const LeftOut& left : file.left_out) {
    const bool one = left.first_line == left.last_line;
    say(options.source.string() + ":" + std::to_string(left.first_line) +
        (one ? "" : "-" + std::to_string(left.last_line)) + ": left out: " + left.what + "\n");
  }
  if (needs_copy) say("wrote " + source.string() + ", the kernels by themselves\n");
  const std::vector<std::string> faults = check_space(output, share_folder());
  say("wrote " + output.string() + ", to be completed:\n");
  for (const std::string& fault : faults) say("  " + fault + "\n");
  say((faults.empty() ? "next: smemtune --space " : "then: smemtune --check ") + output.string() +
      "\n");
  return 0;
}

}  // namespace smemtune::cli
