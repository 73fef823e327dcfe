#include "security/tls/ticket_keys.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <utility>

namespace gcoord::security {

TicketKeys::TicketKeys(Now now) : now_(std::move(now)) {}

TicketKeys::~TicketKeys() {
  for (Key& key : keys_) {
    wipe(key);
  }
}

void TicketKeys::wipe(Key& key) {
  OPENSSL_cleanse(&key, sizeof key);
}

// Nothing is kept of keys that nobody has used for two periods.
bool TicketKeys::rotate(std::chrono::steady_clock::time_point now) {
  if (count_ > 0 && now - since_ < kPeriod) {
    return true;
  }
  Key next;
  if (RAND_bytes(next.name.data(), static_cast<int>(next.name.size())) != 1 ||
      RAND_priv_bytes(next.cipher.data(), static_cast<int>(next.cipher.size())) != 1 ||
      RAND_priv_bytes(next.mac.data(), static_cast<int>(next.mac.size())) != 1) {
    return false;
  }
  const bool keep = count_ > 0 && now - since_ < 2 * kPeriod;
  keys_[1] = keep ? keys_[0] : Key{};
  keys_[0] = next;
  count_ = keep ? 2 : 1;
  since_ = now;
  wipe(next);
  return true;
}

bool TicketKeys::newest(Key& key) {
  const std::lock_guard lock(mutex_);
  if (!rotate(now_())) {
    return false;
  }
  key = keys_[0];
  return true;
}

TicketKeys::Found TicketKeys::find(const unsigned char* name, Key& key) {
  const std::lock_guard lock(mutex_);
  if (!rotate(now_())) {
    return {};
  }
  for (std::size_t k = 0; k < count_; ++k) {
    if (CRYPTO_memcmp(name, keys_[k].name.data(), keys_[k].name.size()) == 0) {
      key = keys_[k];
      return {.known = true, .renew = k > 0};
    }
  }
  return {};
}

}  // namespace gcoord::security
