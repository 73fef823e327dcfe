// What happens to sessions, for who takes it: C++ and C.
#include "client/notices/session_notices.h"

#include "gcoord/gcoord_sessions.h"
#include "protocol/force_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"
#include "tests/client/c_interface.h"
#include "tests/client/client_fixture.h"

#include <poll.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::RequestKind;

constexpr int kPatienceMs = 60'000;  // Only an end for a test that fails.

bool readable(int fd, int timeout_ms = 0) {
  pollfd what{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&what, 1, timeout_ms) == 1 && (what.revents & POLLIN) != 0;
}

// The nodes say nothing to keep-alives, or say that the hold of "name" was broken.
enum class Nodes { Silent, Breaking };

FakeCluster::Answer nodes_that_are(Nodes nodes) {
  return [nodes](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::SessionLosses) {
      const std::vector<protocol::LossEntry> losses = {
          {FencingToken{7}, LogIndex{12}, ShardId{3}, "name"}};
      reply.payload = protocol::text_of(protocol::encode_losses(losses));
    } else if (request.slot.kind == RequestKind::KeepAlive && nodes == Nodes::Silent) {
      return std::nullopt;
    } else if (request.slot.kind == RequestKind::KeepAlive) {
      const std::vector<protocol::KeepAliveEntry> entries = {
          {SessionId{41}, protocol::KeepAliveState::Broken, 0}};
      reply.payload = protocol::text_of(protocol::encode_keep_alive_reply(entries));
    }
    return reply;
  };
}

TEST(SessionNotices, OfJeopardiesThatWereOverTheLastIsKept) {
  SessionNotices notices;
  const int fd = notices.event_fd().value();
  EXPECT_FALSE(readable(fd));
  notices.tell({.name = "a", .token = 7});
  for (int round = 0; round < 1000; ++round) {
    notices.tell(SessionEvent::Jeopardy);
    notices.tell(SessionEvent::Safe);
  }
  notices.tell(SessionEvent::Jeopardy);
  notices.tell(SessionEvent::Expired);
  EXPECT_EQ(notices.take()->lost.name, "a");
  EXPECT_EQ(notices.take()->event, SessionEvent::Jeopardy);
  EXPECT_TRUE(readable(fd));
  EXPECT_EQ(notices.take()->event, SessionEvent::Expired);
  EXPECT_FALSE(readable(fd));
  EXPECT_FALSE(notices.take());
}

TEST(SessionNotices, WhatIsNotOverIsKept) {
  SessionNotices notices;
  notices.tell(SessionEvent::Jeopardy);
  notices.tell(SessionEvent::Safe);
  notices.tell({.name = "a", .token = 7});
  notices.tell(SessionEvent::Jeopardy);
  EXPECT_EQ(notices.take()->event, SessionEvent::Jeopardy);
  EXPECT_EQ(notices.take()->event, SessionEvent::Safe);
  EXPECT_FALSE(notices.take()->event);
  EXPECT_EQ(notices.take()->event, SessionEvent::Jeopardy);
}

class SessionNoticesTest : public ClientTest {};

TEST_F(SessionNoticesTest, Row213AnEventLoopHearsOfJeopardyAndTheEnd) {
  cluster_.answer_with(nodes_that_are(Nodes::Silent));
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  const int fd = session.event_fd().value();
  EXPECT_FALSE(readable(fd));
  EXPECT_FALSE(session.next_event());
  EXPECT_GT(client.statistics().requests, 0u);  // Its thread has heard of the descriptor.
  clock_->advance(6s);
  ASSERT_TRUE(readable(fd, kPatienceMs));
  EXPECT_EQ(session.next_event()->event, SessionEvent::Jeopardy);
  EXPECT_FALSE(readable(fd));
  clock_->advance(3s);
  ASSERT_TRUE(readable(fd, kPatienceMs));
  EXPECT_EQ(session.next_event()->event, SessionEvent::Expired);
  EXPECT_FALSE(readable(fd));
  EXPECT_FALSE(session.next_event());
  EXPECT_EQ(session.event_fd().value(), fd);
}

// Or who asks a moment too late would wait for ever.
TEST_F(SessionNoticesTest, Row213WhatWasSoBeforeIsToldFirst) {
  cluster_.answer_with(nodes_that_are(Nodes::Silent));
  Collected<SessionEvent> events;
  Client client = connect();
  const auto tell = [&events](SessionEvent event) { events.add(event); };
  Session first = open(client, {.ttl = 9s, .on_event = tell});
  clock_->advance(6s);
  events.wait_for(1);
  ASSERT_TRUE(readable(first.event_fd().value(), kPatienceMs));
  EXPECT_EQ(first.next_event()->event, SessionEvent::Jeopardy);
  Session second = open(client, {.ttl = 9s, .on_event = tell});
  clock_->advance(9s);
  events.wait_for(4);
  ASSERT_TRUE(readable(second.event_fd().value(), kPatienceMs));
  EXPECT_EQ(second.next_event()->event, SessionEvent::Expired) << "the jeopardy is past";
  ASSERT_TRUE(readable(first.event_fd().value(), kPatienceMs));
  EXPECT_EQ(first.next_event()->event, SessionEvent::Expired);
  EXPECT_FALSE(second.next_event());
}

TEST_F(SessionNoticesTest, Row213ABrokenHoldIsToldOnceAndTheCallbackHearsOfItToo) {
  Collected<LostLock> lost;
  Client client = connect();
  Session session =
      open(client, {.ttl = 9s, .on_lost = [&lost](const LostLock& lock) { lost.add(lock); }});
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok());
  const int fd = session.event_fd().value();
  cluster_.answer_with(nodes_that_are(Nodes::Breaking));
  EXPECT_TRUE(session.renew().ok());
  ASSERT_TRUE(readable(fd, kPatienceMs));
  const auto notice = session.next_event();
  ASSERT_TRUE(notice);
  EXPECT_FALSE(notice->event);
  EXPECT_EQ(notice->lost.name, "name");
  EXPECT_EQ(notice->lost.token, 7u);
  EXPECT_EQ(lost.wait_for(1).at(0).name, "name");
  EXPECT_TRUE(session.renew().ok());
  cluster_.wait_for(RequestKind::SessionLosses, 4);
  EXPECT_TRUE(session.renew().ok());  // A round trip behind the answers.
  EXPECT_FALSE(readable(fd));
}

TEST_F(SessionNoticesTest, Row213OfWhatTheProgramDoesItselfNothingIsTold) {
  Client client = connect();
  Session session = open(client);
  const int fd = session.event_fd().value();
  EXPECT_TRUE(session.close().ok());
  EXPECT_FALSE(readable(fd));
  EXPECT_FALSE(session.next_event());
  Session late = open(client);
  EXPECT_TRUE(late.close().ok());
  EXPECT_FALSE(late.next_event());
  EXPECT_TRUE(client.check("name", 7).ok());
  EXPECT_FALSE(late.next_event());
}

TEST_F(SessionNoticesTest, Row213ACallbackMayAskAndALeaseTellsAsItsSessionDoes) {
  cluster_.answer_with(nodes_that_are(Nodes::Silent));
  Client client = connect();
  auto lease = client.take_lease("name", {.ttl = 9s});
  ASSERT_TRUE(lease.ok()) << lease.status().to_string();
  Collected<int> asked;
  client.check_async(
      "name", 7, [&](const Result<Verdict>&) { asked.add(lease.value().event_fd().value()); });
  const int fd = asked.wait_for(1).at(0);
  EXPECT_FALSE(readable(fd));
  EXPECT_GT(client.statistics().requests, 0u);  // Its thread has heard of the descriptor.
  clock_->advance(9s);
  std::vector<SessionEvent> told;
  while (told.size() < 2 && readable(fd, kPatienceMs)) {
    told.push_back(lease.value().next_event()->event.value());
  }
  EXPECT_EQ(told, (std::vector{SessionEvent::Jeopardy, SessionEvent::Expired}));
}

class CSessionNoticesTest : public CInterfaceTest {
 protected:
  // The next that is told, when there is something.
  gcoord_session_notice next() {
    int fd = -1;
    EXPECT_EQ(gcoord_session_event_fd(session_, &fd, &error_), GCOORD_OK) << error_.message;
    EXPECT_TRUE(readable(fd, kPatienceMs));
    gcoord_session_notice notice{};
    EXPECT_EQ(gcoord_session_next_event(session_, &notice, &error_), GCOORD_OK) << error_.message;
    return notice;
  }
};

TEST_F(CSessionNoticesTest, Row213AnEventLoopHearsOfWhatHappens) {
  open_session();
  gcoord_lock* lock = nullptr;
  ASSERT_EQ(gcoord_lock_acquire(session_, "name", 0, &lock, &error_), GCOORD_OK);
  gcoord_session_notice notice{.event = GCOORD_SAFE};
  ASSERT_EQ(gcoord_session_next_event(session_, &notice, &error_), GCOORD_OK);
  EXPECT_EQ(notice.event, GCOORD_NO_EVENT);
  EXPECT_STREQ(notice.name, "");
  cluster_.answer_with(nodes_that_are(Nodes::Breaking));
  EXPECT_EQ(gcoord_session_renew(session_, &error_), GCOORD_OK);
  notice = next();
  EXPECT_EQ(notice.event, GCOORD_LOCK_LOST);
  EXPECT_STREQ(notice.name, "name");
  EXPECT_EQ(notice.token, 7u);
  cluster_.answer_with(nodes_that_are(Nodes::Silent));
  move_clock(1min);
  EXPECT_EQ(next().event, GCOORD_JEOPARDY);
  notice = next();
  EXPECT_EQ(notice.event, GCOORD_EXPIRED);
  EXPECT_STREQ(notice.name, "");
  gcoord_lock_free(lock);
}

TEST_F(CSessionNoticesTest, Row213ALeaseTellsToo) {
  gcoord_lease* lease = nullptr;
  ASSERT_EQ(gcoord_lease_take(client_, "name", 9000, 0, nullptr, nullptr, &lease, &error_),
            GCOORD_OK)
      << error_.message;
  int fd = -1;
  ASSERT_EQ(gcoord_lease_event_fd(lease, &fd, &error_), GCOORD_OK);
  EXPECT_FALSE(readable(fd));
  EXPECT_EQ(gcoord_lease_renew(lease, &error_), GCOORD_OK);  // Its thread has heard of it.
  cluster_.answer_with(nodes_that_are(Nodes::Silent));
  move_clock(1min);
  std::vector<std::int32_t> told;
  while (told.size() < 2 && readable(fd, kPatienceMs)) {
    gcoord_session_notice notice{};
    ASSERT_EQ(gcoord_lease_next_event(lease, &notice, &error_), GCOORD_OK);
    told.push_back(notice.event);
  }
  EXPECT_EQ(told, (std::vector<std::int32_t>{GCOORD_JEOPARDY, GCOORD_EXPIRED}));
  gcoord_lease_free(lease);
}

TEST_F(CSessionNoticesTest, WhatIsMissingIsNamed) {
  open_session();
  const auto refused = [this](gcoord_status status) {
    EXPECT_EQ(status, GCOORD_INVALID_ARGUMENT);
    EXPECT_EQ(error_.number, 1002u);
  };
  int fd = -1;
  gcoord_session_notice notice{};
  refused(gcoord_session_event_fd(session_, nullptr, &error_));
  refused(gcoord_session_event_fd(nullptr, &fd, &error_));
  refused(gcoord_session_next_event(session_, nullptr, &error_));
  refused(gcoord_lease_event_fd(nullptr, &fd, &error_));
  refused(gcoord_lease_next_event(nullptr, &notice, &error_));
}

}  // namespace
}  // namespace gcoord::client
