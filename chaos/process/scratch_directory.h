// A fresh directory that goes away with its object, unless it is kept.
// Not thread-safe.
#pragma once

#include "common/status.h"

#include <filesystem>
#include <string_view>

namespace gcoord::chaos {

class ScratchDirectory {
 public:
  // Made inside `parent`, which is made too if absent; its name begins with `prefix`.
  static Result<ScratchDirectory> make(const std::filesystem::path& parent,
                                       std::string_view prefix);

  ~ScratchDirectory();
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Leaves it behind, for a person to look at.
  void keep() { kept_ = true; }

  bool kept() const { return kept_; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  bool kept_ = false;
};

// Where runs make their directories: in build/NAME when we stand in the repository, which is on a
// real disk; /tmp may be in memory, and then "durable" would be a word.
std::filesystem::path parent_of_runs(std::string_view name);

}  // namespace gcoord::chaos
