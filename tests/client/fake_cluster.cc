#include "tests/client/fake_cluster.h"

#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

namespace gcoord::client {

struct FakeCluster::Node {
  NodeId id;
  asio::ip::address host;
  asio::ip::tcp::acceptor acceptor;
  std::uint16_t port = 0;
  std::vector<std::weak_ptr<Peer>> peers;
};

struct FakeCluster::Peer {
  NodeId node;
  asio::ip::tcp::socket socket;
  protocol::FrameDecoder decoder{protocol::FrameDirection::Requests};
  protocol::FrameBuilder builder{protocol::FrameDirection::Replies};
  std::uint32_t answered_frames = 0;

  void hang_up() {
    asio::error_code ignored;
    socket.close(ignored);
  }
};

FakeCluster::FakeCluster(std::uint32_t node_count,
                         std::uint32_t shard_count,
                         const std::vector<std::string>& hosts)
    : shard_count_(shard_count), answer_(friendly_reply) {
  for (std::uint32_t index = 0; index < node_count; ++index) {
    const auto host =
        asio::ip::make_address(index < hosts.size() ? hosts[index] : std::string{"127.0.0.1"});
    nodes_.push_back(
        std::make_unique<Node>(Node{NodeId{index + 1}, host, asio::ip::tcp::acceptor{context_}}));
    listen(*nodes_.back());
  }
  thread_ = std::thread{[this] {
    const auto work = asio::make_work_guard(context_);
    context_.run();
  }};
}

FakeCluster::~FakeCluster() {
  context_.stop();
  thread_.join();
}

std::vector<std::string> FakeCluster::endpoints() const {
  std::vector<std::string> addresses;
  for (const auto& node : nodes_) {
    addresses.push_back(node->host.to_string() + ":" + std::to_string(node->port));
  }
  return addresses;
}

void FakeCluster::answer_with(Answer answer) {
  const std::lock_guard lock{mutex_};
  answer_ = std::move(answer);
}

void FakeCluster::run_on_thread(std::function<void()> action) {
  std::promise<void> done;
  asio::post(context_, [&] {
    action();
    done.set_value();
  });
  done.get_future().wait();
}

void FakeCluster::stop_node(NodeId node) {
  run_on_thread([&] {
    Node& stopped = *nodes_[node.value - 1];
    asio::error_code ignored;
    stopped.acceptor.close(ignored);
    for (const auto& weak : stopped.peers) {
      if (const auto peer = weak.lock()) {
        peer->hang_up();
      }
    }
  });
}

void FakeCluster::start_node(NodeId node) {
  run_on_thread([&] { listen(*nodes_[node.value - 1]); });
}

// The system accepts for a listener that does not ask.
void FakeCluster::keep_waiting(NodeId node) {
  run_on_thread([&] { nodes_[node.value - 1]->acceptor.cancel(); });
}

void FakeCluster::go_on(NodeId node) {
  run_on_thread([&] { accept(*nodes_[node.value - 1]); });
}

void FakeCluster::listen(Node& node) {
  const asio::ip::tcp::endpoint endpoint{node.host, node.port};
  node.acceptor.open(endpoint.protocol());
  node.acceptor.set_option(asio::socket_base::reuse_address{true});
  node.acceptor.bind(endpoint);
  node.acceptor.listen();
  node.port = node.acceptor.local_endpoint().port();
  accept(node);
}

void FakeCluster::accept(Node& node) {
  node.acceptor.async_accept([this, &node](const asio::error_code& error, auto socket) {
    if (error) {
      return;
    }
    const auto peer = std::make_shared<Peer>(Peer{node.id, std::move(socket)});
    node.peers.push_back(peer);
    read(peer);
    accept(node);
  });
}

void FakeCluster::read(const std::shared_ptr<Peer>& peer) {
  const auto room = peer->decoder.writable();
  peer->socket.async_read_some(asio::buffer(room.data(), room.size()),
                               [this, peer](const asio::error_code& error, std::size_t byte_count) {
                                 if (error) {
                                   return;
                                 }
                                 peer->decoder.written(byte_count);
                                 protocol::FrameView frame;
                                 while (peer->decoder.next(frame) == protocol::DecodeStep::Frame) {
                                   on_frame(*peer, frame);
                                 }
                                 if (peer->socket.is_open()) {
                                   read(peer);
                                 }
                               });
}

void FakeCluster::on_frame(Peer& peer, const protocol::FrameView& frame) {
  for (std::size_t index = 0; index < frame.slot_count(); ++index) {
    const protocol::RequestSlot slot = frame.request(index);
    const FakeRequest request{peer.node,
                              slot,
                              std::string{protocol::text_of(frame.payload(slot))},
                              peer.answered_frames + 1};
    const auto reply = reply_for(request);
    if (reply.has_value() && reply->hang_up) {
      return peer.hang_up();
    }
    if (reply.has_value()) {
      peer.builder.add(reply->slot, protocol::bytes_of(reply->payload));
      for (const FakeReply& each : reply->then) {
        peer.builder.add(each.slot, protocol::bytes_of(each.payload));
      }
    }
  }
  if (!peer.builder.empty()) {
    std::vector<std::byte> bytes;
    peer.builder.finish(bytes);
    ++peer.answered_frames;
    asio::error_code ignored;
    asio::write(peer.socket, asio::buffer(bytes), ignored);
  }
}

std::optional<FakeReply> FakeCluster::reply_for(const FakeRequest& request) {
  if (request.slot.kind == protocol::RequestKind::Hello) {
    FakeReply reply = ok_reply(request);
    reply.payload = protocol::text_of(protocol::encode(welcome(request.node)));
    return reply;
  }
  Answer answer;
  {
    const std::lock_guard lock{mutex_};
    answer = answer_;
  }
  // Decided before a test can see that the request arrived and change its mind.
  auto reply = answer(request);
  {
    const std::lock_guard lock{mutex_};
    arrived_.push_back(request);
  }
  arrival_.notify_all();
  return reply;
}

void FakeCluster::name_in_welcomes(std::vector<NodeId> nodes, std::uint64_t view_epoch) {
  const std::lock_guard lock{mutex_};
  named_ = std::move(nodes);
  view_epoch_ = view_epoch;
}

bool FakeCluster::is_connected(NodeId node) {
  bool connected = false;
  run_on_thread([&] {
    for (const auto& weak : nodes_[node.value - 1]->peers) {
      const auto peer = weak.lock();
      connected = connected || (peer != nullptr && peer->socket.is_open());
    }
  });
  return connected;
}

void FakeCluster::deny(NodeId node, protocol::Feature feature) {
  const std::lock_guard lock{mutex_};
  denied_[node.value] |= static_cast<std::uint64_t>(feature);
}

protocol::Welcome FakeCluster::welcome(NodeId node) const {
  protocol::Welcome welcome;
  welcome.version = protocol::kProtocolVersionMax;
  std::vector<NodeId> named;
  std::uint64_t view_epoch = 0;
  {
    const std::lock_guard lock{mutex_};
    named = named_;
    view_epoch = view_epoch_;
    const auto denied = denied_.find(node.value);
    welcome.features = protocol::kFeatures & ~(denied == denied_.end() ? 0 : denied->second);
  }
  welcome.cluster = ClusterId{77};
  welcome.node = node;
  welcome.shard_count = shard_count_;
  welcome.tick_ms = 10;
  welcome.election_ms = 1000;
  welcome.ttl_ms_min = protocol::kTtlMsMin;
  welcome.ttl_ms_max = protocol::kTtlMsMax;
  if (view_epoch != 0) {
    welcome.connection = node.value;
    welcome.view_epoch = view_epoch;
  }
  for (const auto& each : nodes_) {
    if (!named.empty() && std::ranges::find(named, each->id) == named.end()) {
      continue;
    }
    const bool hidden = node == NodeId{1} && each->id == hidden_;
    const std::string address = each->host.to_string() + ":" + std::to_string(each->port);
    const bool misplaced = node == NodeId{1} && each->id == misplaced_.first;
    welcome.nodes.push_back({each->id,
                             hidden      ? std::string{}
                             : misplaced ? misplaced_.second
                                         : address});
  }
  return welcome;
}

std::vector<FakeRequest> FakeCluster::requests(protocol::RequestKind kind) const {
  const std::lock_guard lock{mutex_};
  std::vector<FakeRequest> found;
  for (const FakeRequest& request : arrived_) {
    if (request.slot.kind == kind) {
      found.push_back(request);
    }
  }
  return found;
}

std::vector<FakeRequest> FakeCluster::wait_for(protocol::RequestKind kind,
                                               std::size_t count) const {
  const auto enough = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(
               arrived_, [&](const FakeRequest& each) { return each.slot.kind == kind; })) >= count;
  };
  {
    std::unique_lock lock{mutex_};
    EXPECT_TRUE(arrival_.wait_for(lock, std::chrono::minutes{1}, enough))
        << count << " x " << protocol::request_kind_name(kind) << " did not arrive";
  }
  return requests(kind);
}

FakeReply ok_reply(const FakeRequest& request) {
  return FakeReply{.slot = protocol::reply_to(request.slot), .payload = {}};
}

FakeReply error_reply(const FakeRequest& request, protocol::ErrorCode code, NodeId leader) {
  FakeReply reply = ok_reply(request);
  reply.slot.code = protocol::find_error(static_cast<std::uint32_t>(code))->status;
  reply.slot.detail = static_cast<std::uint32_t>(code);
  reply.slot.leader = leader.value;
  return reply;
}

FakeReply friendly_reply(const FakeRequest& request) {
  FakeReply reply = ok_reply(request);
  switch (request.slot.kind) {
    case protocol::RequestKind::OpenSession:
      reply.slot.extra = 41;
      reply.slot.ttl_ms = request.slot.ttl_ms;
      break;
    case protocol::RequestKind::KeepAlive:
      reply.payload = protocol::text_of(protocol::encode_keep_alive_reply({}));
      break;
    case protocol::RequestKind::LockAcquire:
    case protocol::RequestKind::LockAcquireHold:
      reply.slot.token = 7;
      reply.slot.epoch = 3;
      reply.slot.ttl_ms = request.slot.ttl_ms;
      break;
    case protocol::RequestKind::LockCheck:
      reply.slot.extra = static_cast<std::uint64_t>(protocol::CheckVerdict::Valid);
      break;
    default:
      break;
  }
  return reply;
}

}  // namespace gcoord::client
