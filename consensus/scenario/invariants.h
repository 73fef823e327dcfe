// Invariants of a whole run, checked from outside the step (docs/internals/faults.md, I1 to I12).
//
// The step asserts what one replica can see. Here is the view from above: who ever led a term, who
// voted for whom over all lives, what was ever decided, what is durable when a message leaves, and
// who believes to hold a lease at one moment. raft_history.h states I1 to I7, I9 for rounds and
// I12; the rest is stated here, because only this observer sees storage. A violation is a sentence;
// the checker collects them and goes on. Host only.
#pragma once

#include "consensus/scenario/content_numbers.h"
#include "consensus/scenario/node.h"
#include "consensus/scenario/observer.h"
#include "consensus/scenario/raft_history.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::consensus::scenario {

class InvariantChecker final : public Observer {
 public:
  // Both outlive the checker.
  InvariantChecker(const std::vector<std::unique_ptr<Node>>& nodes, std::uint32_t shard_count);

  void on_step(const StepReport& report) override;
  void on_carried_out(const StepReport& report) override;
  void on_send(const Packet& packet, SendFate fate, const Replica& sender) override;

  // A read round was asked for now: it must see everything that is decided by now.
  void expect_read(ShardId shard, std::uint64_t sequence);

  // Clocks are beyond the margin: nobody is judged by leases any more.
  void distrust_leases() { leases_trusted_ = false; }

  // Compares the replicas of every shard with each other, at one moment.
  void check_replicas();

  // Notes a violation that somebody else found.
  void violate(std::string sentence) { violations_.push_back(std::move(sentence)); }

  // Everything found since the last call.
  std::vector<std::string> take_violations();

 private:
  // What the run has shown of one shard so far.
  struct History {
    RaftHistory raft;
    ContentNumbers contents;
    std::vector<EntryKind> decided;           // Entry k has index k + 1.
    std::map<std::uint64_t, LogIndex> reads;  // What each open round must see.
  };

  // Whether nothing is on storage because nothing is to be, and promises end with a life.
  bool memory_mode() const;
  // Whether the storage of any node was replaced.
  bool any_replaced() const;
  // Notes the breach, if it is one. Returns whether it is.
  bool judge(const std::optional<RaftBreach>& breach);
  void check_monotone(const StepReport& report);
  void check_completeness(const Replica& leader, History& history);
  void check_decided(const StepReport& report, History& history);
  void check_quorum_durable(const Replica& replica, LogIndex index);
  void check_read(const StepReport& report, History& history);
  void note_vote(History& history, NodeId voter, Term term, NodeId candidate);
  void check_vote_durable(const Packet& packet, const Replica& sender);
  void check_append_durable(const Packet& packet, const Replica& sender);
  void check_applied(const Replica& replica, History& history);
  void check_configurations(const Replica& replica);
  void check_leases(ShardId shard, const History& history);

  const std::vector<std::unique_ptr<Node>>& nodes_;
  std::vector<History> histories_;
  std::vector<std::string> violations_;
  bool leases_trusted_ = true;
};

}  // namespace gcoord::consensus::scenario
