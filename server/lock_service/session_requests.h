// The requests about sessions: open, grant, show, list, keep-alive, close, losses.
//
// Keep-alives never enter the log: they renew all registrations of this node. A grant is a command;
// a close is one command in every shard that knows the session, answered when the last is done. The
// session's home shard speaks for it where one word is needed. The fields were checked by
// protocol::check_request(). One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "server/lock_service/command_submitter.h"
#include "server/requests/client_request.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_log.h"
#include "server/requests/session_admission.h"
#include "server/requests/shard_leaders.h"
#include "server/sessions/heard.h"
#include "server/sessions/views.h"
#include "server/waits/pending_table.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gcoord::server {

class SessionRequests {
 public:
  struct Environment {
    CommandSubmitter& submitter;
    ReplyWriter& replies;
    ServiceLog& log;
    const ShardLeaders& leaders;
    const ServiceClock& clock;
    locks::LockCpu& locks;
    SessionViews& views;
    SessionAdmission& admission;
  };

  SessionRequests(std::uint32_t shard_count, const Environment& environment)
      : shard_count_(shard_count), env_(environment) {}

  // Before the first request: the ids of sessions are made of both.
  void start(NodeId node, Incarnation incarnation);

  // The epoch of this node's cluster view, which acknowledgements of keep-alives say.
  void set_view_epoch(std::uint64_t epoch) { view_epoch_ = epoch; }

  // Of a witness: where it notes what it acknowledges. Outlives this.
  void set_heard(HeardSessions* heard) { heard_ = heard; }

  void open(const ClientRequest& request);

  // Registers the session in its home shard, through the log.
  void grant(const ClientRequest& request);

  // The leader of the home answers: that a session is gone is its word, given once it is known to
  // lead. What other shards know of the session is as fresh as this node's replicas of them.
  void show(const ClientRequest& request);
  void list(const ClientRequest& request);
  void keep_alive(const ClientRequest& request);

  // Ends the session in every shard of the request that is led here and knows it.
  void close(const ClientRequest& request);

  // Locks that were broken by force, of what this node has applied, leader or not: what was lost
  // stays lost.
  void losses(const ClientRequest& request);

  // One shard's part of a close was applied, or could not be.
  void on_closed(const Pending& pending, protocol::ErrorCode error, NodeId leader_hint);

  // The look at the home shard for show() was confirmed, or could not be.
  void on_confirmed(const Pending& pending, const Status& status, NodeId leader_hint);

 private:
  // A close over several shards; answered when the last one is done.
  struct CloseGroup {
    protocol::ConnectionId connection;
    protocol::RequestSlot request;
    std::uint64_t started_us = 0;
    std::size_t outstanding = 0;
    protocol::ErrorCode worst = protocol::ErrorCode::None;
    NodeId leader_hint;
  };

  bool admitted() const;
  sessions::RenewOutcome renew(SessionId session);
  std::vector<ShardId> led_shards_of(SessionId session) const;
  void look_at_time(const CloseGroup& group);
  void propose_close(const ClientRequest& request, const std::vector<ShardId>& shards);

  std::uint32_t shard_count_;
  Environment env_;
  std::uint64_t id_prefix_ = 0;
  std::uint64_t opened_count_ = 0;
  std::uint64_t view_epoch_ = 0;
  HeardSessions* heard_ = nullptr;             // None but on a witness.
  std::unordered_set<std::uint64_t> renewed_;  // In the tick renewed_at_; see renew().
  Tick renewed_at_;
  std::unordered_map<std::uint64_t, CloseGroup> closes_;
  std::uint64_t close_last_ = 0;
};

}  // namespace gcoord::server
