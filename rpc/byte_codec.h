// Writing and reading small little-endian payloads, for the encoders of this folder.
//
// A ByteReader never reads past its end: a short read makes it fail for good and yields zeros, so a
// decoder reads everything and asks ok() once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gcoord::rpc {

// Appends to a payload that the caller owns; nothing is ever taken back.
class ByteWriter {
 public:
  // out outlives the writer.
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

  template <typename T>
  void integer(T value) {
    static_assert(std::is_unsigned_v<T>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out_.insert(out_.end(), bytes, bytes + sizeof(T));
  }

  void bytes(std::string_view text) {
    const auto* start = reinterpret_cast<const std::byte*>(text.data());
    out_.insert(out_.end(), start, start + text.size());
  }

  // A u16 length, then the bytes; at most 65,535 of them.
  void text(std::string_view text) {
    integer(static_cast<std::uint16_t>(text.size()));
    bytes(text);
  }

 private:
  std::vector<std::byte>& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T integer() {
    static_assert(std::is_unsigned_v<T>);
    T value = 0;
    if (const auto* start = take(sizeof(T))) {
      std::memcpy(&value, start, sizeof(T));
    }
    return value;
  }

  // A u16 length, then the bytes; fails when there are more than bytes_max. A view into the
  // payload.
  std::string_view text(std::size_t bytes_max) {
    const auto length = integer<std::uint16_t>();
    if (length > bytes_max) {
      failed_ = true;
    }
    const auto* start = take(length);
    return start != nullptr ? std::string_view{reinterpret_cast<const char*>(start), length}
                            : std::string_view{};
  }

  // A u32 length, then the bytes; fails when there are more than bytes_max. A view as above.
  std::string_view blob(std::size_t bytes_max) {
    const auto length = integer<std::uint32_t>();
    if (length > bytes_max) {
      failed_ = true;
    }
    const auto* start = take(length);
    return start != nullptr ? std::string_view{reinterpret_cast<const char*>(start), length}
                            : std::string_view{};
  }

  // A u32 count of elements that take at least element_bytes each; 0 and failure when the rest of
  // the payload cannot hold so many, or they are more than count_max.
  std::uint32_t count(std::size_t element_bytes, std::uint32_t count_max) {
    const auto count = integer<std::uint32_t>();
    if (count > count_max || std::uint64_t{count} * element_bytes > bytes_.size()) {
      failed_ = true;
      return 0;
    }
    return count;
  }

  bool ok() const { return !failed_; }

  // Everything was read and nothing is left over.
  bool complete() const { return !failed_ && bytes_.empty(); }

 private:
  const std::byte* take(std::size_t byte_count) {
    if (failed_ || byte_count > bytes_.size()) {
      failed_ = true;
      return nullptr;
    }
    const auto* start = bytes_.data();
    bytes_ = bytes_.subspan(byte_count);
    return start;
  }

  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

}  // namespace gcoord::rpc
