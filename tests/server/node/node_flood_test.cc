// A whole node in this process, flooded with status requests by clients that do not read.
#include "common/http/client.h"
#include "common/json/text.h"
#include "protocol/hello.h"
#include "protocol/lock_messages.h"
#include "server/debug/pages.h"
#include "server/node/dear_requests.h"
#include "server/node/node.h"
#include "server/start/node_start.h"
#include "tests/scratch_folder.h"
#include "tests/server/endpoints/raw_client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::RequestKind;

constexpr std::uint32_t kShards = 1000;  // Of more parts than one.

// One node, alone in its cluster, that serves until this ends.
class RunningNode {
 public:
  RunningNode() {
    NodeOptions options;
    options.cluster = ClusterId{77};
    options.data_dir = folder_.path("node");
    options.shards = kShards;
    options.durability = Durability::Memory;
    options.listen_client = {"127.0.0.1", 0};
    options.listen_peer = {"127.0.0.1", 0};
    options.listen_metrics = {"127.0.0.1", 0};
    options.advertise_client = options.listen_client;
    NodeStart start;
    start.invocation.options = options;
    auto opened = Node::open(std::move(start), {});
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    node_ = std::move(opened).value();
    thread_ = std::thread([this] { ended_ = node_->run({[this] { ready_.set_value(); }, [] {}}); });
    ready_.get_future().wait();
  }

  ~RunningNode() {
    ::kill(::getpid(), SIGTERM);  // The node catches it.
    thread_.join();
    EXPECT_TRUE(ended_.ok()) << ended_.to_string();
  }

  std::uint16_t client_port() const { return node_->ports().client; }

  // The value of a metric without labels; 0 if there is none of that name.
  double metric(const std::string& name) const {
    HttpClient http({.host = "127.0.0.1", .port = std::to_string(node_->ports().metrics)});
    const auto page =
        http.get("/metrics", {.timeout = std::chrono::seconds(10), .body_bytes_max = 1u << 24});
    EXPECT_TRUE(page.ok()) << page.status().to_string();
    const std::size_t at = page.value().body.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::stod(page.value().body.substr(at + name.size() + 2));
  }

 private:
  ScratchFolder folder_;
  std::unique_ptr<Node> node_;
  std::promise<void> ready_;
  std::thread thread_;
  Status ended_;
};

class Caller {
 public:
  Caller(asio::io_context& context, std::uint16_t port) : client_(context, port) {
    ask(RequestKind::Hello, protocol::encode(protocol::Hello{}));
  }

  void ask(RequestKind kind, std::span<const std::byte> payload = {}, std::size_t times = 1) {
    for (std::size_t k = 0; k < times; ++k) {
      protocol::RequestSlot slot;
      slot.kind = kind;
      slot.request_id = ++asked_;
      slot.ttl_ms = kind == RequestKind::OpenSession ? 1000 : 0;
      builder_.add(slot, payload);
    }
    std::vector<std::byte> bytes;
    builder_.finish(bytes);
    ASSERT_EQ(client_.send(bytes), bytes.size());
  }

  // Of the last one.
  std::vector<std::byte> payload() const { return client_.payloads.back(); }

  // The reply to the last request; false after ten seconds, or when it is no success.
  bool answered() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (client_.replies.size() < asked_) {
      if (!client_.receive() || std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      std::this_thread::yield();
    }
    return client_.replies.back().code == StatusCode::Ok;
  }

 private:
  RawClient client_;
  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
  std::size_t asked_ = 0;
};

// Issue 23, A14: 20 of them stopped everybody for seconds, and peers called the leader dead.
TEST(NodeFloodTest, ConnectionsThatDoNotReadStatusRepliesHoldUpNobody) {
  RunningNode node;
  asio::io_context context;
  std::vector<std::unique_ptr<Caller>> flood;
  for (int k = 0; k < 100; ++k) {
    flood.push_back(std::make_unique<Caller>(context, node.client_port()));
    ASSERT_TRUE(flood.back()->answered());
    flood.back()->ask(RequestKind::NodeStatus, {}, 64);
  }
  Caller newcomer(context, node.client_port());
  EXPECT_TRUE(newcomer.answered());
  newcomer.ask(RequestKind::OpenSession);
  EXPECT_TRUE(newcomer.answered());
  newcomer.ask(RequestKind::NodeStatus);
  EXPECT_TRUE(newcomer.answered()) << "dear, and it has its turn";
  const double served = node.metric("gcoord_server_dear_requests_total");
  EXPECT_GE(served, 1);
  EXPECT_LE(served, (node.metric("gcoord_server_turns_total") + 1) * kDearPerPass);
}

// Both are made in parts, over several passes.
TEST(NodeFloodTest, ListsOfManyShardsAreWhole) {
  RunningNode node;
  asio::io_context context;
  Caller caller(context, node.client_port());
  ASSERT_TRUE(caller.answered());
  const auto all = protocol::encode_shard_range({ShardId{0}, 100 * kShards});
  caller.ask(RequestKind::LeaderMap, all);
  ASSERT_TRUE(caller.answered());
  const auto map = protocol::decode_leader_map(caller.payload());
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map.value().first, ShardId{0});
  EXPECT_EQ(map.value().leaders.size(), kShards);
  const auto some = protocol::encode_shard_range({ShardId{3}, 200});
  caller.ask(RequestKind::ShardList, some);
  ASSERT_TRUE(caller.answered());
  const auto bytes = caller.payload();
  const Json list = parse_json(protocol::text_of(bytes));
  ASSERT_EQ(list["rows"].size(), 200u);
  for (std::size_t k = 0; k < 200; ++k) {
    EXPECT_EQ(unsigned_of(list["rows"][k]["shard"]), 3 + k);
  }
  EXPECT_EQ(unsigned_of(list["shards"]), kShards);
  EXPECT_EQ(unsigned_of(list["first"]), 3u);
}

}  // namespace
}  // namespace gcoord::server
