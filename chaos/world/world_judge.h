// Judge of a simulated run: it collects all client answers and node decisions, gives them to the
// checkers of chaos/check at the end, and computes a digest that compares two runs of a seed.
//
// Each life of each disk of a node is one file of the trace. One thread.
#pragma once

#include "chaos/check/checks.h"
#include "chaos/check/operation.h"
#include "chaos/check/trace.h"
#include "chaos/promises/weak_reads.h"
#include "consensus/scenario/raft_history.h"
#include "consensus/step/message.h"
#include "server/interfaces/replica_view.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class WorldJudge {
 public:
  explicit WorldJudge(WeakReads::Slack slack) : weak_reads_(slack) {}

  void take(Operation operation);

  // A read with a promise of its own, and a change that some of those must have seen.
  void take(const WeakRead& read);

  void note_write(ShardId shard, LogIndex index, std::uint64_t acknowledged_ns) {
    weak_reads_.note_write(shard, index, acknowledged_ns);
  }

  const std::vector<WeakRead>& weak_reads() const { return weak_reads_.reads(); }

  void take(const server::ShardTransition& transition, std::uint32_t life);

  // A message of a node before it leaves: whom it votes for (I2).
  void take(const consensus::Message& message, std::uint32_t life);

  // Memory mode: what is forgotten does not bind, and a node votes again only after it was admitted
  // anew, so each life is a voter of its own.
  void set_lives_apart(bool apart) { lives_apart_ = apart; }

  // Breaches that the world saw by itself; the first is kept.
  void report(const std::string& what);

  // After the run. Empty: nothing is broken and nothing undecided.
  std::string verdict();

  // Of the last verdict().
  bool undecided() const { return undecided_; }

  // I8: acknowledged things that were lost.
  std::uint64_t lost() const { return lost_; }

  std::uint64_t digest() const { return digest_; }

  const std::vector<Operation>& operations() const { return history_.operations; }

  const Trace& trace() const { return trace_; }

 private:
  // A vote that left a node, or made it leader: only then must it be kept over restarts.
  void note_vote(ShardId shard, consensus::scenario::RaftVote vote);

  History history_;
  WeakReads weak_reads_;
  Trace trace_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> files_;  // By node and life.
  std::map<ShardId, consensus::scenario::RaftHistory> votes_;               // Fed with votes alone.
  bool lives_apart_ = false;
  std::string reported_;
  std::uint64_t digest_ = 0;
  std::uint64_t lost_ = 0;
  bool undecided_ = false;
};

}  // namespace gcoord::chaos
