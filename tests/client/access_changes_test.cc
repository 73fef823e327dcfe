// Changes of users and roles by the client library.
#include "protocol/access/messages.h"
#include "protocol/limits/messages.h"
#include "protocol/lock_messages.h"
#include "tests/client/client_fixture.h"

#include <atomic>
#include <thread>

namespace gcoord::client {
namespace {

using protocol::RequestKind;

class AccessClientTest : public ClientTest {
 protected:
  // A leader that has not heard of all nodes the first so many times.
  void not_ready_for(int times) {
    early_ = times;
    cluster_.answer_with([this](const FakeRequest& request) -> std::optional<FakeReply> {
      if (request.slot.kind != RequestKind::AccessChange) {
        return friendly_reply(request);
      }
      if (early_-- > 0) {
        return error_reply(request, protocol::ErrorCode::AccessNotReady);
      }
      FakeReply reply = ok_reply(request);
      reply.payload = protocol::text_of(protocol::encode_access_answer({.epoch = 1}));
      return reply;
    });
  }

  Client connect_in_time() const {
    ClientOptions in_time = options();
    in_time.clock = boot_clock();
    in_time.request_timeout = std::chrono::minutes{1};
    auto client = Client::connect(in_time);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    return std::move(client).value();
  }

  static AccessChange change() { return {.action = AccessAction::RoleAdd, .name = "ops"}; }

  std::atomic<int> early_{0};
  Collected<Result<AccessReport>> told_;
};

TEST_F(AccessClientTest, AChangeThatComesTooEarlyIsSentAgainAsTheSameChange) {
  not_ready_for(2);
  Client client = connect_in_time();
  const auto report = client.change_access(change());
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report.value().epoch, 1u);
  const auto requests = cluster_.requests(RequestKind::AccessChange);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].payload, requests[2].payload);  // Its number is in there.
}

TEST_F(AccessClientTest, WhoWaitsForItIsToldWhenTheClientEndsMeanwhile) {
  not_ready_for(1'000'000);
  {
    Client client = connect_in_time();
    client.change_access_async(change()).then(
        [this](Result<AccessReport> report) { told_.add(std::move(report)); });
    while (cluster_.requests(RequestKind::AccessChange).empty()) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(told_.wait_for(1)[0].status().detail(), 4010u);
}

// It would answer that the request cannot be read, and of an earlier leader that says nothing.
TEST_F(AccessClientTest, ALimitThatAnEarlierReleaseCannotReadIsNotSent) {
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_.deny(NodeId{node}, protocol::Feature::Safeguards);
  }
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LimitsChange) {
      return friendly_reply(request);
    }
    FakeReply reply = ok_reply(request);
    reply.payload = protocol::text_of(protocol::encode_limits_answer({.epoch = 1}));
    return reply;
  });
  Client client = connect_in_time();
  LimitsChange limits{.action = LimitsAction::Set, .limit = {.name = "bob", .sessions = 3}};
  EXPECT_TRUE(client.change_limits(limits).ok());
  limits.limit.session_ttl_ms_max = 5'000;
  EXPECT_EQ(client.change_limits(limits).status().detail(),
            static_cast<std::uint32_t>(protocol::ErrorCode::SafeguardsNotReady));
  EXPECT_EQ(cluster_.requests(RequestKind::LimitsChange).size(), 1u);
}

}  // namespace
}  // namespace gcoord::client
