#include "chaos/process/scratch_directory.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace gcoord::chaos {

Result<ScratchDirectory> ScratchDirectory::make(const std::filesystem::path& parent,
                                                std::string_view prefix) {
  std::error_code failed;
  std::filesystem::create_directories(parent, failed);
  std::string pattern = (parent / (std::string{prefix} + "-XXXXXX")).string();
  if (failed || ::mkdtemp(pattern.data()) == nullptr) {
    return Status{StatusCode::Unavailable,
                  "no directory can be made in " + parent.string() + ": " +
                      (failed ? failed.message() : std::strerror(errno))};
  }
  return ScratchDirectory{std::filesystem::path{pattern}};
}

ScratchDirectory::~ScratchDirectory() {
  if (!path_.empty() && !kept_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), kept_(other.kept_) {}

std::filesystem::path parent_of_runs(std::string_view name) {
  std::error_code ignored;
  return std::filesystem::is_directory("build", ignored)
             ? std::filesystem::absolute(std::filesystem::path{"build"} / name, ignored)
             : std::filesystem::temp_directory_path(ignored);
}

}  // namespace gcoord::chaos
