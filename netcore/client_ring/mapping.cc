#include "netcore/client_ring/mapping.h"

#include "common/assert.h"
#include "common/wipe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace gcoord::netcore {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status exhausted(const std::string& what) {
  return {StatusCode::ResourceExhausted,
          "shared memory: " + what + ": " + std::generic_category().message(errno),
          kShmExhausted};
}

Status foreign(const std::string& what) {
  return {StatusCode::FailedPrecondition, "shared memory: " + what, kShmNotSpoken};
}

// Where the system does not take pages back, as of a process that locks its memory, they are
// overwritten at least.
void give_back(std::span<std::byte> pages) {
  if (::madvise(pages.data(), pages.size(), MADV_REMOVE) != 0) {
    wipe(pages);
  }
}

}  // namespace

RingMapping::~RingMapping() {
  if (start_ != nullptr) {
    ::munmap(start_, mapped_bytes(shape_));
  }
  close_descriptor();
}

RingMapping::RingMapping(RingMapping&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      shape_(other.shape_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

RingMapping& RingMapping::operator=(RingMapping&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(shape_, other.shape_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Result<RingMapping> RingMapping::make(const ClientRingShape& shape) {
  GCOORD_ASSERT(is_sound(shape));
  RingMapping made;
  made.descriptor_ = ::memfd_create("gcoord-client-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made.descriptor_ < 0) {
    return exhausted("no descriptor");
  }
  const auto byte_count = static_cast<off_t>(mapped_bytes(shape));
  // Allocated now: memory that is missing later could only end the process.
  if (::ftruncate(made.descriptor_, byte_count) != 0 ||
      ::fallocate(made.descriptor_, 0, 0, byte_count) != 0) {
    return exhausted("no memory");
  }
  if (::fcntl(made.descriptor_, F_ADD_SEALS, kSeals) != 0) {
    return exhausted("it cannot be sealed");
  }
  GCOORD_TRY_STATUS(made.map(made.descriptor_, shape));
  return made;
}

Result<RingMapping> RingMapping::adopt(int descriptor, const ClientRingShape& shape) {
  struct stat found {};

  if (!is_sound(shape)) {
    return foreign("rings of no size that there is");
  }
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return foreign("what the node passed is not sealed");
  }
  if (::fstat(descriptor, &found) != 0 ||
      found.st_size != static_cast<off_t>(mapped_bytes(shape))) {
    return foreign("what the node passed has another size than it says");
  }
  RingMapping adopted;
  GCOORD_TRY_STATUS(adopted.map(descriptor, shape));
  return adopted;
}

Status RingMapping::map(int descriptor, const ClientRingShape& shape) {
  void* const start =
      ::mmap(nullptr, mapped_bytes(shape), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (start == MAP_FAILED) {
    return exhausted("it cannot be mapped");
  }
  start_ = static_cast<std::byte*>(start);
  shape_ = shape;
  ::madvise(start, mapped_bytes(shape), MADV_DONTDUMP);  // Requests may have secrets.
  return {};
}

void RingMapping::close_descriptor() {
  if (const int open = std::exchange(descriptor_, -1); open >= 0) {
    ::close(open);
  }
}

ClientRingView RingMapping::request() const {
  GCOORD_ASSERT(is_mapped());
  return {&reinterpret_cast<ClientRingPage*>(start_)->request,
          start_ + kRingPageBytes,
          shape_.request_bytes};
}

ClientRingView RingMapping::reply() const {
  GCOORD_ASSERT(is_mapped());
  return {&reinterpret_cast<ClientRingPage*>(start_)->reply,
          start_ + kRingPageBytes + shape_.request_bytes,
          shape_.reply_bytes};
}

void RingMapping::discard_request() {
  GCOORD_ASSERT(is_mapped());
  give_back({start_ + kRingPageBytes, shape_.request_bytes});
}

void RingMapping::discard() {
  GCOORD_ASSERT(is_mapped());
  give_back({start_, mapped_bytes(shape_)});
}

}  // namespace gcoord::netcore
