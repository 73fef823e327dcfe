// Reads that say how fresh their answer must be, from any replica: LockRead and LockReadList.
//
//   linearizable, lease  the leader confirms that it leads (by a round of the quorum, or by its
//                        lease where it is valid), as lock_reads.h does
//   serializable         at once, from what is applied here; the answer says how old at most. Some
//                        leaders cannot tell by their clock whether their lease is valid. Such a
//                        leader has its row say so first, which waits for no other node. Not in
//                        time: the answer says what is known
//   bounded              when the state is known to be no older than asked (replica_ages.h): the
//                        leaders are asked if need be. Not in time: StalenessExceeded
//   monotonic            when the shards have applied the positions asked for. Not in time:
//                        IndexNotReached
//
// A request waits for all its shards and is answered whole, each shard with its own index, age and
// error. Bounded by the limits of the protocol, kReadBytesMax and a number of rows per tick that
// lists look at. One thread.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/read_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/interfaces/log_limits.h"
#include "server/reads/lock_reads.h"
#include "server/reads/replica_ages.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

class ReplicaReads {
 public:
  struct Environment {
    // Asks the engine for a confirmation; `group` comes back through on_confirmed.
    std::function<void(ShardId, std::uint64_t group, ReadMode)> confirm;
    std::function<bool(ShardId)> leads;
    std::function<NodeId(ShardId)> leader_hint;
    std::function<LogIndex(ShardId)> applied;
    std::function<protocol::LockRow(const locks::HeldLock&)> describe;
    // Whether a list may show the client the lock of this name.
    std::function<bool(protocol::ConnectionId, std::string_view name)> lists;
    LockReads::Answer answer;
  };

  ReplicaReads(std::uint32_t shard_count,
               const locks::LockCpu& locks,
               ReplicaAges& ages,
               Environment doors);

  // A request of kind LockRead or LockReadList.
  void start(protocol::ConnectionId connection,
             const protocol::RequestSlot& request,
             std::span<const std::byte> payload,
             std::uint64_t now_us);

  // One shard of a group was confirmed, or could not be. The group may have been given up.
  void on_confirmed(std::uint64_t group,
                    ShardId shard,
                    const Status& status,
                    NodeId leader_hint,
                    std::uint64_t now_us);

  // Something was applied in the shard, or its age is known better: who waits for it may go on.
  void on_news(ShardId shard, std::uint64_t now_us) {
    if (!waits_.empty()) {
      look_again(shard, now_us);
    }
  }

  // Once per tick: ends what waited for too long, and asks again for what may have been lost.
  void on_tick(std::uint64_t now_us);

  bool waiting() const { return !deadlines_.empty(); }

  std::size_t group_count() const { return groups_.size(); }

  std::size_t held_bytes() const { return held_bytes_; }

 private:
  struct Part {
    protocol::ShardAnswer answer;
    LogIndex needed;                 // Of a monotonic read.
    bool open = true;                // Not decided yet.
    bool asked = false;              // The engine confirms it,
    std::uint64_t confirmed_us = 0;  // and did so then.
  };

  struct Group {
    protocol::ConnectionId connection;
    protocol::RequestSlot request;
    std::vector<std::byte> payload;
    protocol::ReadTerms terms;
    std::map<std::uint32_t, Part> parts;  // By shard.
    std::size_t open_count = 0;
    std::uint64_t deadline_us = 0;

    std::size_t held_bytes() const;
  };

  void start_read(Group group, std::uint64_t now_us);
  void start_list(Group group, std::uint64_t now_us);
  void begin(Group group, std::uint64_t now_us);
  void begin_part(std::uint64_t id, Group& group, ShardId shard, std::uint64_t now_us);
  bool fresh(const Group& group, ShardId shard, const Part& part, std::uint64_t now_us) const;
  void look_again(ShardId shard, std::uint64_t now_us);
  void close_part(Group& group, Part& part, protocol::ErrorCode error);
  void finish_if_done(std::uint64_t id, std::uint64_t now_us);
  bool proves(const Group& group) const;
  void give_up(std::uint64_t id, std::uint64_t now_us);
  void stop_waiting(std::uint64_t id, const Group& group);
  void settle(const Group& group, Part& part, std::uint64_t now_us) const;
  void refuse_moved(Group& group) const;
  void finish(Group& group, std::uint64_t now_us);
  void finish_read(const Group& group);
  void finish_list(const Group& group, std::uint64_t now_us);
  protocol::NameAnswer answer_for(const Group& group,
                                  protocol::ReadQuestion question,
                                  const protocol::TokenCheck& name) const;
  protocol::ShardAnswer position(ShardId shard, std::uint64_t now_us) const;
  void refuse(const Group& group, protocol::ErrorCode error);

  std::uint32_t shard_count_;
  const locks::LockCpu& locks_;
  ReplicaAges& ages_;
  Environment environment_;
  std::unordered_map<std::uint64_t, Group> groups_;
  std::uint64_t group_last_ = 0;
  std::size_t held_bytes_ = 0;
  std::unordered_map<std::uint32_t, std::set<std::uint64_t>> waits_;  // Shard to groups.
  std::set<std::pair<std::uint64_t, std::uint64_t>> deadlines_;       // Of groups that wait.
  std::uint32_t rows_listed_ = 0;                                     // Since the last tick.
};

}  // namespace gcoord::server
