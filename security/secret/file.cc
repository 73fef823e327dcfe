#include "security/secret/file.h"

#include "common/host/exclusive_file.h"
#include "security/secret/errors.h"
#include "security/secret/service_credential.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace gcoord::security {
namespace {

// Closes what was opened; a negative number is none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }

  int number() const { return number_; }

 private:
  int number_;
};

Status unsafe(const std::string& path, const std::string& why) {
  return {
      StatusCode::FailedPrecondition,
      path + " " + why + ": a secret file is a plain file of the user who reads it, with mode 0600",
      kSecretFileUnsafe};
}

Status unreadable(const std::string& path, int error) {
  const bool is_absent = error == ENOENT || error == ENOTDIR;
  return {is_absent ? StatusCode::NotFound : StatusCode::FailedPrecondition,
          "cannot read " + path + ": " + std::strerror(error),
          kSecretFileUnreadable};
}

Status unwritten(const std::string& path, int error) {
  return {StatusCode::FailedPrecondition,
          "cannot write " + path + ": " + std::strerror(error),
          kSecretFileUnwritten};
}

// Of an open file, so that nobody changes what is judged afterwards.
Status check_owner(const std::string& path, const struct stat& file) {
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if (!S_ISREG(file.st_mode)) {
    return unsafe(path, "is not a plain file");
  }
  if (is_service_credential(path, file)) {
    return {};
  }
  if (file.st_uid != ::geteuid()) {
    return unsafe(path, "belongs to another user");
  }
  if ((file.st_mode & kOthers) != 0) {
    return unsafe(path, "is open to its group or to others");
  }
  return {};
}

// Reads until the end; one byte more than expected shows that it grew.
Result<std::size_t> read_whole(int fd, const std::string& path, std::span<std::byte> out) {
  std::size_t count = 0;
  while (count < out.size()) {
    const ssize_t got = ::read(fd, out.data() + count, out.size() - count);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return unreadable(path, errno);
    }
    if (got == 0) {
      break;
    }
    count += static_cast<std::size_t>(got);
  }
  return count;
}

Status write_whole(int fd, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) {
      return unwritten(path, errno);
    }
    bytes = bytes.subspan(put < 0 ? 0 : static_cast<std::size_t>(put));
  }
  return ::fsync(fd) == 0 ? Status{} : unwritten(path, errno);
}

Status sync_folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path{path}.parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const Descriptor directory{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return directory.number() >= 0 && ::fsync(directory.number()) == 0 ? Status{}
                                                                     : unwritten(path, errno);
}

// Writes PATH.part and gives it its name by `rename`, which returns as the system call does.
template <typename Rename>
Status write_by_part(const std::string& path, std::span<const std::byte> bytes, Rename rename) {
  const std::string part = path + ".part";
  const Result<int> made = create_exclusive_file(part, S_IRUSR | S_IWUSR);
  if (!made.ok()) {
    return {made.status().code(), made.status().message(), kSecretFileUnwritten};
  }
  const Descriptor file{made.value()};
  Status status = write_whole(file.number(), part, bytes);
  if (status.ok() && rename(part.c_str(), path.c_str()) != 0) {
    status = errno == EEXIST ? Status{StatusCode::AlreadyExists,
                                      path + " is there already, and no secret is written over",
                                      kSecretFileExists}
                             : unwritten(path, errno);
  }
  ::unlink(part.c_str());  // Gone already after a rename.
  return status.ok() ? sync_folder_of(path) : status;
}

}  // namespace

Result<SecretBytes> read_secret_file(const std::string& path, std::size_t bytes_max) {
  // O_NONBLOCK: a pipe without a writer would hold up the open.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (file.number() < 0 && errno == ELOOP) {
    return unsafe(path, "is a link");
  }
  if (file.number() < 0) {
    return unreadable(path, errno);
  }

  struct stat state {};

  if (::fstat(file.number(), &state) != 0) {
    return unreadable(path, errno);
  }
  GCOORD_TRY_STATUS(check_owner(path, state));
  SecretBytes whole(bytes_max + 1);
  GCOORD_TRY(const std::size_t count, read_whole(file.number(), path, whole.mutable_bytes()));
  if (count > bytes_max) {
    return Status{
        StatusCode::InvalidArgument,
        path + " is longer than " + std::to_string(bytes_max) + " bytes, which no secret file is",
        kSecretMalformed};
  }
  return SecretBytes::copy_of(whole.bytes().first(count));
}

Status check_secret_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (file.number() < 0) {
    return errno == ENOENT || errno == ENOTDIR ? Status{}
           : errno == ELOOP                    ? unsafe(path, "is a link")
                                               : unreadable(path, errno);
  }

  struct stat state {};

  return ::fstat(file.number(), &state) == 0 ? check_owner(path, state) : unreadable(path, errno);
}

Status write_secret_file(const std::string& path, std::span<const std::byte> bytes) {
  return write_by_part(
      path, bytes, [](const char* from, const char* to) { return ::rename(from, to); });
}

Status write_new_secret_file(const std::string& path, std::span<const std::byte> bytes) {
  // A second name fails where the first call would replace.
  return write_by_part(
      path, bytes, [](const char* from, const char* to) { return ::link(from, to); });
}

}  // namespace gcoord::security
