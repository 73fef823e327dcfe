#include "chaos/process/shared_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gcoord::chaos {

Result<void*> map_shared_page(const std::filesystem::path& file, std::size_t bytes) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* mapped = MAP_FAILED;
  if (fd >= 0 && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  if (fd >= 0) {
    ::close(fd);
  }
  if (mapped == MAP_FAILED) {
    return Status{StatusCode::Unavailable, file.string() + ": " + std::strerror(error)};
  }
  return mapped;
}

void unmap_shared_page(void* page, std::size_t bytes) {
  ::munmap(page, bytes);
}

}  // namespace gcoord::chaos
