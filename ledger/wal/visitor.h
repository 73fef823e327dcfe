// Visitor of a log of record, called in order with its contents.
//
// Spans live only for the call. Replay runs on the thread that opens the log. When opening fails,
// the visitor may have seen a correct prefix of the log, which the caller throws away.
#pragma once

#include "common/ids.h"
#include "ledger/base/lsn.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::ledger {

class WalVisitor {
 public:
  virtual ~WalVisitor() = default;

  // A record begins; the calls until the next on_record are its items.
  virtual void on_record(Lsn) {}

  // The shard's term and vote from here on; a vote of NodeId 0 is none.
  virtual void on_hard_state(ShardId shard, Term term, NodeId vote) = 0;
  // Everything of the shard at and above `first` is gone; entry_count on_entry calls follow.
  virtual void on_entries(ShardId shard, LogIndex first, std::uint32_t entry_count) = 0;
  virtual void on_entry(ShardId shard,
                        LogIndex index,
                        Term term,
                        std::uint8_t kind,
                        std::span<const std::byte> payload) = 0;
  // Everything of the shard at and above `from` is gone.
  virtual void on_truncate(ShardId shard, LogIndex from) = 0;
  // Everything of the shard is gone; its log begins after `index`.
  virtual void on_snapshot_installed(ShardId shard,
                                     LogIndex index,
                                     Term term,
                                     std::span<const std::byte> state) = 0;

  // Everything of the shard up to `index` was decided when the record was written.
  virtual void on_commit(ShardId, LogIndex) {}
};

// Calls the visitor for each item of one encoded batch (wal_batch.h). False when the bytes are not
// a sequence of whole items; the visitor has then seen those before the bad one. Any bytes are
// safe: nothing is allocated and no length is believed before it is checked.
bool visit_items(std::span<const std::byte> items, WalVisitor& visitor);

}  // namespace gcoord::ledger
