// Little-endian integers into and out of bytes, for commands and snapshots.
//
// Every supported machine is little-endian, so an integer is a copy of its bytes. The reader never
// reads past its end: the first attempt makes ok() false and every later value zero, so that one
// check at the end of a group is enough. Host only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gcoord::locks {

static_assert(std::endian::native == std::endian::little);

// Appends to the caller's vector.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

  template <typename T>
  void integer(T value) {
    static_assert(std::is_unsigned_v<T>);
    bytes(&value, sizeof value);
  }

  void bytes(const void* start, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(start);
    out_.insert(out_.end(), first, first + size);
  }

 private:
  std::vector<std::byte>& out_;
};

// Reads from the caller's bytes, which outlive it and every text that it returned.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T integer() {
    static_assert(std::is_unsigned_v<T>);
    T value = 0;
    if (const auto source = take(sizeof value); !source.empty()) {
      std::memcpy(&value, source.data(), sizeof value);
    }
    return value;
  }

  std::string_view text(std::size_t size) {
    const auto source = take(size);
    return {reinterpret_cast<const char*>(source.data()), source.size()};
  }

  std::size_t rest_bytes() const { return rest_.size(); }

  bool ok() const { return ok_; }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (rest_.size() < size) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace gcoord::locks
