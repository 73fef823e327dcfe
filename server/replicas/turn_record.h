// Items of the log of record that some rows want durable in the turn under way, and who waits for
// those of turns before.
//
// A turn fills batch(), notes who waits for it, and hands the batch to the log of record
// (ReplicaDisk::submit), alone or behind those of other rows; the acknowledgement comes back in a
// later turn by take_acks. Rows are those of one row map. One thread at a time.
#pragma once

#include "common/assert.h"
#include "common/ids.h"
#include "ledger/base/lsn.h"
#include "ledger/wal/batch.h"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace gcoord::server {

class TurnRecord {
 public:
  struct Ack {
    ledger::Lsn lsn;  // 0: of the turn under way.
    std::uint32_t row = 0;
    Term term;
    NodeId vote;
    Tick asked;
  };

  ledger::WalBatch& batch() { return batch_; }

  // A row to be told when this turn's items are durable.
  void expect(const Ack& ack) {
    GCOORD_ASSERT(ack.lsn == ledger::Lsn{});
    acks_.push_back(ack);
  }

  // The items of this turn, of which there are some, are part of that record. batch() is empty
  // again by now.
  void on_submitted(ledger::Lsn lsn) {
    GCOORD_ASSERT(batch_.empty());
    for (auto ack = acks_.rbegin(); ack != acks_.rend() && ack->lsn == ledger::Lsn{}; ++ack) {
      ack->lsn = lsn;
    }
  }

  // Whether everybody who waits waits for a record that was submitted: always, while batch() is
  // empty.
  bool settled() const { return acks_.empty() || acks_.back().lsn != ledger::Lsn{}; }

  // How many acknowledgements are to come.
  std::size_t waiting_count() const { return acks_.size(); }

  // Whether take_acks would find one.
  bool due(ledger::Lsn durable) const {
    return !acks_.empty() && acks_.front().lsn != ledger::Lsn{} && acks_.front().lsn <= durable;
  }

  // For how many ticks the oldest item that is not durable has been waited for.
  std::uint64_t waits_since(Tick now, ledger::Lsn durable) const {
    const bool waits = !acks_.empty() && acks_.front().lsn > durable;
    return waits ? now - acks_.front().asked : 0;
  }

  // Calls on_ack for every Ack whose record is durable, in order, for at most ack_count_max. One
  // whose record was not submitted yet has to wait, and all behind it.
  template <typename OnAck>
  std::size_t take_acks(ledger::Lsn durable, std::size_t ack_count_max, OnAck&& on_ack) {
    std::size_t count = 0;
    for (; count < ack_count_max && due(durable); ++count) {
      on_ack(acks_.front());
      acks_.pop_front();
    }
    return count;
  }

 private:
  ledger::WalBatch batch_;
  std::deque<Ack> acks_;
};

}  // namespace gcoord::server
