#include "server/debug/cpu_profile.h"

#include "server/debug/pause.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

namespace gcoord::server {
namespace {

constexpr std::size_t kProfileBytesMax = std::size_t{8} << 20;

// A file without a name and a disk.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("cpu-profile", MFD_CLOEXEC)) {}

  ~MemoryFile() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  bool usable() const { return fd_ >= 0; }

  // For those who open files by name, as long as the object lives.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

  Result<std::string> content() const {
    struct stat facts {};

    if (::fstat(fd_, &facts) != 0 || facts.st_size > static_cast<off_t>(kProfileBytesMax)) {
      return Status{StatusCode::ResourceExhausted, "the profile is too large; make a shorter one"};
    }
    std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
    const ssize_t got = ::pread(fd_, bytes.data(), bytes.size(), 0);
    return got == static_cast<ssize_t>(bytes.size())
               ? Result<std::string>{std::move(bytes)}
               : Result<std::string>{Status{StatusCode::Unavailable, "the profile is cut"}};
  }

 private:
  int fd_;
};

}  // namespace

Result<std::string> cpu_profile(const ProfilerLibrary& library,
                                std::chrono::milliseconds time,
                                const std::stop_token& stop) {
  const MemoryFile file;
  if (!file.usable()) {
    return Status{StatusCode::ResourceExhausted, "no memory for a profile"};
  }
  if (library.start(file.path().c_str()) == 0) {
    return Status{StatusCode::Unavailable, "the profiler does not start"};
  }
  const bool whole = pause_for(time, stop);
  library.stop();
  return whole ? file.content() : Result<std::string>{Status{StatusCode::Cancelled, "stopped"}};
}

}  // namespace gcoord::server
