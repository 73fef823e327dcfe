// The requests about the node itself: status, shards, leaders, the deadlocks that it found.
//
// Answered at once from what this node knows; nothing here is linearizable. One thread, the node's
// loop.
#pragma once

#include "server/deadlocks/watch.h"
#include "server/interfaces/node_reports.h"
#include "server/requests/client_request.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_log.h"

#include <cstdint>
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

  // ShardList and LeaderMap.
  void shard_range(const ClientRequest& request);

 private:
  void answer(const ClientRequest& request, const std::string& json);

  std::uint32_t shard_count_;
  Environment env_;
  const NodeReports* reports_ = nullptr;
};

}  // namespace gcoord::server
