// Collection of the heads of a publisher's next round, from the shards with news.
//
// Shards take turns, so that none waits for ever behind busy ones of lower numbers. A shard that no
// majority agreed on, or whose head cannot be read again, is held back for a second; suspected ones
// (history_quarantine.h) are passed over. One thread.
#pragma once

#include "common/ids.h"
#include "ledger/notes/shard_head.h"
#include "ledger/publication/history_quarantine.h"
#include "ledger/publication/publication_base.h"

#include <cstdint>
#include <map>
#include <vector>

namespace gcoord::server {

class HeadCollection {
 public:
  // Both outlive it.
  HeadCollection(PublicationBase& base, HistoryQuarantine& quarantine)
      : base_(base), quarantine_(quarantine) {}

  // At most as many as a round takes; none where reading failed for good.
  std::vector<ledger::ShardHead> collect();

  // The shard is left out for a while.
  void hold(ShardId shard);

 private:
  // A shard that is held back, and since when it has news.
  struct Held {
    std::uint64_t until_ms = 0;
    std::uint64_t news_ms = 0;
  };

  std::vector<ShardId> changed_shards();
  bool read_back(const ledger::ShardHead& head);
  bool is_held(ShardId shard);

  PublicationBase& base_;
  HistoryQuarantine& quarantine_;
  std::map<ShardId, Held> held_;
  std::uint32_t cursor_ = 0;  // The shard whose turn is next.
};

}  // namespace gcoord::server
