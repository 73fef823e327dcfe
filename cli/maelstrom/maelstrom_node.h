// gcoord-node: one node as a conversation of JSON lines in Maelstrom's message format, so that
// anyone can be the network between nodes.
//
//   {"src","dest","body":{"type","msg_id"?,"in_reply_to"?,...}}
//
// Clients say init, read, write and cas; nodes say gcoord among themselves, whose bytes mean
// something to them only and may be lost, repeated, reordered or late. The node is the whole engine
// of gcoordd (log, checkpoints, elections) with registers as its service. A request that reaches a
// follower is passed on to the leader. One thread; lines in by on_line, lines out by the callback.
#pragma once

#include "cli/maelstrom/register_service.h"
#include "common/host/metrics.h"
#include "common/json/value.h"
#include "common/status.h"
#include "netcore/transport/simulated_network.h"
#include "server/host_turn/host_replicas.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

struct MaelstromNodeOptions {
  std::filesystem::path directory;  // Of this node alone; exists.
  std::uint32_t shards = 16;
};

class MaelstromNode {
 public:
  using Send = std::function<void(const Json& message)>;

  MaelstromNode(MaelstromNodeOptions options, Send send);
  ~MaelstromNode();
  MaelstromNode(const MaelstromNode&) = delete;
  MaelstromNode& operator=(const MaelstromNode&) = delete;

  // One line from stdin. What is no message is dropped and counted.
  void on_line(std::string_view line);

  // Lets the engine work until it has nothing to do.
  void run_turns();

  // As HostReplicas's; empty and long before init.
  std::vector<int> event_fds() const;
  std::chrono::milliseconds until_next_deadline() const;

  // Why the node cannot go on; OK while it can.
  Status failure() const;

  std::uint64_t dropped() const { return dropped_; }

 private:
  // Who asked: a client, or a node that passes on what its client asked.
  struct Asker {
    std::string client;  // Empty: a node.
    Json msg_id;
    NodeId node;
    std::uint64_t node_cookie = 0;
  };

  void on_init(const std::string& src, const Json& body);
  Status open_engine(std::uint32_t own_number, std::uint32_t node_count);
  void on_request(const std::string& src, const Json& body);
  void pass_on(NodeId leader, std::uint64_t cookie, const Json& command);
  void execute(std::uint64_t cookie, const Json& command);
  void on_bytes(const std::string& src, const Json& body);
  void on_peer(NodeId from, std::span<const std::byte> message);
  void answer(std::uint64_t cookie, const Json& body);
  void reply(const std::string& dest, const Json& msg_id, Json body);
  void send_bytes();
  ShardId shard_of_key(const std::string& key) const;

  MaelstromNodeOptions options_;
  Send send_;
  std::string name_;
  std::vector<std::string> names_;  // Of all nodes; their numbers are places, from 1.
  NodeId number_;
  MetricsRegistry metrics_;
  // The transport's own end of the network that is outside: what leaves goes into messages, what
  // comes in messages is put here.
  netcore::SimulatedNetwork mailbox_;
  std::unique_ptr<RegisterService> service_;
  std::unique_ptr<server::HostReplicas> engine_;
  std::map<std::uint64_t, Asker> askers_;  // By cookie.
  std::uint64_t next_cookie_ = 0;
  std::uint64_t dropped_ = 0;
  Status failure_;
};

}  // namespace gcoord::cli
