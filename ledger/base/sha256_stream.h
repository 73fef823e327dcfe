// SHA-256 (FIPS 180-4) of bytes that come in pieces, by OpenSSL. One thread per stream.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace gcoord::ledger {

class Sha256Stream {
 public:
  using Digest = std::array<std::byte, 32>;

  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;

  void add(std::span<const std::byte> bytes);

  // Of all that was added; call it once, last.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gcoord::ledger
