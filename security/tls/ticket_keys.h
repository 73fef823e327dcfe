// Keys under which a server encrypts session tickets (RFC 8446 4.6.1, RFC 5077 4), rotated.
//
// The newest key encrypts; it and the one before decrypt, so a ticket is good for one to two
// periods. Keys live in memory alone: nobody who takes the disk can read a recorded session, and
// a restarted node requests full handshakes. A context has its own keys, so what other files or
// rules issued is worth nothing: who is revoked resumes nothing. Any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

namespace gcoord::security {

class TicketKeys {
 public:
  // An hour each: RFC 8446 4.6.1 allows seven days, and reconnecting after a failover needs
  // minutes.
  static constexpr std::chrono::seconds kPeriod{3600};

  using Now = std::function<std::chrono::steady_clock::time_point()>;

  explicit TicketKeys(Now now = std::chrono::steady_clock::now);
  ~TicketKeys();

  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;

  struct Key {
    std::array<unsigned char, 16> name{};
    std::array<unsigned char, 32> cipher{};  // AES-256-CBC.
    std::array<unsigned char, 32> mac{};     // HMAC-SHA-256.
  };

  // Copies the newest key; false: the system gives no random bytes.
  bool newest(Key& key);

  struct Found {
    bool known = false;
    bool renew = false;  // It is the one before: the client should get a ticket of the newest.
  };

  // Copies the key of this name, if it still counts.
  Found find(const unsigned char* name, Key& key);

  // Overwrites a copy.
  static void wipe(Key& key);

 private:
  bool rotate(std::chrono::steady_clock::time_point now);

  Now now_;
  std::mutex mutex_;
  std::array<Key, 2> keys_{};  // The newest, and the one before.
  std::size_t count_ = 0;
  std::chrono::steady_clock::time_point since_{};
};

}  // namespace gcoord::security
