#pragma once

#include "tuner/init/kernel_parameters.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// How a kernel is launched, in the names of the space; what the block needs becomes a parameter.
/// Refers to what it is made of.
class LaunchShapeDraft {
 public:
  LaunchShapeDraft(const LaunchedKernel& of, DraftedParameters& chosen)
      : of_(of), chosen_(chosen) {}

  /// Extents from x on: as the host has them, by what the kernel tells, or a TODO.
  Json block();

  /// Blocks from x on, each as the host has it where that can be said in our names, or a TODO.
  Json grid(const Json& block);

  /// A text of the host's at this launch; nullopt where it has names that are none here.
  std::optional<std::string> in_our_names(const std::string& text, const Json& block) const;

 private:
  /// Whether an expression of the source has a value here, too.
  bool is_known(const std::string& text) const;
  /// The host's texts, with the extents of `block` for what the host calls the block.
  HostTerms terms(const Json& block) const;
  /// As the host has it: each of its texts is one extent, so that one number for two dimensions
  /// stays one. Nullopt where one of them is not known.
  std::optional<Json> block_of_host();
  std::optional<Json> extent_of_host(std::size_t i);
  /// Whether all threads along it do the same, over and over.
  bool ignores_dimension(std::size_t i) const;
  /// The parameter that by its name and its default is the block's extent; empty: none or several.
  std::string parameter_of_extent(std::int64_t number) const;
  /// What the host calls dimension i of the block.
  std::string variable_of_block(std::size_t i) const;
  /// Whether another number of threads than the host's is worth a try: the kernel reads the block's
  /// size, the host does not insist on this one, and the grid follows it where it has to.
  bool is_free(std::size_t i, std::int64_t number) const;
  /// Whether the grid's dimension i has the block's variable or its number in it.
  bool grid_follows(std::size_t i, std::int64_t number) const;
  /// A parameter for the block's dimension i, by itself.
  std::string add_extent(std::size_t i, Json values, std::int64_t value);
  std::string add_parameter_of_block(const std::string& base, const Json& values,
                                     std::int64_t value);
  /// A parameter for each variable in a text for which the host tries several values.
  void add_choices(const std::string& text, int depth = 0);
  Json block_of_bounds() const;
  /// The block by parameters whose names say that they are its extents; empty where not all of
  /// its dimensions have one.
  Json named_block();
  /// The kernel reads its block's size, and nothing says how large it is.
  Json guessed_block();
  /// A parameter that is called so, or how far a shared array, row by row, reaches.
  std::string proposed_block(std::size_t i) const;
  /// What the host has in dimension i; all of it where it does not say one by one.
  std::string launched_with(const std::vector<std::string>& texts, std::size_t i) const;
  /// The block's number, where the host has it in the grid as a literal, becomes its parameter.
  std::optional<std::string> grid_of_host(const std::string& text, std::size_t i,
                                          const Json& block) const;
  std::string proposed_grid(const std::vector<std::string>& texts, std::size_t i,
                            const Json& block) const;
  /// How far the problem reaches in dimension i, as far as the kernel's comparisons and names tell.
  std::string size_of_axis(std::size_t i) const;

  const LaunchedKernel& of_;
  DraftedParameters& chosen_;
  std::vector<std::pair<std::string, std::string>> tried_;  ///< Variable of the host, parameter.
};

/// An extent, which may be a number.
std::string extent_text(const Json& extent);

}  // namespace smemtune
