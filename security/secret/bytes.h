// Bytes that nobody else may see: a key, a password, the text of a secret file.
//
// They are wiped when their owner ends, lie in one allocation that never grows, and are copied only
// by name (clone), so that a reader of the code sees where a secret is twice. Nothing prints them.
// Values; one thread at a time for each.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::security {

class SecretBytes {
 public:
  SecretBytes() = default;

  // That many zero bytes, to be filled by `mutable_bytes`.
  explicit SecretBytes(std::size_t count) : bytes_(count) {}

  // Takes bytes over without a copy.
  explicit SecretBytes(std::vector<std::byte>&& bytes) : bytes_(std::move(bytes)) {}

  static SecretBytes copy_of(std::span<const std::byte> bytes);
  static SecretBytes copy_of(std::string_view text);

  ~SecretBytes() { wipe(); }

  SecretBytes(SecretBytes&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

  SecretBytes& operator=(SecretBytes&& other) noexcept;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;

  SecretBytes clone() const { return copy_of(bytes()); }

  std::span<const std::byte> bytes() const { return bytes_; }

  std::span<std::byte> mutable_bytes() { return bytes_; }

  // The same bytes as characters; valid as long as these bytes are.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

  std::size_t size() const { return bytes_.size(); }

  bool empty() const { return bytes_.empty(); }

  // In a time that depends on the lengths only.
  bool operator==(const SecretBytes& other) const;

 private:
  void wipe();

  std::vector<std::byte> bytes_;
};

// Whether the bytes are equal, in a time that depends on the lengths only.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace gcoord::security
