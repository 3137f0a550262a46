#include "reports/table.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/space_file.h"
#include "tuner/config/space_words.h"
#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/input_file.h"
#include "tuner/core/text.h"
#include "tuner/core/whole_file.h"
#include "tuner/init/copies.h"
#include "tuner/init/host_function.h"
#include "tuner/init/host_reader.h"
#include "tuner/init/macro_expansion.h"
#include "tuner/init/names.h"
#include "tuner/init/program_sources.h"
#include "tuner/init/space_draft.h"
#include "tuner/init/space_names.h"
#include "tuner/source/flat_source.h"
#include "tuner/source/kernel_file.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace smemtune::cli {
namespace {

namespace fs = std::filesystem;

struct InitOptions {
  std::filesystem::path source;      ///< The user's .cu file.
  std::filesystem::path output;      ///< Empty: the source's name with the extension .json.
  SourceSurroundings with;           ///< From -I and -D, and further files.
  std::vector<std::string> kernels;  ///< Empty: first_kernel(), and those with the same arguments.
  bool force = false;
};

/// Kernels that are either compared with each other or launched one after the other.
struct ChosenKernels {
  std::vector<std::string> names;
  bool together = false;
};

ChosenKernels launched_or_alike(const KernelFile& file, const std::string& kernel) {
  std::vector<std::string> launched = kernels_launched_with(file, kernel);
  if (!launched.empty()) return {.names = std::move(launched), .together = true};
  return {.names = computing_the_same(file, kernels_like(file, kernel))};
}

ChosenKernels kernels_to_take(const FlatSource& source, const KernelFile& file,
                              const InitOptions& options) {
  const KernelFunction* first = first_kernel(source, file);
  if (first == nullptr) {
    throw InputError(options.source.string() + ": has no __global__ function with a body");
  }
  if (options.kernels.empty()) return launched_or_alike(file, first->name);
  const std::vector<std::string> names = texts_of(file.kernels, &KernelFunction::name);
  for (const std::string& wanted : options.kernels) {
    if (std::ranges::find(names, wanted) == names.end()) {
      const std::string nearest = suggestion(wanted, names);
      throw InputError("--kernel: " + options.source.string() + " has no __global__ function " +
                       quote(wanted) + (nearest.empty() ? "; it has " + listed(names) : nearest));
    }
  }
  const std::vector<std::string> launched = kernels_launched_with(file, options.kernels.front());
  std::vector<std::string> named = launched;
  std::erase_if(named, is_copy);
  const bool together =
      options.kernels.size() > 1 && std::ranges::is_permutation(named, options.kernels);
  if (together) return {.names = launched, .together = true};
  const std::vector<std::string> alike = kernels_like(file, options.kernels.front());
  for (const std::string& wanted : options.kernels) {
    if (std::ranges::find(alike, wanted) != alike.end()) continue;
    throw InputError("--kernel: " + wanted + " takes other arguments than " +
                     options.kernels.front() +
                     (named.empty() ? "" : "; launched together are " + listed(named)));
  }
  return {.names = options.kernels};
}

/// Derives the name of a space from a file's name.
std::string space_name(const fs::path& file) {
  std::string name;
  for (const char c : file.stem().string()) {
    name += is_letter(c) || is_digit(c) ? c : '_';
  }
  if (name.empty() || is_digit(name.front())) name = "space_" + name;
  return name.substr(0, kMaxNameBytes);
}

void refuse_to_overwrite(const fs::path& file, bool force) {
  std::error_code error;
  if (force || !fs::exists(fs::symlink_status(file, error))) return;
  throw InputError(file.string() + ": exists already (--force overwrites it)");
}

std::string kernels_text(const KernelFile& file, const FlatSource& source,
                         const InitOptions& options, const std::set<std::string>& guard) {
  std::string text = "// The kernels of " + options.source.filename().string() +
                     ", written by smemtune init. This file is what is tuned: keep both in step.\n";
  if (!source.files.empty())
    text += "// Includes what they need of " + listed(source.files) + ".\n";
  if (!guard.empty()) {
    text += "// #ifndef around " + listed(std::vector<std::string>(guard.begin(), guard.end())) +
            " lets smemtune set them.\n";
  }
  // Programs get these from headers of the host that the kernels do not have.
  const auto misses = [&](bool is_floating) {
    return std::ranges::any_of(file.missing, [&](const MissingName& missing) {
      const bool is_its = missing.name.starts_with("FLT_") || missing.name.starts_with("DBL_");
      return is_limit(missing.name) && is_its == is_floating;
    });
  };
  if (misses(false)) text += "#include <climits>\n";
  if (misses(true)) text += "#include <cfloat>\n";
  return text + "\n" + file.device_text;
}

std::string signature_text(const FlatSource& source, const KernelFunction& kernel) {
  std::vector<std::string> templates;
  for (const TemplateParameter& parameter : kernel.template_parameters) {
    templates.push_back(parameter.name);
  }
  std::string text = kernel.name;
  if (!templates.empty()) text += "<" + listed(templates) + ">";
  text += ", " + source.place(kernel.line);
  for (const std::size_t line : kernel.other_lines) text += " or " + std::to_string(line);
  return text + ", " + std::to_string(kernel.parameters.size()) + " arguments";
}

/// The files to write.
struct Files {
  std::filesystem::path space;
  std::filesystem::path kernels;  ///< Beside the space file; empty if the source itself is tuned.
  std::string source;             ///< The name of the source in the space file.
};

Files files_of(const InitOptions& options, bool needs_copy) {
  Files files = {.space = options.output, .kernels = {}, .source = {}};
  if (files.space.empty()) files.space = fs::path(options.source).replace_extension(".json");
  const fs::path parent = files.space.has_parent_path() ? files.space.parent_path() : ".";
  std::error_code error;
  const fs::path folder = fs::canonical(parent, error);
  if (error) throw InputError(files.space.string() + ": there is no such folder");
  const fs::path source_folder = fs::canonical(options.source).parent_path();
  const fs::path beneath = source_folder.lexically_relative(folder);
  // Sources are looked for in the space file's folder and beneath it.
  if (needs_copy || beneath.empty() || *beneath.begin() == "..") {
    files.kernels =
        fs::path(files.space).replace_filename(files.space.stem().string() + "_kernel.cu");
    files.source = files.kernels.filename().string();
    if (fs::equivalent(files.kernels, options.source, error)) {
      throw InputError("--output: " + files.kernels.string() + " is the source itself");
    }
    refuse_to_overwrite(files.kernels, options.force);
  } else {
    files.source = (beneath / options.source.filename()).lexically_normal().generic_string();
  }
  refuse_to_overwrite(files.space, options.force);
  return files;
}

void say_kernels(const FlatSource& source, const KernelFile& file, const InitOptions& options,
                 const DraftRequest& request) {
  constexpr std::size_t kMost = 50;
  const std::vector<std::string>& taken = request.kernels;
  const std::string shown = options.source.string() + ": ";
  for (std::size_t i = 0; i < std::min(kMost, file.kernels.size()); ++i) {
    const KernelFunction& kernel = file.kernels[i];
    const bool is_taken = std::ranges::find(taken, kernel.name) != taken.end();
    const bool is_added =
        is_copy(kernel.name) || (request.witness && kernel.name == request.witness->kernel_name);
    if (is_added) continue;  // It has no line in any file of the user's.
    write_out(shown + signature_text(source, kernel) +
              (is_taken                  ? "\n"
               : options.kernels.empty() ? ": not taken (--kernel)\n"
                                         : ": not taken\n"));
  }
  if (file.kernels.size() > kMost) {
    write_out(shown + std::to_string(file.kernels.size() - kMost) + " more kernels: not shown\n");
  }
  if (request.together) {
    write_out(
        "the host launches them one after the other: they are one kernel with \"launches\" "
        "(--kernel "
        "takes one by itself)\n");
  } else if (taken.size() > 1 && options.kernels.empty()) {
    write_out("all are compared with " + taken.front() +
              ": remove from the space those that compute something else, or name those to take "
              "(--kernel)\n");
  }
  for (const auto& [header, place] : source.elsewhere) {
    write_out(shown + "#include " + header + " is " +
              place.lexically_proximate(fs::current_path()).string() + "\n");
  }
  for (const std::string& header : source.missing) {
    write_out(shown + "#include " + header + " is not found, so what it declares is not known\n");
  }
  for (const MissingName& missing : file.missing) {
    if (!missing.is_type) continue;
    write_out(shown + source.place(missing.line) + " uses the type " + quote(missing.name) +
              ", which nothing here declares\n");
  }
  for (const std::string& texture : file.texture_references) {
    write_out(shown + "texture reference " + quote(texture) +
              ": CUDA 12 removed these; pass a cudaTextureObject_t\n");
  }
}

void say_left_out(const FlatSource& source, const KernelFile& file, const InitOptions& options) {
  constexpr std::size_t kMost = 50;
  for (std::size_t i = 0; i < std::min(kMost, file.left_out.size()); ++i) {
    const LeftOut& left = file.left_out[i];
    // The user's source has no line of the kernels that init adds to it.
    if (!source.is_of_source(left.first_line) || is_copy(left.what)) continue;
    write_out(options.source.string() + ", " + source.places(left.first_line, left.last_line) +
              ": left out: " + left.what + "\n");
  }
}

void say_draft(const SpaceDraft& draft) {
  Table table({"name", "role", "shape or value", "from", ""});
  for (const DraftedArgument& row : draft.arguments) {
    table.add_row({row.name, row.role, row.shape, row.said_by.empty() ? "the kernel" : row.said_by,
                   row.is_guess ? "a guess" : ""});
  }
  write_out(table.text("  "));
  for (const std::string& launch : draft.launches) write_out("  " + launch + "\n");
}

/// Returns the surroundings that are asked for; with the other sources of the program where no
/// further files are named.
SourceSurroundings surroundings_of(const InitOptions& options) {
  SourceSurroundings with = options.with;
  if (with.further.empty() && fs::exists(options.source)) {
    with.further = program_sources(options.source);
  }
  return with;
}

void add_init_options(CLI::App& app, InitOptions& options) {
  app.add_option("source", options.source, "A .cu file with the kernel")
      ->required()
      ->type_name("FILE");
  add_value(app, "further", options.with.further,
            "More sources: files that launch its kernels, or hold host functions to compare with",
            "FILES");
  add_value(app, "-I", options.with.folders, "Folder to look for headers in; may be repeated",
            "FOLDER")
      ->expected(1)
      ->take_all();
  add_repeatable(app, "-D", options.with.macros,
                 "Macro that the source is compiled with; may be repeated", "NAME=VALUE");
  add_value(app, "-o,--output", options.output,
            "Space file to write [the source's name with .json]", "FILE");
  add_value(app, "--kernel", options.kernels,
            "A __global__ function to tune; may be repeated, the first is the reference [the "
            "first that the source launches, and those that take the same arguments]",
            "NAME");
  app.add_flag("--force", options.force, "Overwrite files that exist");
}

/// Writes a space file for a source, and a separate file of its kernels if the source contains
/// anything else. Returns 0. Throws InputError.
int run_init(const InitOptions& options) {
  const fs::path share = share_folder();  // If it is missing, nothing is written.
  const SourceSurroundings with = surroundings_of(options);
  FlatSource source = read_flat_source(options.source, with);
  const std::string as_written = source.text;
  source = with_kernel_macros_expanded(std::move(source));
  const bool is_expanded = source.text != as_written;
  const std::string without_copies = source.text;
  source = with_copy_kernels(std::move(source));
  KernelFile all = read_kernel_file(source);
  const HostPart host = read_host(source);
  add_host(host, all);
  const auto [kernels, together] = kernels_to_take(source, all, options);
  const bool copies = std::ranges::any_of(kernels, is_copy);
  if (!copies) source.text = without_copies;
  std::set<std::string> only(kernels.begin(), kernels.end());
  DraftRequest request = {.name = {},
                          .written_from = options.source.filename().string(),
                          .source = {},
                          .kernels = kernels,
                          .together = together};
  const KernelFunction launched = as_launched(all, request);
  const std::optional<HostFunction> witness =
      host_function_for(source.text, launched, all, launch_of(all, request));
  if (witness) {
    source.text = witness->source;
    only.insert(witness->kernel_name);
  }
  KernelFile file = read_kernel_file(source, {}, only);
  add_host(host, file);

  std::set<std::string> guard;
  for (const auto& numbers : {tunable_numbers(file), problem_numbers(file)}) {
    for (const NamedNumber& number : numbers) {
      if (!number.is_guarded) guard.insert(number.name);
    }
  }
  const bool needs_parts = witness || is_expanded || !guard.empty() || copies ||
                           !source.elsewhere.empty() ||
                           std::ranges::any_of(file.left_out, &LeftOut::is_hosts);
  const Files files = files_of(options, needs_parts);
  const bool needs_copy = !files.kernels.empty();
  request.name = space_name(files.space);
  request.source = files.source;
  request.witness = witness;
  request.may_leave_out = options.kernels.empty();
  const SpaceDraft draft = draft_space(source, file, request);
  if (needs_copy) {
    KernelFile guarded = read_kernel_file(source, guard, only);
    guarded.missing = file.missing;
    write_whole_file(files.kernels, kernels_text(guarded, source, options, guard));
  }
  write_whole_file(files.space, draft.text);

  request.kernels = draft.kernels;
  say_kernels(source, file, options, request);
  if (options.with.further.empty() && !with.further.empty()) {
    write_out(
        "of the same program, and read as well: " +
        joined(with.further, ", ", [](const fs::path& one) { return one.filename().string(); }) +
        "\n");
  }
  if (needs_copy) say_left_out(source, file, options);
  if (needs_copy)
    write_out("wrote " + files.kernels.string() + ", the kernels without host code\n");
  const std::vector<std::string> faults = check_space(files.space, share);
  write_out("wrote " + files.space.string() + (faults.empty() ? ":\n" : ", to be completed:\n"));
  say_draft(draft);
  if (draft.has_witness) {
    write_out("  " + witness->said() + ", " + source.place(witness->line) +
              ", gives the expected results of small problems: " + witness->kernel_name +
              ", which init adds, calls it\n");
  }
  // Who names kernels knows what is left out.
  const std::vector<std::string> left_out = options.kernels.empty()
                                                ? left_out_around(source, file, request.kernels)
                                                : std::vector<std::string>();
  for (const std::string& line : left_out) write_out("  " + line + "\n");
  for (const std::string& fault : faults) write_out("  " + fault + "\n");
  const std::string next = !faults.empty() ? "then: smemtune --check "
                           : !left_out.empty()
                               ? "then: complete it, or take kernels by themselves (--kernel): "
                           : draft.has_guesses ? "then: look at what is a guess in "
                                               : "next: smemtune --space ";
  write_out(next + files.space.string() + "\n");
  return 0;
}

}  // namespace

void add_init_command(Commands& commands) {
  commands.add<InitOptions>("init", "Write a space file for your own kernel, for you to complete",
                            add_init_options, run_init);
}

}  // namespace smemtune::cli
