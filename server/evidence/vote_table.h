// Table of the newest signed votes for this node, by shard.
//
// For each shard and voter it keeps the statement with the vote of the highest term, and for each
// shard who else was met as candidate or leader last. Bounded: kVotersMax voters of a shard (one
// more takes the place of the vote of the lowest term, if its own is of a higher one: nodes are
// replaced, and the new ones have other ids), at most kRowsMax shards at once (a shard takes the
// row of another one beyond that), and bytes of statements, in all and by voter. Where all together
// have too many, the voter that has most loses its oldest, so that none drives out the statements
// of others. Nothing is allocated before the first statement or candidate. Statements are believed
// only as far as their form; signatures are judged when two of them contradict (vote_watch.h).
// Pure; one thread.
#pragma once

#include "common/ids.h"
#include "server/evidence/statement.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace gcoord::server {

class VoteTable {
 public:
  static constexpr std::size_t kVotersMax = 7;  // A shard has eight replicas.
  static constexpr std::uint32_t kRowsMax = 65'536;

  struct Options {
    std::uint32_t shard_count = 0;
    std::size_t bytes_max = std::size_t{8} << 20;
    std::size_t voter_bytes_max = std::size_t{2} << 20;  // Two elections of 65,536 shards.
  };

  using Number = std::uint32_t;  // Of a statement, rising; 0: none.

  explicit VoteTable(const Options& options) : options_(options) {}

  // What add() found.
  struct Added {
    Number number = 0;           // 0: no vote of it is newer than what is kept.
    std::vector<NodeId> rivals;  // Who was met before in a term of one of its votes.
  };

  // Keeps a statement; `bytes` decode to it, and all its shards are below shard_count.
  Added add(const VoteStatement& statement, std::span<const std::byte> bytes);

  // Whether a vote of the shard in that term is kept.
  bool holds(const VoteGrant& of) const;

  // Another node campaigns or leads there. The statements that it has not been shown.
  std::vector<Number> meet(const VoteGrant& of, NodeId rival);

  // The voter's vote of that shard and term; 0: none is kept.
  Number find(const VoteGrant& of, NodeId voter) const;

  // Of a kept statement.
  NodeId voter_of(Number number) const { return kept(number).voter; }

  std::span<const std::byte> bytes_of(Number number) const;
  bool was_shown(Number number, NodeId rival) const;
  void set_shown(Number number, NodeId rival);

  // Of statements, with what keeping one takes besides.
  std::size_t bytes() const { return bytes_; }

  // Votes that had to go, or found no place, since this was last called.
  std::uint64_t take_dropped();

 private:
  struct Vote {
    Term term;
    Number statement = 0;
    NodeId voter;
  };

  struct Row {
    ShardId shard;
    NodeId rival;  // 0: none was met.
    Term rival_term;
    std::uint8_t count = 0;  // Of votes, the first ones.
    std::uint8_t shown = 0;  // A bit for each vote: the rival has been shown it.
    std::array<Vote, kVotersMax> votes;
  };

  struct Kept {
    NodeId voter;
    std::uint32_t uses = 0;  // Votes in rows.
    std::vector<NodeId> shown;
    std::vector<std::byte> bytes;
  };

  struct Voter {
    std::set<Number> statements;
    std::size_t bytes = 0;
  };

  Row& row_for(ShardId shard);
  const Row* row_of(ShardId shard) const;
  const Kept& kept(Number number) const;
  bool put(Number number, const VoteGrant& grant, std::vector<NodeId>& rivals);
  Vote* place_for(Row& row, const VoteGrant& grant, NodeId voter);
  void release(Number number);
  void forget(Number number);
  void erase(std::map<Number, Kept>::iterator kept);
  void keep_bounds(NodeId voter);
  Number oldest_of_most() const;
  void clear();

  Options options_;
  std::vector<Row> rows_;
  std::map<Number, Kept> statements_;
  std::map<NodeId, Voter> voters_;
  Number newest_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace gcoord::server
