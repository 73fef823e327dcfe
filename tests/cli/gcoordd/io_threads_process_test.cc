// Real nodes whose client sockets I/O threads serve, by each way to the kernel that there is here.
#include "protocol/hello.h"
#include "server/client_io/open_backend.h"
#include "tests/cli/process_cluster.h"
#include "tests/cli/programs.h"
#include "tests/server/endpoints/raw_client.h"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::cli {
namespace {

class IoThreadsProcessTest : public testing::TestWithParam<server::IoBackendWish> {
 protected:
  void SetUp() override {
    const auto opened = server::open_backend(GetParam());
    if (!opened.ok()) {
      GTEST_SKIP() << opened.status().message();
    }
    const std::string backend{server::io_backend_wish_name(GetParam())};
    node_ = std::make_unique<DevNode>(std::vector<std::string>{
        "--io-threads", "2", "--io-backend", backend, "--listen-metrics", "127.0.0.1:0"});
  }

  std::uint16_t port() const {
    const std::string& endpoint = node_->endpoint();
    return static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
  }

  // The lines of the page of metrics that begin so.
  std::vector<std::string> metric_lines(const std::string& begin) const {
    const std::string& endpoint = node_->metrics();
    asio::ip::tcp::iostream stream;
    stream.expires_after(kPatience);
    stream.connect(endpoint.substr(0, endpoint.find(':')), endpoint.substr(endpoint.find(':') + 1));
    stream << "GET /metrics HTTP/1.0\r\nHost: node\r\n\r\n" << std::flush;
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with(begin)) {
        lines.push_back(line.substr(0, line.find('\r')));
      }
    }
    return lines;
  }

  static std::vector<std::byte> frame_of(protocol::FrameBuilder& builder) {
    std::vector<std::byte> bytes;
    builder.finish(bytes);
    return bytes;
  }

  std::unique_ptr<DevNode> node_;
};

// A new connection goes to the thread that has fewer: with one that stays, these alternate.
TEST_P(IoThreadsProcessTest, ASessionIsTheSameOverEveryConnection) {
  const Ctl ctl = node_->ctl();
  const auto session = ctl.json({"session", "open", "--ttl", "60s"});
  const std::string id = session["session"].get<std::string>();
  asio::io_context context;
  std::vector<std::unique_ptr<server::RawClient>> stay;
  for (int k = 0; k < 4; ++k) {
    stay.push_back(std::make_unique<server::RawClient>(context, port()));
    const std::string name = "name/" + std::to_string(k);
    const auto lock = ctl.json({"lock", "acquire", name, "--session", id});
    const std::string token = lock["token"].get<std::string>();
    EXPECT_EQ(ctl({"lock", "acquire", name, "--try"}).code, 6) << "held by another";
    EXPECT_EQ(ctl({"lock", "release", name, "--session", id, "--token", token}).code, 0);
  }
  EXPECT_EQ(ctl({"session", "keep-alive", id, "--once"}).code, 0);
  EXPECT_EQ(ctl({"session", "close", id}).code, 0);
}

TEST_P(IoThreadsProcessTest, LoadsOfLocksAndWatchesAreServed) {
  const Ctl ctl = node_->ctl();
  const Finished locks =
      ctl({"bench", "lock", "--clients", "16", "--pipeline", "8", "--duration", "1s"});
  EXPECT_EQ(locks.code, 0) << locks.out << locks.err;
  const Finished watches =
      ctl({"bench", "watch", "--rate", "200", "--clients", "8", "--duration", "1s"});
  EXPECT_EQ(watches.code, 0) << watches.out << watches.err;
}

// They fill all that the node takes of them; others notice nothing, and the node stops at once.
TEST_P(IoThreadsProcessTest, OthersAreServedBesideClientsThatNeverRead) {
  asio::io_context context;
  std::vector<std::unique_ptr<server::RawClient>> deaf;
  for (int k = 0; k < 4; ++k) {
    deaf.push_back(std::make_unique<server::RawClient>(context, port()));
    protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    hello.request_id = 1;
    builder.add(hello, protocol::encode(protocol::Hello{}));
    deaf.back()->send(frame_of(builder));
    bool takes = true;  // Whole frames: after a part of one, nothing else is sent.
    for (int frame = 0; frame < 200 && takes; ++frame) {
      for (std::uint64_t id = 2; id < 200; ++id) {
        protocol::RequestSlot status;
        status.kind = protocol::RequestKind::NodeStatus;
        status.request_id = id;
        builder.add(status);
      }
      const std::vector<std::byte> bytes = frame_of(builder);
      takes = deaf.back()->send(bytes) == bytes.size();
    }
  }
  const Ctl ctl = node_->ctl();
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(ctl({"lock", "acquire", "beside/" + std::to_string(k), "--ttl", "10s"}).code, 0);
  }
  EXPECT_THAT(metric_lines("gcoord_server_connections "),
              testing::ElementsAre("gcoord_server_connections 4"))
      << "they are there still";
  EXPECT_THAT(
      metric_lines("gcoord_server_client_frames_bad_total"),
      testing::AllOf(testing::SizeIs(testing::Gt(5u)), testing::Each(testing::EndsWith(" 0"))));
  node_->child().signal(SIGTERM);
  EXPECT_EQ(node_->child().wait_for(kPatience), 0);
}

std::string backend_name(const testing::TestParamInfo<server::IoBackendWish>& param) {
  return param.param == server::IoBackendWish::Epoll ? "Epoll" : "IoUring";
}

INSTANTIATE_TEST_SUITE_P(Backends,
                         IoThreadsProcessTest,
                         testing::Values(server::IoBackendWish::Epoll,
                                         server::IoBackendWish::IoUring),
                         backend_name);

// Threads of clients beside those of a turn, and none on one of the nodes.
class IoThreadsClusterTest : public ProcessCluster {
 protected:
  IoThreadsClusterTest() : ProcessCluster(64, {{}, {"--io-threads", "1"}, {"--io-threads", "3"}}) {}
};

TEST_F(IoThreadsClusterTest, NodesMayDifferAndClientsDoNotNoticeARestart) {
  client::Client one = connect(1);
  client::Client other = connect(2);
  client::Session session = open(one);
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    for (int k = 0; k < 8; ++k) {
      auto lock = session.acquire("name/" + std::to_string(k));
      ASSERT_TRUE(lock.ok()) << lock.status().to_string();
      client::Session rival = open(other);
      EXPECT_FALSE(rival.try_acquire("name/" + std::to_string(k)).ok());
    }
    restart(node);
  }
}

}  // namespace
}  // namespace gcoord::cli
