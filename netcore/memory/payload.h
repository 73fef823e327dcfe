// Payload extents: the variable-sized bytes that travel beside the slots of a frame.
//
// An extent names the slot it belongs to by its index in the same span of slots; extents are listed
// in ascending slot order, and one slot may have several. On the way out a PayloadExtent points at
// the caller's memory and is copied before `send` returns. On the way in a PayloadView reads the
// frame in place: it is valid only inside the callback that received it. Host only; not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

namespace gcoord::netcore {

// `slot_index` counts slots from 0 within one `send` or one `on_frame`.
struct PayloadExtent {
  std::uint32_t slot_index = 0;
  std::span<const std::byte> bytes;
};

// One row of the extent table on the wire: little-endian, 8 bytes.
struct ExtentRow {
  std::uint32_t slot_index = 0;
  std::uint32_t length_bytes = 0;
};

static_assert(sizeof(ExtentRow) == 8);

// Extents start on multiples of this, so that receivers may read 64-bit words in place.
inline constexpr std::size_t kExtentAlignment = 8;

// What an extent of this length takes in a frame, its padding of zeros included.
constexpr std::size_t padded_extent_bytes(std::size_t length_bytes) {
  return (length_bytes + kExtentAlignment - 1) / kExtentAlignment * kExtentAlignment;
}

// The extents of one received frame, read forward: `for (PayloadExtent extent : payloads)`.
// Only decode_frame makes non-empty ones, after it has checked every length.
class PayloadView {
 public:
  // Walks table and bytes side by side, so an extent is found without any index beside the frame.
  // Gives extents by value; a second pass starts from begin() again.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = PayloadExtent;
    using difference_type = std::ptrdiff_t;
    using pointer = const PayloadExtent*;
    using reference = PayloadExtent;

    Iterator(const std::byte* row, const std::byte* bytes) : row_(row), bytes_(bytes) {}

    PayloadExtent operator*() const {
      const ExtentRow current = read();
      return {current.slot_index, {bytes_, current.length_bytes}};
    }

    Iterator& operator++() {
      bytes_ += padded_extent_bytes(read().length_bytes);
      row_ += sizeof(ExtentRow);
      return *this;
    }

    friend bool operator==(const Iterator& a, const Iterator& b) { return a.row_ == b.row_; }

    friend bool operator!=(const Iterator& a, const Iterator& b) { return !(a == b); }

   private:
    // Copied out: nothing promises that a row in a frame is aligned for its type on every machine.
    ExtentRow read() const {
      ExtentRow current;
      std::memcpy(&current, row_, sizeof(current));
      return current;
    }

    const std::byte* row_;
    const std::byte* bytes_;
  };

  PayloadView() = default;

  // `table` holds extent_count rows; `bytes` is where the first extent starts.
  PayloadView(const std::byte* table, const std::byte* bytes, std::uint32_t extent_count)
      : table_(table), bytes_(bytes), extent_count_(extent_count) {}

  // How many extents, over all slots of the frame; not bytes.
  std::uint32_t size() const { return extent_count_; }

  bool empty() const { return extent_count_ == 0; }

  // The first extent of the lowest slot; extents of one slot come in the order of the sender's
  // list.
  Iterator begin() const { return {table_, bytes_}; }

  Iterator end() const { return {table_ + extent_count_ * sizeof(ExtentRow), nullptr}; }

 private:
  const std::byte* table_ = nullptr;
  const std::byte* bytes_ = nullptr;
  std::uint32_t extent_count_ = 0;
};

}  // namespace gcoord::netcore
