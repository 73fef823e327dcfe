#include "server/requests/election_asks.h"

namespace gcoord::server {

bool TransferRequests::ask(NameHash name, FencingToken epoch, SessionId target, Tick now) {
  const Key key{name.low, name.high};
  if (asks_.size() >= kAsksMax && !asks_.contains(key)) {
    std::erase_if(asks_, [now](const auto& entry) { return entry.second.until <= now; });
  }
  if (asks_.size() >= kAsksMax && !asks_.contains(key)) {
    return false;
  }
  asks_.insert_or_assign(key, Ask{epoch, target, now + stands_ticks_});
  return true;
}

SessionId TransferRequests::wanted(NameHash name, FencingToken epoch, Tick now) const {
  const auto found = asks_.find(Key{name.low, name.high});
  const bool stands =
      found != asks_.end() && found->second.epoch == epoch && now < found->second.until;
  return stands ? found->second.target : SessionId{};
}

}  // namespace gcoord::server
