// Little-endian integers and text into and out of bytes: on the wire, in the log, in snapshots.
//
// Two ways. load() and store() are for fixed layouts: the caller has checked that the bytes are
// there. ByteWriter and ByteReader are for payloads of variable length: the reader never reads past
// its end; the first attempt makes it fail for good and every later value zero or empty, so a
// decoder reads everything and asks ok() or complete() once.
//
// Every supported machine is little-endian, so an integer is a copy of its bytes, at any alignment:
// memcpy is one instruction here and defined everywhere, which a cast would not be. Host only; not
// thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gcoord {

static_assert(std::endian::native == std::endian::little);

template <typename T>
T load(const std::byte* at) {
  static_assert(std::is_unsigned_v<T>);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Returns the address after the integer.
template <typename T>
std::byte* store(std::byte* at, T value) {
  static_assert(std::is_unsigned_v<T>);
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

// Appends to a vector that the caller owns and that outlives the writer.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

  template <typename T>
  void integer(T value) {
    static_assert(std::is_unsigned_v<T>);
    bytes(&value, sizeof value);
  }

  // The bytes alone: their reader knows how many they are.
  void bytes(const void* start, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(start);
    out_.insert(out_.end(), first, first + size);
  }

  void bytes(std::string_view text) { bytes(text.data(), text.size()); }

  template <std::size_t kBytes>
  void array(const std::array<std::byte, kBytes>& array) {
    bytes(array.data(), array.size());
  }

  // A u16 length, then the bytes; at most 65,535 of them.
  void text(std::string_view text) {
    integer(static_cast<std::uint16_t>(text.size()));
    bytes(text);
  }

 private:
  std::vector<std::byte>& out_;
};

// Reads from bytes that outlive it and every view that it returned.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T integer() {
    static_assert(std::is_unsigned_v<T>);
    const auto source = take(sizeof(T));
    return source.empty() ? T{0} : load<T>(source.data());
  }

  // A view of the next `size` bytes.
  std::string_view bytes(std::size_t size) {
    const auto source = take(size);
    return {reinterpret_cast<const char*>(source.data()), source.size()};
  }

  // Zeros on failure.
  template <std::size_t kBytes>
  void array(std::array<std::byte, kBytes>& array) {
    array = {};
    if (const auto source = take(kBytes); !source.empty()) {
      std::memcpy(array.data(), source.data(), kBytes);
    }
  }

  // A u16 length, then the bytes; fails when there are more than bytes_max. A view.
  std::string_view text(std::size_t bytes_max) { return counted<std::uint16_t>(bytes_max); }

  // A u32 length, then the bytes; fails when there are more than bytes_max. A view.
  std::string_view blob(std::size_t bytes_max) { return counted<std::uint32_t>(bytes_max); }

  // A u32 count of elements that take at least element_bytes each; 0 and failure when the rest of
  // the payload cannot hold so many, or they are more than count_max.
  std::uint32_t count(std::size_t element_bytes, std::uint32_t count_max) {
    const auto count = integer<std::uint32_t>();
    if (count > count_max || std::uint64_t{count} * element_bytes > rest_.size()) {
      fail();
      return 0;
    }
    return count;
  }

  // 0 after a failure.
  std::size_t rest_bytes() const { return rest_.size(); }

  bool ok() const { return ok_; }

  // Everything was read and nothing is left over.
  bool complete() const { return ok_ && rest_.empty(); }

 private:
  template <typename Length>
  std::string_view counted(std::size_t bytes_max) {
    const auto length = integer<Length>();
    if (length > bytes_max) {
      fail();
      return {};
    }
    return bytes(length);
  }

  std::span<const std::byte> take(std::size_t size) {
    if (rest_.size() < size) {
      fail();
      return {};
    }
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  void fail() {
    ok_ = false;
    rest_ = {};
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace gcoord
