// Keys that the nodes announce, until the log of shard 0 has them.
//
// Each node says which key it signs with; the publisher proposes a key entry for each key that the
// log does not have, one at a time. One thread.
#pragma once

#include "common/ids.h"
#include "ledger/heads/entry.h"
#include "ledger/heads/message.h"
#include "ledger/publication/publication_base.h"

#include <cstdint>
#include <map>

namespace gcoord::server {

class AnnouncedKeys {
 public:
  // The base outlives it.
  explicit AnnouncedKeys(PublicationBase& base) : base_(base) {}

  void on(NodeId from, const KeyMessage& message) { announced_[from] = message.key; }

  // Announces this node's key to the others, unless the log has it.
  void announce();

  // The publisher: proposes a key.
  void propose();

 private:
  bool ordered(NodeId node, const LedgerKey& key) const;

  PublicationBase& base_;
  std::map<NodeId, LedgerKey> announced_;
  std::uint64_t propose_ms_ = 0;  // Nothing is proposed before.
};

}  // namespace gcoord::server
