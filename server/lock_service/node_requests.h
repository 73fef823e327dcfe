// The requests about the node itself: status, shards, leaders, the deadlocks that it found.
//
// Answered at once from what this node knows; nothing here is linearizable. Lists of many shards
// and leaders take milliseconds: where answer_in_parts() was called, they are made in parts, one of
// them at a time. One thread, the node's loop.
#pragma once

#include "protocol/lock_messages.h"
#include "server/deadlocks/watch.h"
#include "server/interfaces/node_reports.h"
#include "server/requests/client_request.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_log.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::server {

class NodeRequests {
 public:
  struct Environment {
    ReplyWriter& replies;
    const ServiceLog& log;
    const DeadlockWatch& deadlocks;
  };

  NodeRequests(std::uint32_t shard_count, const Environment& environment)
      : shard_count_(shard_count), env_(environment) {}

  // Before the first request.
  void start(const NodeReports& reports) { reports_ = &reports; }

  void node_status(const ClientRequest& request);
  void shard_show(const ClientRequest& request);
  void deadlocks(const ClientRequest& request);

  // What a witness has nothing to answer from: refused, with the leader of the request's shard.
  void refuse_stateless(const ClientRequest& request);

  // ShardList and LeaderMap. None of many shards may come while under_way().
  void shard_range(const ClientRequest& request);

  // From now on a request of more than kShardsOfPart shards is only begun by shard_range().
  void answer_in_parts() { in_parts_ = true; }

  // Whether one is begun and not answered yet; go_on() does another part of it, and answers it at
  // the end.
  bool under_way() const { return range_.has_value(); }

  void go_on();

  // Of one part: some tenths of a millisecond.
  static constexpr std::uint32_t kShardsOfPart = 64;

  // Whether it asks for no more shards than one part has, and so costs little.
  static bool is_small(const ClientRequest& request);

 private:
  // An answer that is being made.
  struct Range {
    protocol::ConnectionId connection;
    protocol::RequestSlot slot;
    protocol::ShardRange left;
    protocol::LeaderMap leaders;
    std::string rows;
  };

  Range begin(const ClientRequest& request, protocol::ShardRange range) const;
  void add_part(Range& range) const;
  void finish(Range& range);
  void answer(const ClientRequest& request, const std::string& json);

  std::uint32_t shard_count_;
  Environment env_;
  const NodeReports* reports_ = nullptr;
  bool in_parts_ = false;
  std::optional<Range> range_;
};

}  // namespace gcoord::server
