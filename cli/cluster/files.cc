#include "cli/cluster/files.h"

#include "protocol/error_codes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace gcoord::cli {
namespace {

namespace fs = std::filesystem;

Status in_the_way(const fs::path& path) {
  return protocol::make_error(
      protocol::ErrorCode::OptionInvalid,
      path.string() + " is there already, and nothing is written over; name another --dir");
}

Status unusable(const fs::path& path, int error) {
  return protocol::make_error(protocol::ErrorCode::DirectoryUnusable,
                              path.string() + ": " + std::strerror(error));
}

Status write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) {
      return unusable("node configuration", errno);
    }
    at += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  return ::fsync(file) == 0 ? Status{} : unusable("node configuration", errno);
}

// Only where there is nothing under this name, not even a link.
Status write_new(const fs::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) {
    return errno == EEXIST ? in_the_way(path) : unusable(path, errno);
  }
  const Status written = write_all(file, text);
  ::close(file);
  if (!written.ok()) {
    ::unlink(path.c_str());
  }
  return written;
}

Status check_data_directories(const ClusterPlan& plan) {
  for (const PlannedNode& node : plan.nodes) {
    std::error_code ignored;
    if (server::is_loopback(node.client) && fs::exists(node.data_dir, ignored) &&
        !fs::is_empty(node.data_dir, ignored)) {
      return in_the_way(node.data_dir);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<fs::path>> write_configurations(const ClusterPlan& plan,
                                                   const fs::path& directory) {
  GCOORD_TRY_STATUS(check_data_directories(plan));
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    return unusable(directory, errno);
  }
  std::vector<fs::path> written;
  for (const PlannedNode& node : plan.nodes) {
    const fs::path path = directory / ("node-" + std::to_string(node.id) + ".toml");
    const Status status = write_new(path, configuration_of(plan, node));
    if (!status.ok()) {
      for (const fs::path& each : written) {
        ::unlink(each.c_str());
      }
      return status;
    }
    written.push_back(path);
  }
  return written;
}

}  // namespace gcoord::cli
