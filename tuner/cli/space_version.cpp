#include "tuner/cli/space_version.h"

#include "tuner/backend/cpu/child_process.h"
#include "tuner/cli/options.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <filesystem>
#include <utility>
#include <vector>

namespace smemtune::cli {
namespace {

/// Folder of kernels that several space files use.
constexpr const char* kTemplates = "kernel_templates";

class Checkout {
 public:
  explicit Checkout(const std::string& given)
      : given_(given), folder_(std::make_unique<TemporaryFolder>()) {}

  SpaceVersion load() {
    const std::size_t colon = given_.find(':');
    const std::string root = git({"rev-parse", "--show-toplevel"});
    const std::string revision = git({"rev-parse", "--verify", "--quiet", "--end-of-options",
                                      given_.substr(0, colon) + "^{commit}"},
                                     "there is no such revision");
    const std::filesystem::path path = from_root(given_.substr(colon + 1));
    git({"cat-file", "-e", revision + ":" + path.string()},
        "the revision has no such file (the path counts from the repository's root, with ./ from "
        "here)");
    const std::filesystem::path tree = folder_->path() / "tree";
    std::filesystem::create_directory(tree);
    const std::filesystem::path archive = folder_->path() / "tree.tar";
    std::vector<std::string> words = {
        "-C",           root, "archive",
        "--format=tar", "-o", archive,
        revision,       "--", path.has_parent_path() ? path.parent_path().string() : "."};
    const bool has_templates = !git({"-C", root, "ls-tree", revision, kTemplates}).empty();
    if (has_templates) words.emplace_back(kTemplates);
    git(words);
    run({"tar", "-xf", archive, "-C", tree}, "");
    SpaceVersion version;
    version.name = given_;
    version.loaded = load_space(tree / path, has_templates ? tree : share_folder());
    version.folder = std::move(folder_);
    return version;
  }

 private:
  std::filesystem::path from_root(const std::filesystem::path& path) {
    const bool from_here = path.string().starts_with("./") || path.string().starts_with("../");
    if (!from_here) return path.lexically_normal();
    return (git({"rev-parse", "--show-prefix"}) / path).lexically_normal();
  }

  std::string git(std::vector<std::string> words, const std::string& otherwise = "") {
    const std::string here = std::filesystem::current_path();
    words.insert(words.begin(), {"git", "-C", here});
    return run(words, otherwise);
  }

  /// Returns a command's output without the final newline. `otherwise`: the message if it fails.
  std::string run(const std::vector<std::string>& words, const std::string& otherwise) {
    const cpu::ChildResult result = cpu::run_child(words, folder_->path());
    if (result.status == 0) return trimmed(result.output);
    if (result.status == cpu::kNotFound) {
      throw InputError(given_ + ": no such file, and no " + words.front() +
                       " on the PATH to look for a revision");
    }
    throw InputError(given_ + ": no such file, and as a revision's: " +
                     (otherwise.empty() ? trimmed(result.output) : otherwise));
  }

  std::string given_;
  std::unique_ptr<TemporaryFolder> folder_;
};

}  // namespace

SpaceVersion load_version(const std::string& given) {
  const bool is_file = std::filesystem::exists(given);
  if (!is_file && given.find(':') != std::string::npos) return Checkout(given).load();
  SpaceVersion version;
  version.name = given;
  version.loaded = load_space(find_space(given), share_folder());
  return version;
}

}  // namespace smemtune::cli
