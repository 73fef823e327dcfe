// Reads of what a client knows, while it is closed by another thread.
#include "tests/client/client_fixture.h"

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::RequestKind;

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

}  // namespace
}  // namespace gcoord::client
