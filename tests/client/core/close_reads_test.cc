// Reads of what a client knows, while it is closed by another thread.
#include "tests/client/client_fixture.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::RequestKind;

constexpr auto kClosed = static_cast<std::uint32_t>(protocol::ErrorCode::ClientClosed);

class CloseReads : public ClientTest {
 protected:
  CloseReads() {
    cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
      const bool waits = request.slot.kind == RequestKind::LockCheck;
      return waits ? std::nullopt : std::optional{friendly_reply(request)};
    });
  }
};

// They read at once, while the client's thread failed the calls that had come last.
TEST_F(CloseReads, WaitForTheLastWorkOfTheClientsThread) {
  Client client = connect();
  std::future<ClientStatistics> read;
  std::future_status during{};
  // The first fails when the end begins, the second, made by its callback, when the thread takes
  // nothing more, and the third after that.
  const auto third = [&](const Result<Verdict>& /*closed*/) {
    read = std::async(std::launch::async, [&client] { return client.statistics(); });
    during = read.wait_for(std::chrono::milliseconds{200});
  };
  const auto second = [&](const Result<Verdict>& /*closed*/) { client.check_async("c", 1, third); };
  client.check_async(
      "a", 1, [&](const Result<Verdict>& /*closed*/) { client.check_async("b", 1, second); });
  cluster_.wait_for(RequestKind::LockCheck, 1);
  ASSERT_TRUE(client.close().ok());
  ASSERT_TRUE(read.valid());
  EXPECT_EQ(during, std::future_status::timeout);
  EXPECT_EQ(read.get().requests, client.statistics().requests);
}

// For ThreadSanitizer.
TEST_F(CloseReads, OfManyThreadsComeToAnEnd) {
  Client client = connect();
  std::atomic<bool> closed{false};
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      while (!closed.load()) {
        EXPECT_EQ(client.cluster().nodes.size(), 3u);
        client.check_async("a", 1, [](const Result<Verdict>& /*closed*/) {});
        EXPECT_GT(client.statistics().requests, 0u);
      }
    });
  }
  cluster_.wait_for(RequestKind::LockCheck, 10);
  ASSERT_TRUE(client.close().ok());
  closed = true;
}

// They said that a majority of the nodes is not connected, which was true and not the reason.
TEST_F(CloseReads, AListOfAClientThatReachedNoMajoritySaysThatItIsClosed) {
  cluster_.keep_waiting(NodeId{2});
  cluster_.keep_waiting(NodeId{3});
  auto connected = Client::connect(options());
  ASSERT_TRUE(connected.ok()) << connected.status().to_string();
  Client client = std::move(connected).value();
  auto under_way = std::async(std::launch::async, [&client] { return client.list({}).status(); });
  ASSERT_TRUE(client.close().ok());
  EXPECT_EQ(under_way.get().detail(), kClosed);
  EXPECT_EQ(client.list({}).status().detail(), kClosed);
  EXPECT_EQ(client.list_sessions({}).status().detail(), kClosed);
}

TEST_F(CloseReads, AListOfAClientThatLostItsNodesSaysThatItIsClosed) {
  Client client = connect();
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_.stop_node(NodeId{node});
  }
  const auto connected = [&client] {
    const std::vector<NodeView> nodes = client.cluster().nodes;
    return std::ranges::any_of(nodes, &NodeView::connected);
  };
  while (connected()) {
    std::this_thread::yield();  // The client has yet to hear of it.
  }
  ASSERT_TRUE(client.close().ok());
  EXPECT_EQ(client.list({}).status().detail(), kClosed);
}

}  // namespace
}  // namespace gcoord::client
