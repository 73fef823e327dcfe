#include "server/resident/links/socket_folder.h"

#include "common/assert.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace gcoord::server {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

// What precedes the path, as it travels.
struct Wire {
  std::byte kind = kSocketFolderKind;
  std::uint8_t reserved[3] = {};
  std::uint32_t owner = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

static_assert(sizeof(Wire) == 24);

Status unusable(const std::string& path, const std::string& why) {
  return {StatusCode::FailedPrecondition, "no folder for sockets: " + path + " " + why};
}

struct Opened {
  netcore::OwnedFd fd;
  SocketFolder is;  // What was found there.
};

Result<Opened> open_own(const std::string& path) {
  Opened opened{
      netcore::OwnedFd{::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)}, {}};

  struct stat found {};

  if (!opened.fd.valid() || ::fstat(opened.fd.get(), &found) != 0) {
    return Status{StatusCode::Unavailable,
                  "no folder for sockets: " + path + ": " + std::generic_category().message(errno)};
  }
  if (found.st_uid != ::geteuid() || (found.st_mode & kOthers) != 0) {
    return unusable(path, "is not of this user alone (mode 0700)");
  }
  opened.is = {path, found.st_dev, found.st_ino, found.st_uid};
  return opened;
}

}  // namespace

bool operator==(const SocketFolder& a, const SocketFolder& b) {
  return a.path == b.path && a.device == b.device && a.inode == b.inode && a.owner == b.owner;
}

Result<SocketFolder> find_socket_folder(const std::string& path) {
  std::error_code failed;
  const std::string absolute = std::filesystem::absolute(path, failed).string();
  if (failed || absolute.size() > kSocketFolderPathMax) {
    return unusable(path, "has no path that peers could be told");
  }
  GCOORD_TRY(const Opened opened, open_own(absolute));
  return opened.is;
}

Result<netcore::OwnedFd> open_socket_folder(const SocketFolder& folder) {
  if (folder.path.empty()) {
    return unusable("it", "has none");
  }
  GCOORD_TRY(Opened opened, open_own(folder.path));
  if (!(opened.is == folder)) {
    return unusable(folder.path, "is another one here");
  }
  return std::move(opened.fd);
}

std::string socket_path(const netcore::OwnedFd& folder, NodeId caller) {
  return "/proc/self/fd/" + std::to_string(folder.get()) + "/turn-" + std::to_string(caller.value) +
         ".sock";
}

std::vector<std::byte> write_socket_folder(const SocketFolder& folder) {
  GCOORD_ASSERT(!folder.path.empty() && folder.path.size() <= kSocketFolderPathMax);
  const Wire wire{.owner = folder.owner, .device = folder.device, .inode = folder.inode};
  std::vector<std::byte> message(sizeof wire + folder.path.size());
  std::memcpy(message.data(), &wire, sizeof wire);
  std::memcpy(message.data() + sizeof wire, folder.path.data(), folder.path.size());
  return message;
}

bool is_socket_folder(std::span<const std::byte> message) {
  return !message.empty() && message.front() == kSocketFolderKind;
}

std::optional<SocketFolder> read_socket_folder(std::span<const std::byte> message) {
  if (!is_socket_folder(message) || message.size() <= sizeof(Wire) ||
      message.size() > sizeof(Wire) + kSocketFolderPathMax) {
    return std::nullopt;
  }
  Wire wire;
  std::memcpy(static_cast<void*>(&wire), message.data(), sizeof wire);
  const std::span<const std::byte> path = message.subspan(sizeof wire);
  SocketFolder folder{std::string(path.size(), ' '), wire.device, wire.inode, wire.owner};
  std::memcpy(folder.path.data(), path.data(), path.size());
  if (folder.path.front() != '/' || folder.path.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  return folder;
}

}  // namespace gcoord::server
