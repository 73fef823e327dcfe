// Host memory behind the registry: anonymous mappings, and a sealed memfd for what is shared.
#include "netcore/memory/order.h"
#include "netcore/memory/registry.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace gcoord::netcore {
namespace {

Status failure(const std::string& what) {
  const int code = errno;
  return {StatusCode::ResourceExhausted, what + ": " + std::generic_category().message(code)};
}

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

class HostMemory final : public MemorySource {
 public:
  std::string name() const override { return "host"; }

  Result<MemoryRange> allocate(MemoryKind kind, std::size_t bytes) override {
    MemoryRange range;
    range.kind = kind;
    range.bytes = whole_pages(bytes);
    if (kind == MemoryKind::Shared) {
      range.fd = memfd_create("gcoord-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
      if (range.fd < 0) {
        return failure("memfd_create");
      }
      // Sealed, so that neither side can pull the memory from under the other's feet.
      if (ftruncate(range.fd, static_cast<off_t>(range.bytes)) != 0 ||
          fcntl(range.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        const Status status = failure("cannot size shared memory");
        ::close(range.fd);
        return status;
      }
    }
    return map(range, range.fd);
  }

  Result<MemoryRange> import(int fd, std::size_t bytes) override {
    MemoryRange range;
    range.kind = MemoryKind::Imported;
    range.bytes = whole_pages(bytes);

    struct stat found {};

    const int seals = fcntl(fd, F_GET_SEALS);
    const bool sealed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
    if (!sealed || fstat(fd, &found) != 0 || found.st_size < static_cast<off_t>(range.bytes)) {
      return Status{StatusCode::FailedPrecondition,
                    "the peer's memory is not sealed or too short; is it another version?"};
    }
    return map(range, fd);
  }

  void release(const MemoryRange& range) override {
    munmap(range.address, range.bytes);
    if (range.fd >= 0) {
      ::close(range.fd);
    }
  }

  Status write(std::byte* to, std::span<const std::byte> from) override {
    std::memcpy(to, from.data(), from.size());
    return {};
  }

  Status store_word(std::uint64_t* to, std::uint64_t value) override {
    SystemOrder::raise(*to, value);
    return {};
  }

  Status read(std::span<std::byte> to, const std::byte* from) override {
    std::memcpy(to.data(), from, to.size());
    return {};
  }

  Status copy_within(std::byte* to, const std::byte* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

 private:
  static Result<MemoryRange> map(MemoryRange range, int fd) {
    const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void* address = mmap(nullptr, range.bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (address == MAP_FAILED) {
      const Status status = failure("mmap");
      if (range.fd >= 0) {
        ::close(range.fd);
      }
      return status;
    }
    range.address = static_cast<std::byte*>(address);
    return range;
  }
};

}  // namespace

std::unique_ptr<MemorySource> make_host_memory() {
  return std::make_unique<HostMemory>();
}

}  // namespace gcoord::netcore
