// Chains of certificates that a context has verified, so that the next handshake with the same ones
// costs no signature of an authority and none of a revocation list.
//
// What is kept is the digest of everything that the verification went by, and how long that holds:
// until the first end among the certificates of the verified chain and the revocation lists. The
// rest of what it went by (authorities, lists) is the context's own and never changes: other files
// make another context, whose cache is empty. That the other side has the key of its certificate is
// proven in every handshake and is no matter of this cache. Failures are not kept.
//
// Bounded: of two generations the older one is thrown away when the younger one is full, so a chain
// in use stays. Times are seconds since 1970. Any thread.
#pragma once

#include "security/tls/chain_links.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace gcoord::security {

class VerifiedChains {
 public:
  // Of one generation: two of them are enough for the clients of a node, and about 3 MB.
  static constexpr std::size_t kGenerationMax = 8192;

  // Longer ones are verified each time.
  static constexpr std::size_t kKeyBytesMax = 512;

  // Whether this was verified, and still holds; and the chain that was found then, if `links` is
  // given. A clock that went back makes it unknown.
  bool knows(const std::string& key,
             std::int64_t now_s,
             std::shared_ptr<const ChainLinks>* links = nullptr);

  struct Holds {
    std::int64_t from_s = 0;
    std::int64_t until_s = 0;  // Not included.
    std::shared_ptr<const ChainLinks> links{};
  };

  // It was verified at the beginning of that time.
  void keep(const std::string& key, const Holds& holds);

  // How often knows() was true.
  std::uint64_t hits() const;

 private:
  using Generation = std::unordered_map<std::string, Holds>;

  void put(const std::string& key, const Holds& holds);

  mutable std::mutex mutex_;
  std::uint64_t hits_ = 0;
  Generation young_;
  Generation old_;
};

}  // namespace gcoord::security
