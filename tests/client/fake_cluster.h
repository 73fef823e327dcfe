// Nodes that speak the client protocol, on loopback unless a test wants more, and otherwise do what
// a test tells them.
//
// Every request except Hello goes to the test's answer function, on the cluster's own thread; it
// returns a reply, or nothing to leave the request unanswered. What arrived is kept for the test to
// look at and to wait for. Thread-safe.
#pragma once

#include "client/net/asio.h"
#include "protocol/error_codes.h"
#include "protocol/frame.h"
#include "protocol/hello.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::client {

struct FakeRequest {
  NodeId node;
  protocol::RequestSlot slot;
  std::string payload;
  // Frames of the connection that were answered before, and this one: round trips since it began.
  std::uint32_t flight = 0;
};

struct FakeReply {
  protocol::ReplySlot slot;
  std::string payload;
  bool hang_up = false;           // Close the connection instead of answering.
  std::vector<FakeReply> then{};  // What follows at once, in this order; without more behind them.
};

class FakeCluster {
 public:
  using Answer = std::function<std::optional<FakeReply>(const FakeRequest&)>;

  // Each node listens at its address of `hosts`, those behind them on loopback.
  explicit FakeCluster(std::uint32_t node_count,
                       std::uint32_t shard_count = 16,
                       const std::vector<std::string>& hosts = {});
  ~FakeCluster();

  // Addresses of all nodes, node 1 first.
  std::vector<std::string> endpoints() const;

  void answer_with(Answer answer);

  // Node 1 does not know this node's address and says so. Before any client connects.
  void hide_from_first(NodeId node) { hidden_ = node; }

  // Node 1 takes this node to be at another address. Before any client connects.
  void misplace_at_first(NodeId node, std::string address) {
    misplaced_ = {node, std::move(address)};
  }

  // Welcomes name these nodes alone, of the view of this epoch. For connections that are yet to
  // come.
  void name_in_welcomes(std::vector<NodeId> nodes, std::uint64_t view_epoch);

  // Whether a client is connected to the node.
  bool is_connected(NodeId node);

  // The node says that it does not have the feature. For connections that are yet to come.
  void deny(NodeId node, protocol::Feature feature);

  // Closes the node's listener and connections; start_node() listens on the same port again.
  void stop_node(NodeId node);
  void start_node(NodeId node);

  // The node's connections are made but nothing is answered, until they go on.
  void keep_waiting(NodeId node);
  void go_on(NodeId node);

  // What arrived so far, of one kind.
  std::vector<FakeRequest> requests(protocol::RequestKind kind) const;

  // Waits until `count` requests of the kind have arrived, and returns them. Fails the test when
  // the client does not send them within a minute: not a measure, only an end.
  std::vector<FakeRequest> wait_for(protocol::RequestKind kind, std::size_t count) const;

 private:
  struct Peer;
  struct Node;

  void listen(Node& node);
  void accept(Node& node);
  void read(const std::shared_ptr<Peer>& peer);
  void on_frame(Peer& peer, const protocol::FrameView& frame);
  std::optional<FakeReply> reply_for(const FakeRequest& request);
  protocol::Welcome welcome(NodeId node) const;
  void run_on_thread(std::function<void()> action);

  std::uint32_t shard_count_;
  NodeId hidden_;
  std::pair<NodeId, std::string> misplaced_;
  asio::io_context context_{1};
  std::vector<std::unique_ptr<Node>> nodes_;
  mutable std::mutex mutex_;  // Guards arrived_, answer_, denied_, named_ and view_epoch_.
  mutable std::condition_variable arrival_;
  std::vector<FakeRequest> arrived_;
  Answer answer_;
  std::map<std::uint32_t, std::uint64_t> denied_;  // Features, by node.
  std::vector<NodeId> named_;                      // Empty: all.
  std::uint64_t view_epoch_ = 0;
  std::thread thread_;
};

// The usual replies.
FakeReply ok_reply(const FakeRequest& request);
FakeReply error_reply(const FakeRequest& request,
                      protocol::ErrorCode code,
                      NodeId leader = NodeId{});

// Grants with token 7, opens session 41, acknowledges keep-alives, says yes to the rest.
FakeReply friendly_reply(const FakeRequest& request);

}  // namespace gcoord::client
