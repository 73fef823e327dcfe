// Age bound of a replica's state, obtained from queries to the shard's leader.
//
// A shard that is silent costs no message (docs/internals/architecture.md), so a follower hears
// nothing from which it could tell how fresh it is. When a read wants to know, it asks the shard's
// leader at which index the state is linearizable. Whatever was acknowledged before the question
// left is at or below the answer, so once that much is applied here, the state is at most as old as
// the question: its age is measured by one clock, and no clock of another node is trusted. The
// leader confirms its leadership for the answer as for any read.
//
// A leader whose lease is valid at the moment of the look has age zero. One that has none, or whose
// engine times no leases, is a replica like any other: it may have been replaced while its process
// stood still, and it asks itself.
//
// Questions of one pass of the loop about the same leader leave in one message, kAskedShardsMax of
// them; messages may be lost, and whoever waits asks again. What a peer sends is checked, and what
// makes no sense is dropped and counted. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/interfaces/replicated_log.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

// First byte of the peer message. Never renumber.
inline constexpr std::byte kReplicaAgesKind{80};

// Shards of one question: the answer to so many fits a peer message.
inline constexpr std::size_t kAskedShardsMax = 2000;

// Shards that were asked about and whose leadership is being confirmed; beyond it questions are
// dropped, as messages may be.
inline constexpr std::size_t kAskedOfUsMax = std::size_t{1} << 16;

class ReplicaAges {
 public:
  struct Environment {
    // Where the applied state stands.
    std::function<LogIndex(ShardId)> applied;
    std::function<bool(ShardId)> leads;
    // Asks the engine to confirm leadership; the number comes back through on_confirmed.
    std::function<void(ShardId, std::uint64_t)> confirm;
    // The shard is known to be whole up to `index` as of `asked_us`; it may not be applied yet.
    std::function<void(ShardId, LogIndex, std::uint64_t)> on_proof;
  };

  ReplicaAges(std::uint32_t shard_count, MetricsRegistry& metrics, Environment doors);

  void start(ReplicatedLog& engine) { engine_ = &engine; }

  // Everything that was acknowledged longer than this ago is applied here; none: not known.
  std::optional<std::uint64_t> age_us(ShardId shard, std::uint64_t now_us) const;

  // Whether a leader knows by its clock that its lease is valid; if not, its row has to say so.
  bool times_leases() const { return engine_->abilities().timed_leases; }

  // The same as travels in answers: milliseconds, rounded up, or protocol::kAgeUnknown.
  std::uint32_t age_ms(ShardId shard, std::uint64_t now_us) const;

  // Asks the shard's leader, which may be this node, with the next flush; unless it was asked after
  // `asked_since_us`.
  void want(ShardId shard, std::uint64_t asked_since_us);

  // Once per pass of the loop.
  void flush(std::uint64_t now_us);

  void on_message(NodeId from, std::span<const std::byte> message);

  // The end of confirm(): this node leads the shard, whose state is linearizable now, or not.
  void on_confirmed(std::uint64_t number, ShardId shard, const Status& status);

  std::uint64_t dropped_count() const { return dropped_->value(); }

 private:
  struct Shard {
    LogIndex index;               // Of the newest proof,
    std::uint64_t proved_us = 0;  // which was asked for then; 0: none.
    std::uint64_t whole_us = 0;   // Of an older one that was applied when the newest came; 0: none.
    std::uint64_t asked_us = 0;   // The newest question.
  };

  struct Round {
    NodeId to;  // 0: this node.
    std::uint64_t asked_us = 0;
  };

  // A question of another node, or of this one.
  struct Asked {
    NodeId from;  // 0: this node.
    std::uint64_t round = 0;
    std::size_t outstanding = 0;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> confirmed;  // Shard and index.
  };

  std::uint64_t proof_us(ShardId shard, const Shard& known) const;
  void on_question(NodeId from, std::uint64_t round, std::span<const std::byte> shards);
  void on_answer(NodeId from, std::uint64_t round, std::span<const std::byte> pairs);
  void take_answer(ShardId shard, LogIndex index, std::uint64_t asked_us);
  void confirm_all(NodeId from, std::uint64_t round, std::span<const std::uint32_t> shards);
  void answer(const Asked& asked);
  void answer_here(const Asked& asked);
  void send_question(NodeId to, std::span<const std::uint32_t> shards, std::uint64_t now_us);

  std::uint32_t shard_count_;
  Environment environment_;
  ReplicatedLog* engine_ = nullptr;
  Counter* asked_total_ = nullptr;
  Counter* dropped_ = nullptr;
  std::unordered_map<std::uint32_t, Shard> shards_;  // Those that were ever asked about.
  std::set<std::uint32_t> wanted_;
  std::map<std::uint64_t, Round> rounds_;  // By number, and so by time.
  std::uint64_t round_last_ = 0;
  std::unordered_map<std::uint64_t, Asked> asked_of_us_;
  std::uint64_t asked_last_ = 0;
  std::size_t asked_shards_ = 0;  // Sum of outstanding over asked_of_us_.
};

}  // namespace gcoord::server
