// The requests about groups: join, leave, update, barrier and look.
//
//   join, leave, update  -> a command -> the group's answer -> reply
//   barrier              -> a command -> waits here -> released by the entry of the last arrival,
//                           or its deadline -> a command that takes the arrival back -> a report
//   look                 -> confirmed that this node leads -> the view or its changes, at once or
//                           when there is another view
//
// Whether a barrier is released is decided by the log alone; waits here only carry the answer. The
// leader of the group's shard answers. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/groups/messages.h"
#include "server/groups/group_machine.h"
#include "server/groups/group_waits.h"
#include "server/groups/submission.h"
#include "server/requests/client_request.h"
#include "server/waits/pending_table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::server {

// A look waits no longer than this, whatever its client says; that one looks again.
inline constexpr std::uint32_t kViewWaitMsMax = 60'000;

struct NamedGroup {
  ShardId shard;
  std::string_view name;
};

class GroupRequests {
 public:
  explicit GroupRequests(GroupEnvironment environment) : env_(std::move(environment)) {}

  // The machine that applies the entries of groups, and of locks before.
  GroupMachine& machine() { return env_.machine; }

  void join(const ClientRequest& request);
  void leave(const ClientRequest& request);
  void update(const ClientRequest& request);
  void barrier(const ClientRequest& request);
  void get(const ClientRequest& request);

  // Judges waits anew whenever rights change: those that are not allowed any more end. It outlives
  // this.
  void set_judge(WaitJudge* judge) { judging_.set_judge(judge); }

  // A command of a client was applied, of the group of this name.
  void on_decided(const Pending& pending,
                  const NamedGroup& group,
                  const locks::LockReply& decision);

  // The end of a wait at a barrier was decided, or did not get into the log.
  void on_withdrawn(const Pending& pending, ShardId shard, const locks::LockReply& decision);
  void on_withdrawal_refused(const Pending& pending);

  // The look was confirmed, or leadership was lost before.
  void on_confirmed(const Pending& pending, const Status& status, NodeId leader_hint);

  // Once for each entry that did something to groups, after its own answer.
  void on_effects(const GroupEffects& effects);

  // This node leads the shard no more, or its state came from elsewhere: clients ask again.
  void end_waits(ShardId shard, NodeId leader);

  // Once per tick: waits whose deadline has passed.
  void on_tick();

  Tick next_deadline() const {
    return judging_.under_way() ? env_.clock.now + 1 : waits_.next_deadline();
  }

  std::size_t wait_count() const { return waits_.size(); }

 private:
  // Names of groups that pending entries are about, by their `group`.
  std::uint64_t keep_name(std::string_view name);
  std::string take_name(const Pending& pending);
  bool admit(const ClientRequest& request);
  bool full() const;
  Tick deadline_of(std::uint32_t wait_ms) const;
  void wait_at_barrier(ShardId shard, const GroupWait& wait);
  std::optional<std::vector<std::byte>> view_after(ShardId shard,
                                                   const GroupWait& wait,
                                                   bool last) const;
  void send_view(const GroupWait& wait, std::span<const std::byte> view);
  void tell_view(ShardId shard, NameHash group);
  void end(const GroupWait& wait, const protocol::ReplySlot& reply, std::string_view why = {});
  void end_released(ShardId shard, NameHash group, std::uint64_t generation);
  bool due(ShardId shard, NameHash group, GroupWait& wait);

  GroupEnvironment env_;
  GroupWaits waits_;
  JudgingRound judging_;
  std::unordered_map<std::uint64_t, std::string> names_;
  std::uint64_t name_last_ = 0;
};

}  // namespace gcoord::server
