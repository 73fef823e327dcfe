// Brings the shards that a node leads to the members that the view of the cluster wants, and counts
// how many are there.
//
// What is to be done with a shard follows from its row and the target alone
// (consensus/step/members_plan.h), so there is nothing to remember here but where to look. Rows are
// looked at when they were stepped, and all of them when the target changes; a row that is as
// wanted costs a look at three words. So many rows are under way at once and the others wait, in
// batches with rests between them: a change of all shards shares frames and syncs, outgrows no
// channel, and leaves time to others. One thread.
#pragma once

#include "common/host/metrics.h"
#include "consensus/step/inbox.h"
#include "consensus/step/members_plan.h"
#include "consensus/step/shard_table.h"
#include "server/peers/counted_rows.h"
#include "server/peers/members_target.h"
#include "server/peers/paced_batches.h"
#include "server/replicas/active.h"

#include <cstdint>
#include <vector>

namespace gcoord::server {

class MembersMover {
 public:
  struct Options {
    NodeId self;
    std::uint32_t parts = 1;  // The columns are those of one of so many parts of the node's rows.
  };

  // The columns outlive it; the gauge counts the rows of all that share the registry.
  MembersMover(const Options& options,
               const consensus::ShardColumns& columns,
               MetricsRegistry& registry);
  ~MembersMover();
  MembersMover(const MembersMover&) = delete;
  MembersMover& operator=(const MembersMover&) = delete;

  // What the shards are to become, by the view of this epoch. Without voters: nothing is moved.
  // Between turns.
  void set_targets(const MembersTargets& targets, std::uint64_t epoch);

  // The row was stepped.
  void note(std::uint32_t row) {
    if (on_ && !rests(row)) {
      look_at_row(row);
    }
  }

  // Looks at rows under way and hands what they are to propose, or whom they are to hand over to,
  // to their next step. Once per turn, after readmission, whose proposals it leaves alone.
  void advance(const consensus::StepInput& input, ActiveRows& rows);

  // Whether advance() has something to look at.
  bool waiting() const { return rows_.waiting(); }

  // When it may have without a step of a row: paced_batches.h.
  Tick next_deadline() const { return rows_.next_batch(); }

  // Of the rows here.
  MembersProgress progress() const;

  // Whether a node may keep what is handed to it: not one that drains or leaves.
  bool keeps_leaderships(NodeId node) const;

  // Rows of a node in one batch: less than a millisecond of steps in one turn, so that other
  // requests hardly wait. A third of 65,536 shards are 171 batches of a few syncs and rests each.
  static constexpr std::uint32_t kUnderWayMax = 128;

 private:
  bool leads(std::uint32_t row) const { return columns_.hot[row].role == consensus::Role::Leader; }

  // Whether no configuration is under way in the row's log.
  bool decided(std::uint32_t row) const {
    return columns_.log[row].configuration_pending <= columns_.log[row].applied;
  }

  // Whether the row goes on as it was found: it does not lead, or has what is wanted.
  bool rests(std::uint32_t row) const {
    return leads(row) ? calm_ && settled_.test(row) && decided(row) : !led_.test(row);
  }

  // Joining nodes of the target that this node has not heard yet, and may yet.
  struct Joiners {
    std::vector<NodeId> met;  // Those that it has heard, also if they are down now.
    Tick since;               // Of the target; 0: it has not been looked at.
    bool awaited = false;     // Some of them have not been: no shard is called ready meanwhile.
  };

  std::uint32_t live_joiners(const consensus::StepInput& input) const;
  void await_joiners(std::uint32_t live, const consensus::StepInput& input);
  void look_at_row(std::uint32_t row);
  bool is_known(std::uint32_t row) const;
  void settle(std::uint32_t row, bool settled);
  void look_at(std::uint32_t row, const consensus::StepInput& input, ActiveRows& rows);
  bool worth_waiting(std::uint32_t row, const consensus::StepInput& input) const;
  void propose(std::uint32_t row, const consensus::MembersPlan& plan, ActiveRows& rows);
  void show(std::int64_t under_way);

  const NodeId self_;
  const consensus::ShardColumns& columns_;
  MembersTargets targets_;
  std::uint64_t epoch_ = 0;
  bool on_ = false;
  bool calm_ = false;  // Nobody is joining and this node keeps what it leads.
  std::uint32_t live_joiners_ = 0;
  Joiners joiners_;
  CountedRows led_;
  CountedRows settled_;  // Of these: as wanted, decided, and a majority knew so once.
  std::uint64_t settled_sum_ = 0;
  std::uint64_t all_sum_ = 0;
  CountedRows ready_;  // Of the led: every joining node has the log.
  PacedBatches rows_;  // Are to be looked at.
  Counter& learner_changes_;
  Counter& voter_changes_;
  Counter& transfers_;
  Gauge& under_way_gauge_;
  std::int64_t under_way_shown_ = 0;
};

}  // namespace gcoord::server
