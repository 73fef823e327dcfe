#include "security/secret/service_credential.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace gcoord::security {

bool is_service_credential(const std::string& path, const struct stat& file) {
  const char* const named = std::getenv("CREDENTIALS_DIRECTORY");
  if (named == nullptr || *named == '\0') {
    return false;
  }
  const std::filesystem::path folder = std::filesystem::path{named}.lexically_normal();

  struct stat made {};

  constexpr mode_t kChangedByOthers = S_IWGRP | S_IWOTH;
  const bool trusted = folder.is_absolute() && ::lstat(folder.c_str(), &made) == 0 &&
                       S_ISDIR(made.st_mode) && (made.st_mode & kChangedByOthers) == 0 &&
                       (made.st_uid == 0 || made.st_uid == ::geteuid());
  const bool inside = std::filesystem::path{path}.lexically_normal().parent_path() == folder;
  constexpr mode_t kNever = S_IWGRP | S_IXGRP | S_IRWXO;
  return trusted && inside && file.st_uid == 0 && file.st_gid == 0 && (file.st_mode & kNever) == 0;
}

}  // namespace gcoord::security
