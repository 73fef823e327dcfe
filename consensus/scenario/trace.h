// The trace of a scenario: one line per thing that happened, in order.
//
// Always there: role and term changes with their cause, refused proposals, read verdicts, installed
// snapshots, cut logs, dropped messages. Commits are on at the
// start; the other topics are off until they are asked for. Host only.
#pragma once

#include "consensus/scenario/observer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::consensus::scenario {

enum class Topic : std::uint8_t {
  Commits,     // "1: commit 3"
  Applied,     // "1: applied 3"
  Leaders,     // "1: follows 2 term=4"
  Proposals,   // "1: accepted 3..4"
  Messages,    // "1>2 Vote term=2 last=0/0"
  Deliveries,  // "2< 1>2 Vote term=2 last=0/0"
  Storage,     // "1: persist term=2 vote=1 entries=3..4"
  Liveness,    // "1: node 2 lost"
};

std::optional<Topic> topic_named(std::string_view name);

class Trace final : public Observer {
 public:
  // Lines name the shard ("1.7: ...") where there is more than one.
  explicit Trace(std::uint32_t shard_count) : shard_count_(shard_count) {}

  void set_topic(Topic topic, bool on);

  // The lines since the last call.
  std::vector<std::string> take();

  // Messages that replicas sent since the last call, whatever became of them.
  std::uint64_t take_sent_count();

  void on_step(const StepReport& report) override;
  void on_send(const Packet& packet, SendFate fate, const Replica& sender) override;
  void on_liveness(NodeId node, const PeerLiveness& peer, LivenessChange change) override;
  void on_persist(NodeId node, ShardId shard, const StorageRequest& request) override;
  void on_durable(NodeId node, ShardId shard, const StorageAck& ack) override;
  void on_unroutable(NodeId node) override;

 private:
  bool on(Topic topic) const { return (topics_ >> static_cast<std::uint32_t>(topic) & 1u) != 0; }

  std::string place(NodeId node, ShardId shard) const;
  void role_line(const StepReport& report, const std::string& at);
  void verdict_lines(const StepReport& report, const std::string& at);
  void log_lines(const StepReport& report, const std::string& at);

  std::uint32_t shard_count_;
  std::uint32_t topics_ = 1u << static_cast<std::uint32_t>(Topic::Commits);
  std::uint64_t sent_count_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace gcoord::consensus::scenario
