#include "chaos/demo/guarded_store.h"

#include "common/assert.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gcoord::chaos {

namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "several processes share it");
constexpr std::size_t kBytes = GuardedStore::kPlaces * sizeof(std::atomic<std::uint64_t>);

}  // namespace

Result<std::unique_ptr<GuardedStore>> GuardedStore::open(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* mapped = MAP_FAILED;
  if (fd >= 0 && ::ftruncate(fd, static_cast<off_t>(kBytes)) == 0) {
    mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  if (fd >= 0) {
    ::close(fd);
  }
  if (mapped == MAP_FAILED) {
    return Status{StatusCode::Unavailable, file.string() + ": " + std::strerror(error)};
  }
  return std::unique_ptr<GuardedStore>{
      new GuardedStore{static_cast<std::atomic<std::uint64_t>*>(mapped)}};
}

GuardedStore::~GuardedStore() {
  ::munmap(tokens_, kBytes);
}

bool GuardedStore::write(std::uint32_t place, std::uint64_t token) {
  GCOORD_ASSERT(place < kPlaces);
  std::uint64_t highest = tokens_[place].load();
  while (highest <= token) {
    if (tokens_[place].compare_exchange_weak(highest, token)) {
      return true;
    }
  }
  return false;
}

}  // namespace gcoord::chaos
