// The requests about rendezvous: join, leave and look.
//
//   join   -> a command -> waits here -> answered by the entry that completes the round, or its
//             deadline -> a command that takes the arrival back -> a report
//   leave  -> a command -> reply
//   look   -> confirmed that this node leads -> the state, at once or when it changes
//
// Whether a round is complete is decided by the log alone, the end of a last call included: the
// leader proposes it when the time has passed (last_calls.h), in the name of one who waits. The
// leader of the name's shard answers. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/rendezvous/messages.h"
#include "server/groups/group_requests.h"
#include "server/groups/submission.h"
#include "server/rendezvous/last_calls.h"
#include "server/rendezvous/waits.h"
#include "server/requests/client_request.h"
#include "server/waits/pending_table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace gcoord::server {

class RendezvousRequests {
 public:
  explicit RendezvousRequests(GroupEnvironment environment)
      : env_(std::move(environment)), calls_(env_.clock.tick_ms) {}

  void join(const ClientRequest& request);
  void leave(const ClientRequest& request);
  void get(const ClientRequest& request);

  // Judges waits anew whenever rights change: those that are not allowed any more end. It outlives
  // this.
  void set_judge(WaitJudge* judge) { judging_.set_judge(judge); }

  // A command of a client was applied, of the rendezvous of this name.
  void on_decided(const Pending& pending,
                  const NamedGroup& named,
                  const locks::LockReply& decision);

  // The end of a wait was decided, or did not get into the log.
  void on_withdrawn(const Pending& pending, ShardId shard, const locks::LockReply& decision);
  void on_withdrawal_refused(const Pending& pending);

  // The same of the end of a last call.
  void on_call_ended(const Pending& pending, ShardId shard, const locks::LockReply& decision);
  void on_call_refused(const Pending& pending);

  // The look was confirmed, or leadership was lost before.
  void on_confirmed(const Pending& pending, const Status& status, NodeId leader_hint);

  // Once for each entry that did something to groups or rendezvous, after its own answer.
  void on_effects(const GroupEffects& effects);

  // This node leads the shard no more: clients ask again.
  void end_waits(ShardId shard, NodeId leader);

  // The shard's state came from elsewhere; after end_waits().
  void on_installed(ShardId shard);

  // Once per tick: waits whose deadline has passed, and last calls.
  void on_tick();

  Tick next_deadline() const {
    return judging_.under_way() ? env_.clock.now + 1
                                : min_id(waits_.next_deadline(), calls_.next_deadline());
  }

  std::size_t wait_count() const { return waits_.size(); }

 private:
  bool admit(const ClientRequest& request);
  bool full() const;
  Tick deadline_of(std::uint32_t wait_ms) const;
  void answer_join(const Pending& pending, const NamedGroup& named);
  bool send_round(ShardId shard,
                  const membership::Rendezvous& rendezvous,
                  const RendezvousWait& wait);
  void send_state(ShardId shard, const RendezvousWait& wait);
  protocol::RendezvousState state_of(ShardId shard, NameHash name) const;
  void on_changed(ShardId shard, NameHash name);
  void end(const RendezvousWait& wait, const protocol::ReplySlot& reply, std::string_view why = {});
  bool due(ShardId shard, RendezvousWait& wait);
  void propose_call_ends();

  GroupEnvironment env_;
  RendezvousWaits waits_;
  JudgingRound judging_;
  LastCalls calls_;
  std::unordered_map<std::uint64_t, std::string> names_;  // Of looks, by their `group`.
  std::uint64_t name_last_ = 0;
};

// Both kinds of requests that wait beside locks.
struct GroupParts {
  GroupRequests& groups;
  RendezvousRequests& rendezvous;
};

}  // namespace gcoord::server
