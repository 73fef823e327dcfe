#include "ledger/directory/real_directory.h"

#include "ledger/base/error_details.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace gcoord::ledger {
namespace {

// lstat of "DIR/" would follow the link.
std::string without_slashes(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  return last == std::string::npos ? path : path.substr(0, last + 1);
}

}  // namespace

Result<std::string> real_directory(const std::string& path) {
  const std::string named = without_slashes(path);

  struct stat link {};

  if (::lstat(named.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) {
    return path;
  }
  if (link.st_uid != ::geteuid() && link.st_uid != 0) {
    return Status{StatusCode::FailedPrecondition,
                  "the data directory " + named +
                      " is a link that another user has made; give the directory itself",
                  kDirectoryPermissions};
  }
  const std::unique_ptr<char, decltype(&std::free)> real{::realpath(named.c_str(), nullptr),
                                                         &std::free};
  if (real == nullptr) {
    return Status{StatusCode::Unavailable,
                  "the data directory " + named + " is a link that leads nowhere: " +
                      std::strerror(errno) + "; make the directory, or correct the link",
                  kDirectoryUnusable};
  }
  return std::string{real.get()};
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return path;
}

bool is_taken(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

}  // namespace gcoord::ledger
