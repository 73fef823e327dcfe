// The linearizable reads that wait in one shard: fresh ones, those of the open round, and those
// that wait for their index to be applied.
//
// One round is open per shard at a time; what arrives meanwhile shares the next one. A read that
// arrives within a turn is not served before the next, because the lease is judged by the tick that
// was read at this turn's beginning. Plain value; one thread.
#pragma once

#include "common/ids.h"
#include "server/interfaces/log_limits.h"

#include <cstdint>
#include <vector>

namespace gcoord::server {

class RowReads {
 public:
  void add(std::uint64_t cookie, std::uint64_t turn, ReadMode way) {
    fresh_.push_back({cookie, turn, way});
  }

  bool empty() const { return fresh_.empty() && round_.empty() && indexed_.empty(); }

  bool round_open() const { return round_sequence_ != 0; }

  bool has_fresh_before(std::uint64_t turn) const {
    return !fresh_.empty() && fresh_.front().turn < turn;
  }

  // Whether one of the fresh reads that arrived before the turn takes nothing but a round.
  bool wants_round_before(std::uint64_t turn) const;

  // Takes the fresh reads that arrived before the turn.
  std::vector<std::uint64_t> take_fresh(std::uint64_t turn);

  // Of these, those that a lease suffices for.
  std::vector<std::uint64_t> take_fresh_by_lease(std::uint64_t turn);

  // Opens a round for these reads.
  void open_round(std::uint64_t sequence, std::vector<std::uint64_t> cookies);
  // Ends the open round, if it has this number, and gives its reads; otherwise nothing.
  std::vector<std::uint64_t> close_round(std::uint64_t sequence);

  // These may be answered once `index` is applied.
  void await(LogIndex index, const std::vector<std::uint64_t>& cookies);
  std::vector<std::uint64_t> take_applied(LogIndex applied);

  // Everything but the fresh reads: leadership ended.
  std::vector<std::uint64_t> take_lost();

 private:
  struct Fresh {
    std::uint64_t cookie;
    std::uint64_t turn;
    ReadMode way;
  };

  struct Indexed {
    LogIndex index;
    std::uint64_t cookie;
  };

  std::vector<Fresh> fresh_;  // By turn, ascending.
  std::vector<std::uint64_t> round_;
  std::uint64_t round_sequence_ = 0;
  std::vector<Indexed> indexed_;
};

}  // namespace gcoord::server
