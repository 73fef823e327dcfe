// Lines of the log about files of TLS that are about to expire, or have expired while in use.
//
// A certificate and a revocation list are each named once a day from a week before their end on, or
// from the last third of their time where that is shorter; and once an hour when they have ended:
// from then on nobody gets in. One thread.
#pragma once

#include "security/tls/context.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gcoord::server {

// One of them, as of a moment.
struct Expiry {
  enum class Kind : std::uint8_t { None, Soon, Over };

  Kind kind = Kind::None;
  std::string text;  // Of Soon and Over.
};

inline constexpr std::int64_t kExpiryAheadSeconds = 7 * 86'400;

// Of the certificate, and of the revocation list.
std::array<Expiry, 2> expiries(const security::TlsFacts& facts, std::int64_t now_s);

class ExpiryLines {
 public:
  // About every second; says what is due.
  void look(const security::TlsFacts& facts, std::int64_t now_s);

  // Other files are in use from now on.
  void reset() { said_ = {}; }

 private:
  // When a line was said, and of which kind.
  struct Said {
    std::int64_t at_s = 0;
    Expiry::Kind kind = Expiry::Kind::None;
  };

  std::array<Said, 2> said_{};
};

}  // namespace gcoord::server
