// Host's copy of the leader table of its rows, as of its last scan of the table that the device
// writes.
//
// look() finds what the table says anew, by its pages, a bounded part of it at a time; nothing is
// known of it before set(). In between the caller takes from the ring what was told before. So all
// that a pass of the node's loop asks is answered by one state of the table, and every change comes
// through one door. The counts follow what is known. One thread.
#pragma once

#include "common/ids.h"
#include "server/device_turn/leader_table.h"
#include "server/device_turn/view.h"
#include "server/resident/node/names.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gcoord::server {

class ResidentLeaders {
 public:
  // Pages with something new that one look takes at most, a microsecond each, and changes after
  // which it takes no further one, some fifty nanoseconds each to whoever follows: the others wait
  // for the next, so that a pass of the loop stays short when every row of a million changes.
  static constexpr std::uint32_t kLookPagesMax = 1024;
  static constexpr std::size_t kLookChangesMax = std::size_t{1} << 16;

  struct Change {
    ShardId shard;
    LeaderWord word;
  };

  // `table` outlives it. Until a row's word says something, it is an idle replica of all nodes.
  ResidentLeaders(NodeId self,
                  const TurnShape& shape,
                  const LeaderTable& table,
                  const ResidentNames& names = {});

  // The rows begin as ones that have forgotten what this node promised. Before any look.
  void begin_forgotten();

  // Rows whose words differ from what is known, in the order of rows within a page; found once, so
  // each is to be set. Valid until the next look.
  const std::vector<Change>& look();

  // What one of these says is known from now on.
  void set(const Change& change);

  LeaderWord known(ShardId shard) const { return with_id(known_[row_of_shard(shard)]); }

  // known(shard).leads(), for who asks of every entry.
  bool leads(ShardId shard) const { return decoded(known_[row_of_shard(shard)]).leads(); }

  // A row of which the table said what no device says: a term that fell, or not that it says
  // anything. Its word was not taken.
  std::optional<ShardId> impossible() const { return impossible_; }

  std::uint32_t leader_count() const { return leader_count_; }

  // Shards of which this node knows no leader, and how often one came to have one.
  std::uint32_t unled_count() const { return unled_count_; }

  std::uint64_t led_anew() const { return led_anew_; }

  // Shards in which this node votes, and those whose promises it has forgotten.
  std::uint32_t voting_count() const { return voting_count_; }

  std::uint32_t forgotten_count() const { return forgotten_count_; }

 private:
  LeaderWord decoded(std::uint64_t word) const { return decode_leader(word, shape_.voters); }

  LeaderWord with_id(std::uint64_t word) const {
    LeaderWord named = decoded(word);
    named.leader = names_.id(named.leader);
    return named;
  }

  void begin_as(std::uint64_t standing);
  void count(const LeaderWord& word, std::uint32_t rows);
  bool votes(const LeaderWord& word) const;
  void look_at(std::uint32_t page);

  ResidentNames names_;
  NodeId self_number_;
  TurnShape shape_;
  const LeaderTable& table_;
  std::vector<std::uint64_t> known_;  // By row: as in the table.
  std::vector<std::uint64_t> seen_;   // By page: what it said when it was looked at.
  std::uint32_t next_page_ = 0;       // Where the next look begins.
  std::vector<Change> changes_;       // Kept warm.
  std::uint32_t leader_count_ = 0;
  std::uint32_t unled_count_ = 0;
  std::uint64_t led_anew_ = 0;
  std::optional<ShardId> impossible_;
  std::uint32_t voting_count_ = 0;
  std::uint32_t forgotten_count_ = 0;
};

}  // namespace gcoord::server
