// Surroundings of a node's loop in microbenchmarks: a log that leads every shard, reports that
// say nothing, and the processor time of the thread.
#pragma once

#include "server/interfaces/replicated_log.h"
#include "server/lock_service/lock_service.h"

#include <ctime>
#include <string>

namespace gcoord::server {

class LeadingLog : public ReplicatedLog {
 public:
  void read(ShardId, std::uint64_t) override {}

  ShardView view(ShardId shard) const override {
    ShardView result;
    result.shard = shard;
    result.role = consensus::Role::Leader;
    result.leader = NodeId{1};
    result.term = Term{3};
    return result;
  }

  NodeView view() const override { return {}; }

  bool send_peer_message(NodeId, std::span<const std::byte>) override { return true; }
};

class SilentReports final : public NodeReports {
 public:
  std::string node_status() const override { return {}; }

  std::string shard_list_begin(ShardId) const override { return {}; }

  std::string shard_rows(const protocol::ShardRange&) const override { return {}; }

  std::string shard_show(ShardId) const override { return {}; }
};

// Of this thread: a machine that is shared interrupts it.
inline double processor_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace gcoord::server
