#include "cli/bundle/archive.h"

#include "common/assert.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace gcoord::cli {
namespace {

constexpr std::size_t kBlockBytes = 512;

// POSIX.1-1988, "ustar Interchange Format": fields of text, filled with zeros.
struct UstarHeader {
  char name[100];
  char mode[8];
  char user[8];
  char group[8];
  char size[12];
  char time[12];
  char checksum[8];
  char type;
  char link_name[100];
  char magic[6];
  char version[2];
  char user_name[32];
  char group_name[32];
  char device_major[8];
  char device_minor[8];
  char prefix[155];
  char padding[12];
};

static_assert(sizeof(UstarHeader) == kBlockBytes);

template <std::size_t bytes>
void set_text(char (&field)[bytes], std::string_view text) {
  GCOORD_ASSERT(text.size() <= bytes);
  std::memcpy(field, text.data(), text.size());
}

// Octal digits up to the zero at the field's end.
template <std::size_t bytes>
void set_number(char (&field)[bytes], std::uint64_t number) {
  for (std::size_t place = bytes - 1; place > 0; --place) {
    field[place - 1] = static_cast<char>('0' + (number & 7));
    number >>= 3;
  }
  GCOORD_ASSERT(number == 0);
}

std::string header_of(const ArchivedFile& file) {
  UstarHeader header{};
  set_text(header.name, file.name);
  set_number(header.mode, 0600);
  set_number(header.user, 0);
  set_number(header.group, 0);
  set_number(header.size, file.content.size());
  set_number(header.time, file.unix_seconds);
  header.type = '0';  // A plain file.
  set_text(header.magic, "ustar");
  set_text(header.version, "00");
  set_number(header.device_major, 0);
  set_number(header.device_minor, 0);
  std::memset(header.checksum, ' ', sizeof(header.checksum));
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  std::uint64_t sum = 0;
  for (const char byte : bytes) {
    sum += static_cast<unsigned char>(byte);
  }
  char digits[7]{};
  set_number(digits, sum);
  bytes.replace(offsetof(UstarHeader, checksum), sizeof(digits), digits, sizeof(digits));
  return bytes;
}

// gzip of what is fed. One thread.
class Gzip {
 public:
  // 15 + 16: the largest window, in gzip's frame, whose header then has no time and no name.
  Gzip() : ready_(::deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, 0) == Z_OK) {}

  ~Gzip() { ::deflateEnd(&stream_); }

  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  bool ready() const { return ready_; }

  void add(std::string_view bytes, bool last = false) {
    // zlib counts in 32 bits.
    constexpr std::size_t kPieceBytes = std::size_t{1} << 24;
    do {
      const std::string_view piece = bytes.substr(0, kPieceBytes);
      bytes.remove_prefix(piece.size());
      deflate_all(piece, last && bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    } while (!bytes.empty());
  }

  std::string take() { return std::move(out_); }

 private:
  void deflate_all(std::string_view piece, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    std::array<char, 1 << 16> buffer;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = static_cast<uInt>(buffer.size());
      ::deflate(&stream_, flush);
      out_.append(buffer.data(), buffer.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  bool ready_;
  std::string out_;
};

Status failure(const std::string& what) {
  return {StatusCode::Unavailable, what + ": " + std::strerror(errno)};
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return failure("cannot write the bundle");
    }
    bytes.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  return ::fsync(fd) == 0 ? Status{} : failure("cannot sync the bundle");
}

}  // namespace

Result<std::string> make_archive(std::span<const ArchivedFile> files) {
  Gzip gzip;
  if (!gzip.ready()) {
    return Status{StatusCode::ResourceExhausted, "zlib has no memory"};
  }
  for (const ArchivedFile& file : files) {
    gzip.add(header_of(file));
    gzip.add(file.content);
    gzip.add(std::string((kBlockBytes - file.content.size() % kBlockBytes) % kBlockBytes, '\0'));
  }
  gzip.add(std::string(2 * kBlockBytes, '\0'), true);
  return gzip.take();
}

Status check_new_file(const std::string& path) {
  struct stat found {};

  const auto refuse = [&](int error) {
    return Status{StatusCode::InvalidArgument, path + ": " + std::strerror(error)};
  };
  if (::lstat(path.c_str(), &found) == 0) {
    return refuse(EEXIST);
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const bool takes_files = ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
  return takes_files ? Status{} : refuse(errno);
}

Status write_new_file(const std::string& path, const std::string& bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) {
    return {StatusCode::InvalidArgument, path + ": " + std::strerror(errno)};
  }
  Status status = write_all(fd, bytes);
  if (::close(fd) != 0 && status.ok()) {
    status = failure(path);
  }
  if (!status.ok()) {
    ::unlink(path.c_str());
  }
  return status;
}

}  // namespace gcoord::cli
