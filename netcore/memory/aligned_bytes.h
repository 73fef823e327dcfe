// A growable run of bytes that starts on a 64-byte boundary, so that frames in it can be read in
// place. std::vector promises no such start. Contents below `size` survive growth; new bytes are
// not initialised. Host only; not thread-safe.
#pragma once

#include "common/assert.h"
#include "netcore/memory/slot.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace gcoord::netcore {

class AlignedBytes {
 public:
  AlignedBytes() = default;

  explicit AlignedBytes(std::size_t capacity) { reserve(capacity, 0); }

  std::byte* data() const { return bytes_.get(); }

  std::size_t capacity() const { return capacity_; }

  // Grows to at least `capacity`, by doubling; keeps the first `used` bytes.
  void reserve(std::size_t capacity, std::size_t used) {
    if (capacity <= capacity_) {
      return;
    }
    GCOORD_ASSERT(used <= capacity_);
    const std::size_t grown = std::max(capacity, capacity_ * 2);
    std::unique_ptr<std::byte[], Release> fresh{
        static_cast<std::byte*>(::operator new (grown, std::align_val_t{kSlotBytes}))};
    if (used != 0) {
      std::memcpy(fresh.get(), bytes_.get(), used);
    }
    bytes_ = std::move(fresh);
    capacity_ = grown;
  }

 private:
  struct Release {
    void operator()(std::byte* bytes) const {
      ::operator delete (bytes, std::align_val_t{kSlotBytes});
    }
  };

  std::unique_ptr<std::byte[], Release> bytes_;
  std::size_t capacity_ = 0;
};

// First in, first out over AlignedBytes: whole frames at the tail, whole frames off the front.
// Memory is kept for reuse; once it has grown to the working size nothing allocates.
class FrameBuffer {
 public:
  bool empty() const { return front_ == tail_; }

  std::size_t size() const { return tail_ - front_; }

  // Room for one more frame at the tail; the caller fills all of it.
  std::span<std::byte> push(std::size_t bytes) {
    // Moving is worth it once at most half of the buffer is alive; before that, growing is.
    if (tail_ + bytes > bytes_.capacity() && front_ != 0 && front_ >= size()) {
      std::memmove(bytes_.data(), bytes_.data() + front_, size());
      tail_ -= front_;
      front_ = 0;
    }
    bytes_.reserve(tail_ + bytes, tail_);
    const std::span<std::byte> room{bytes_.data() + tail_, bytes};
    tail_ += bytes;
    return room;
  }

  // Everything that waits, oldest first.
  std::span<const std::byte> waiting() const { return {bytes_.data() + front_, size()}; }

  void pop(std::size_t bytes) {
    GCOORD_ASSERT(bytes <= size());
    front_ += bytes;
    if (front_ == tail_) {
      front_ = 0;
      tail_ = 0;
    }
  }

  void clear() { pop(size()); }

  // Gives the memory back if nothing waits in it.
  void shrink() {
    if (empty()) {
      bytes_ = AlignedBytes{};
    }
  }

 private:
  AlignedBytes bytes_;
  std::size_t front_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace gcoord::netcore
