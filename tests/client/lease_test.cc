// Leases: a name in a session of its own, and what its holder hears before others may have it.
#include "gcoord/lease.h"

#include "protocol/session_messages.h"
#include "tests/client/client_fixture.h"

#include <algorithm>
#include <atomic>
#include <future>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

class LeaseTest : public ClientTest {
 protected:
  void SetUp() override {
    request_timeout_ = 1min;
    cluster_.answer_with([this](const FakeRequest& request) -> std::optional<FakeReply> {
      const bool silent = request.slot.kind == RequestKind::KeepAlive && !answering_.load();
      return silent ? std::nullopt : std::optional{friendly_reply(request)};
    });
  }

  LeaseOptions nine_seconds() {
    return {.ttl = 9s, .on_event = [this](SessionEvent event) { events_.add(event); }};
  }

  static Lease take(Client& client, LeaseOptions options) {
    auto lease = client.take_lease("name", std::move(options));
    EXPECT_TRUE(lease.ok()) << lease.status().to_string();
    return std::move(lease).value();
  }

  std::atomic<bool> answering_{true};
  Collected<SessionEvent> events_;
};

TEST_F(LeaseTest, HoldsItsNameInASessionOfItsOwn) {
  Client client = connect();
  const Lease lease = take(client, nine_seconds());
  EXPECT_EQ(lease.name(), "name");
  EXPECT_EQ(lease.fence(), 7u);
  EXPECT_EQ(lease.session_id(), 41u);
  EXPECT_EQ(lease.ttl(), 9s);
  EXPECT_EQ(cluster_.requests(RequestKind::LockAcquire)[0].slot.session, 41u);
}

// The cluster may end it 9 s after the last acknowledged keep-alive was sent; the margin is 1 % of
// that and 10 ms.
TEST_F(LeaseTest, L16ExpiredIsToldBeforeANodeMayGrantTheNameToOthers) {
  answering_ = false;
  Client client = connect();
  const TimePoint sent_after = client.now();
  const Lease lease = take(client, nine_seconds());
  EXPECT_EQ(lease.certain_until(), sent_after + 8900ms);
  EXPECT_EQ(lease.remaining(), 8900ms);
  clock_->advance(8900ms - 1ns);
  EXPECT_EQ(events_.wait_for(1), std::vector{SessionEvent::Jeopardy});
  EXPECT_TRUE(lease.valid());
  clock_->advance(1ns);
  EXPECT_FALSE(lease.valid()) << "by the clock alone, before anything was told";
  EXPECT_EQ(events_.wait_for(2).back(), SessionEvent::Expired);
  EXPECT_LT(client.now(), sent_after + 9s);
  EXPECT_FALSE(lease.valid(client.now()));
}

TEST_F(LeaseTest, S10EventsComeInTheOrderJeopardySafeJeopardyExpiredAndNoneAfterThat) {
  answering_ = false;
  Client client = connect();
  Lease lease = take(client, nine_seconds());
  clock_->advance(6s);
  events_.wait_for(1);
  answering_ = true;
  EXPECT_TRUE(lease.renew().ok());
  EXPECT_EQ(events_.wait_for(2).back(), SessionEvent::Safe);
  answering_ = false;
  clock_->advance(6s);
  events_.wait_for(3);
  clock_->advance(3s);
  EXPECT_EQ(events_.wait_for(4),
            (std::vector{SessionEvent::Jeopardy,
                         SessionEvent::Safe,
                         SessionEvent::Jeopardy,
                         SessionEvent::Expired}));
  answering_ = true;
  EXPECT_EQ(lease.renew().detail(), kDetailSessionExpired);
  EXPECT_EQ(events_.count(), 4u);
  EXPECT_TRUE(lease.release().ok()) << "there is nothing left to give back";
}

TEST_F(LeaseTest, S10ACallThatWaitsEndsWhenTheSessionDoes) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool open = request.slot.kind == RequestKind::OpenSession;
    return open ? std::optional{friendly_reply(request)} : std::nullopt;
  });
  Client client = connect();
  auto lease = client.take_lease_async("name", nine_seconds());
  cluster_.wait_for(RequestKind::LockAcquire, 1);
  clock_->advance(9s);
  EXPECT_EQ(lease.get().status().detail(), kDetailSessionExpired);
  EXPECT_EQ(events_.wait_for(2).back(), SessionEvent::Expired);
}

TEST_F(LeaseTest, IsGivenBackWithItsSession) {
  Client client = connect();
  {
    Lease lease = take(client, nine_seconds());
    EXPECT_TRUE(lease.release().ok());
    EXPECT_FALSE(lease.valid());
    EXPECT_EQ(lease.remaining(), 0ms);
  }
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 1u);
  EXPECT_EQ(cluster_.requests(RequestKind::CloseSession).size(), 3u);
}

TEST_F(LeaseTest, IsNotSaidToBeGivenBackWhenOnlyItsSessionWasClosed) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool release = request.slot.kind == RequestKind::LockRelease;
    return release ? std::nullopt : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Lease lease = take(client, {.ttl = 1h});
  auto released = std::async(std::launch::async, [&lease] { return lease.release(); });
  cluster_.wait_for(RequestKind::LockRelease, 1);
  clock_->advance(request_timeout_);
  EXPECT_EQ(released.get().detail(), kDetailDeadlineExceeded);
  EXPECT_FALSE(lease.valid());
  EXPECT_FALSE(lease.release().ok()) << "nor by asking again";
}

TEST_F(LeaseTest, ThatIsDestroyedIsGivenBackToo) {
  Client client = connect();
  { const Lease lease = take(client, nine_seconds()); }
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 7u);
  cluster_.wait_for(RequestKind::CloseSession, 3);
}

TEST_F(LeaseTest, ThatIsDetachedLivesOn) {
  Client client = connect();
  {
    Lease lease = take(client, nine_seconds());
    lease.detach();
  }
  // Whatever the destructor sent would have come before this answer.
  EXPECT_TRUE(client.check("name", 7).ok());
  EXPECT_TRUE(cluster_.requests(RequestKind::LockRelease).empty());
  EXPECT_TRUE(cluster_.requests(RequestKind::CloseSession).empty());
}

TEST_F(LeaseTest, WithoutItsNameLeavesNoSessionBehind) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockAcquire ? error_reply(request, ErrorCode::LockBusy)
                                                         : friendly_reply(request);
  });
  Client client = connect();
  const auto lease = client.take_lease("name", {.ttl = 9s, .wait = 0ms});
  EXPECT_EQ(lease.status().detail(), kDetailLockBusy);
  cluster_.wait_for(RequestKind::CloseSession, 3);
}

}  // namespace
}  // namespace gcoord::client
