#include "server/resident/node/host_image.h"

#include "common/assert.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace gcoord::server {
namespace {

// A piece of the copy: a few pages, so that sparse columns stay sparse.
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

}  // namespace

HostImage::HostImage(std::size_t bytes) : bytes_(bytes) {
  void* memory = ::mmap(
      nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  GCOORD_ASSERT(memory != MAP_FAILED);
  memory_ = static_cast<std::byte*>(memory);
}

HostImage::~HostImage() {
  ::munmap(memory_, bytes_);
}

netcore::MemoryRange HostImage::range() const {
  netcore::MemoryRange range;
  range.address = memory_;
  range.bytes = bytes_;
  return range;
}

Status HostImage::copy_to(netcore::MemorySource& source, std::byte* to) const {
  for (std::size_t offset = 0; offset < bytes_; offset += kPieceBytes) {
    const std::span<const std::byte> piece{memory_ + offset,
                                           std::min(kPieceBytes, bytes_ - offset)};
    const bool empty = piece[0] == std::byte{} &&
                       std::memcmp(piece.data(), piece.data() + 1, piece.size() - 1) == 0;
    if (!empty) {
      GCOORD_TRY_STATUS(source.write(to + offset, piece));
    }
  }
  return {};
}

}  // namespace gcoord::server
