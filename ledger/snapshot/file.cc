#include "ledger/snapshot/file.h"

#include "common/host/exclusive_file.h"
#include "ledger/base/error_details.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace gcoord::ledger {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// A file descriptor that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}

  ~OpenFile() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
};

Status unreadable(const std::string& path, int error) {
  return {StatusCode::NotFound, path + ": " + std::strerror(error), kSnapshotUnreadable};
}

}  // namespace

Result<SnapshotFacts> read_snapshot(const std::string& path, SnapshotVisitor& visitor) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) {
    return unreadable(path, errno);
  }
  SnapshotDecoder decoder(visitor);
  SnapshotFacts facts;
  std::vector<std::byte> bytes(kReadBytes);
  for (;;) {
    const ssize_t count = ::read(file.fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return unreadable(path, errno);
    }
    if (count == 0) {
      break;
    }
    facts.file_bytes += static_cast<std::uint64_t>(count);
    GCOORD_TRY_STATUS(decoder.feed(std::span{bytes}.first(static_cast<std::size_t>(count))));
  }
  GCOORD_TRY_STATUS(decoder.finish());
  facts.end = decoder.end();
  facts.digest = decoder.digest();
  return facts;
}

SnapshotFileWriter::SnapshotFileWriter(std::string path, int fd)
    : path_(std::move(path)), part_(path_ + ".part"), fd_(fd) {}

SnapshotFileWriter::~SnapshotFileWriter() {
  if (!committed_) {
    ::unlink(part_.c_str());
  }
  ::close(fd_);
}

Status SnapshotFileWriter::failed(const char* what, int error) const {
  return {StatusCode::Unavailable,
          std::string(what) + " " + part_ + ": " + std::strerror(error),
          kSnapshotUnwritten};
}

Result<std::unique_ptr<SnapshotFileWriter>> SnapshotFileWriter::create(const std::string& path) {
  const auto part = create_exclusive_file(path + ".part", 0600);
  if (!part.ok()) {
    return Status{part.status().code(), part.status().message(), kSnapshotUnwritten};
  }
  return std::unique_ptr<SnapshotFileWriter>(new SnapshotFileWriter(path, part.value()));
}

Status SnapshotFileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return failed("cannot write", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status SnapshotFileWriter::commit() {
  if (::fsync(fd_) != 0) {
    return failed("cannot sync", errno);
  }
  if (std::rename(part_.c_str(), path_.c_str()) != 0) {
    return failed("cannot rename", errno);
  }
  committed_ = true;
  const std::string parent = std::filesystem::path(path_).parent_path().string();
  const OpenFile directory(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd() < 0 || ::fsync(directory.fd()) != 0) {
    return failed("cannot sync the directory of", errno);
  }
  return {};
}

}  // namespace gcoord::ledger
