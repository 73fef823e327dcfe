#include "ledger/publication/announced_keys.h"

namespace gcoord::server {

bool AnnouncedKeys::ordered(NodeId node, const LedgerKey& key) const {
  const auto known = base_.state.keys().find(node);
  return known != base_.state.keys().end() && known->second == key;
}

void AnnouncedKeys::announce() {
  if (!ordered(base_.options.self, base_.options.key)) {
    announced_[base_.options.self] = base_.options.key;
    base_.send_all(KeyMessage{base_.options.key});
  }
}

void AnnouncedKeys::propose() {
  if (base_.now_ms < propose_ms_) {
    return;
  }
  for (const auto& [node, key] : announced_) {
    if (!ordered(node, key)) {
      propose_ms_ = base_.now_ms + kPublicationRepeatMs;
      base_.port.propose(encode(PublicationEntry{KeyEntry{node, key}}));
      return;
    }
  }
}

}  // namespace gcoord::server
