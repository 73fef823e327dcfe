// The C interface: calls that do not wait, and leases with checks.
#include "gcoord/gcoord_async.h"
#include "gcoord/gcoord_sessions.h"
#include "protocol/lock_messages.h"
#include "tests/client/c_interface.h"

#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

class CAsyncTest : public CInterfaceTest {
 protected:
  // The number that a call brings when it is done; that of its refusal when it was not begun.
  std::uint32_t number_of(
      const std::function<gcoord_status(gcoord_done_callback, void* user)>& call) {
    std::promise<std::uint32_t> done;
    const auto tell = [](void* user, const gcoord_error* why) {
      static_cast<std::promise<std::uint32_t>*>(user)->set_value(why == nullptr ? 0 : why->number);
    };
    return call(tell, &done) == GCOORD_OK ? done.get_future().get() : error_.number;
  }

  gcoord_lock* acquire() {
    gcoord_lock* lock = nullptr;
    EXPECT_EQ(gcoord_lock_acquire(session_, "name", 0, &lock, &error_), GCOORD_OK);
    return lock;
  }
};

TEST_F(CAsyncTest, LocksAndSessionsAreGivenBackWithoutWaiting) {
  open_session();
  gcoord_lock* lock = acquire();
  EXPECT_EQ(gcoord_lock_certain_until_ns(lock), gcoord_session_certain_until_ns(session_));
  EXPECT_GT(gcoord_lock_certain_until_ns(lock), gcoord_client_now_ns(client_));
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_session_renew_async(session_, callback, user, &error_);
            }),
            0u);
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_lock_release_async(lock, callback, user, &error_);
            }),
            0u);
  EXPECT_FALSE(gcoord_lock_valid(lock));
  gcoord_lock_free(lock);
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 1u) << "once is enough";
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_session_release_async(session_, "other", 7, callback, user, &error_);
            }),
            0u);
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_session_release_async(session_, "", 7, callback, user, &error_);
            }),
            1101u);
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_session_close_async(session_, callback, user, &error_);
            }),
            0u);
  EXPECT_FALSE(gcoord_session_alive(session_));
}

TEST_F(CAsyncTest, AHandleMayBeFreedBeforeItsAnswerComes) {
  open_session();
  gcoord_lock* lock = acquire();
  std::promise<std::uint32_t> done;
  const auto tell = [](void* user, const gcoord_error* why) {
    static_cast<std::promise<std::uint32_t>*>(user)->set_value(why == nullptr ? 0 : why->number);
  };
  ASSERT_EQ(gcoord_lock_release_async(lock, tell, &done, &error_), GCOORD_OK);
  gcoord_lock_free(lock);
  EXPECT_EQ(done.get_future().get(), 0u);
  std::promise<std::uint32_t> closed;
  ASSERT_EQ(gcoord_session_close_async(session_, tell, &closed, &error_), GCOORD_OK);
  gcoord_session_free(std::exchange(session_, nullptr));
  EXPECT_EQ(closed.get_future().get(), 0u);
}

// What an opening brought: a session, or the number of its error.
struct Opened {
  gcoord_session* session = nullptr;
  std::uint32_t number = 0;
};

void tell_opened(void* user, gcoord_session* session, const gcoord_error* why) {
  EXPECT_NE(session == nullptr, why == nullptr);
  static_cast<std::promise<Opened>*>(user)->set_value({session, why == nullptr ? 0 : why->number});
}

TEST_F(CAsyncTest, SessionsAreOpenedAndGrantedWithoutWaiting) {
  Collected<std::int32_t> events;
  const auto tell_event = [](void* user, std::int32_t event) {
    static_cast<Collected<std::int32_t>*>(user)->add(event);
  };
  std::promise<Opened> opened;
  ASSERT_EQ(
      gcoord_session_open_async(client_, 9000, tell_event, &events, tell_opened, &opened, &error_),
      GCOORD_OK);
  session_ = opened.get_future().get().session;
  EXPECT_EQ(gcoord_session_id(session_), 41u);
  EXPECT_TRUE(gcoord_session_alive(session_));
  gcoord_session_options options;
  gcoord_session_options_init(&options);
  options.ttl_ms = 9000;
  for (const auto begin : {gcoord_session_open_as_async, gcoord_session_grant_async}) {
    std::promise<Opened> made;
    ASSERT_EQ(begin(client_, &options, tell_opened, &made, &error_), GCOORD_OK);
    gcoord_session* session = made.get_future().get().session;
    EXPECT_TRUE(gcoord_session_alive(session));
    gcoord_session_free(session);
  }
  EXPECT_EQ(cluster_.requests(RequestKind::SessionGrant).size(), 1u);
  move_clock(std::chrono::minutes{1});
  EXPECT_EQ(events.wait_for(2), (std::vector<std::int32_t>{GCOORD_JEOPARDY, GCOORD_EXPIRED}));
}

TEST_F(CAsyncTest, S11ASessionWhoseCheckFailsIsNotOpened) {
  gcoord_health_check check{.what = "command:exit 1"};
  gcoord_session_options options;
  gcoord_session_options_init(&options);
  options.checks = &check;
  options.check_count = 1;
  std::promise<Opened> opened;
  ASSERT_EQ(gcoord_session_open_as_async(client_, &options, tell_opened, &opened, &error_),
            GCOORD_OK);
  EXPECT_EQ(opened.get_future().get().number, 6350u);
  EXPECT_TRUE(cluster_.requests(RequestKind::OpenSession).empty());
}

TEST_F(CAsyncTest, AnOpeningThatIsUnderWayEndsWithItsClient) {
  cluster_.answer_with([](const FakeRequest&) { return std::nullopt; });
  std::promise<Opened> opened;
  ASSERT_EQ(
      gcoord_session_open_async(client_, 9000, nullptr, nullptr, tell_opened, &opened, &error_),
      GCOORD_OK);
  EXPECT_EQ(gcoord_client_free(std::exchange(client_, nullptr)), GCOORD_OK);
  EXPECT_EQ(opened.get_future().get().number, 4010u);
}

TEST_F(CAsyncTest, L15L19OperatorsBreakAndMoveLocksWithoutWaiting) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::LockBreak) {
      reply.slot.extra = 41;
      reply.slot.token = 7;
    }
    return reply;
  });
  const auto tell_holder = [](void* user, const gcoord_holder* holder, const gcoord_error* why) {
    static_cast<std::promise<std::uint64_t>*>(user)->set_value(why == nullptr ? holder->token
                                                                              : why->number);
  };
  const auto broken = [&](const char* reason) {
    std::promise<std::uint64_t> told;
    EXPECT_EQ(
        gcoord_lock_break_async(client_, "name", 7, "ann@ops", reason, tell_holder, &told, &error_),
        GCOORD_OK);
    return told.get_future().get();
  };
  EXPECT_EQ(broken("it hangs"), 7u);
  EXPECT_EQ(broken(""), 6034u);
  EXPECT_EQ(cluster_.requests(RequestKind::LockBreak).size(), 1u);
  const auto move_to = [&](std::uint32_t shard) {
    return number_of([&](auto callback, void* user) {
      return gcoord_lock_move_async(client_, "name", shard, callback, user, &error_);
    });
  };
  EXPECT_EQ(move_to(11), 0u);
  EXPECT_EQ(move_to(16), 1112u);
  EXPECT_EQ(cluster_.requests(RequestKind::LockMove).size(), 1u);
}

TEST_F(CAsyncTest, E2ALeaderSaysAValueAndResignsWithoutWaiting) {
  open_session();
  gcoord_election* election = nullptr;
  ASSERT_EQ(gcoord_election_make(session_, "chief", &election, &error_), GCOORD_OK);
  const auto proclaim = [&](auto callback, void* user) {
    return gcoord_election_proclaim_async(election, "a", 1, callback, user, &error_);
  };
  EXPECT_EQ(number_of(proclaim), 6110u) << "it does not lead";
  ASSERT_EQ(gcoord_election_campaign(election, 0, &error_), GCOORD_OK);
  EXPECT_EQ(number_of(proclaim), 0u);
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_session_proclaim_async(
                  session_, "chief", 7, "b", 1, callback, user, &error_);
            }),
            0u);
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_election_transfer_async(election, 9, callback, user, &error_);
            }),
            0u);
  EXPECT_FALSE(gcoord_election_is_leader(election));
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_session_transfer_async(
                  session_, "chief", 7, 9, callback, user, &error_);
            }),
            0u);
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_ask_transfer_async(client_, "chief", 9, 7, callback, user, &error_);
            }),
            0u);
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_election_resign_async(election, callback, user, &error_);
            }),
            0u);
  gcoord_election_free(election);
}

TEST_F(CAsyncTest, ALockIsDescribedAndALeaderIsFoundWithoutWaiting) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockGet ? error_reply(request, ErrorCode::LockAbsent)
                                                     : friendly_reply(request);
  });
  std::promise<std::uint32_t> described;
  const auto tell_lock = [](void* user, gcoord_description* lock, const gcoord_error* why) {
    EXPECT_EQ(lock, nullptr);
    static_cast<std::promise<std::uint32_t>*>(user)->set_value(why->number);
  };
  ASSERT_EQ(gcoord_describe_async(client_, "name", true, tell_lock, &described, &error_),
            GCOORD_OK);
  EXPECT_EQ(described.get_future().get(), 6016u);
  std::promise<std::uint32_t> led;
  const auto tell_holder = [](void* user, const gcoord_holder* holder, const gcoord_error* why) {
    EXPECT_EQ(holder, nullptr);
    static_cast<std::promise<std::uint32_t>*>(user)->set_value(why->number);
  };
  ASSERT_EQ(gcoord_leader_async(client_, "name", tell_holder, &led, &error_), GCOORD_OK);
  EXPECT_EQ(led.get_future().get(), 6101u);
}

TEST_F(CAsyncTest, WhatIsMissingIsNamedAndNothingIsCalled) {
  open_session();
  const auto never = [](void*, const gcoord_error*) { FAIL(); };
  const auto refused = [this](gcoord_status status) {
    EXPECT_EQ(status, GCOORD_INVALID_ARGUMENT);
    EXPECT_EQ(error_.number, 1002u);
  };
  refused(gcoord_lock_release_async(nullptr, never, nullptr, &error_));
  refused(gcoord_session_renew_async(session_, nullptr, nullptr, &error_));
  refused(gcoord_session_release_async(session_, nullptr, 7, never, nullptr, &error_));
  refused(gcoord_session_proclaim_async(session_, "name", 7, nullptr, 0, never, nullptr, &error_));
  refused(gcoord_lease_renew_async(nullptr, never, nullptr, &error_));
  refused(gcoord_multi_lock_release_async(nullptr, never, nullptr, &error_));
  refused(gcoord_describe_async(client_, nullptr, false, nullptr, nullptr, &error_));
  refused(gcoord_leader_async(client_, "name", nullptr, nullptr, &error_));
  refused(gcoord_lock_break_async(client_, "name", 7, nullptr, "b", nullptr, nullptr, &error_));
  refused(gcoord_lock_move_async(client_, nullptr, 1, never, nullptr, &error_));
  refused(gcoord_session_open_async(client_, 9000, nullptr, nullptr, nullptr, nullptr, &error_));
  refused(gcoord_session_open_as_async(client_, nullptr, tell_opened, nullptr, &error_));
  gcoord_session_options options;
  gcoord_session_options_init(&options);
  refused(gcoord_session_grant_async(client_, &options, nullptr, nullptr, &error_));
}

TEST_F(CAsyncTest, S11ALeaseIsBoundToChecks) {
  gcoord_health_check check{.what = "command:exit 1"};
  gcoord_session_options options;
  gcoord_session_options_init(&options);
  options.ttl_ms = 9000;
  options.checks = &check;
  options.check_count = 1;
  gcoord_lease* lease = nullptr;
  EXPECT_NE(gcoord_lease_take_as(client_, "name", &options, 0, &lease, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 6350u);
  EXPECT_EQ(lease, nullptr);
  EXPECT_TRUE(cluster_.requests(RequestKind::LockAcquire).empty());
  check.what = "command:true";
  ASSERT_EQ(gcoord_lease_take_as(client_, "name", &options, 0, &lease, &error_), GCOORD_OK)
      << error_.message;
  EXPECT_TRUE(gcoord_lease_valid(lease));
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_lease_renew_async(lease, callback, user, &error_);
            }),
            0u);
  EXPECT_EQ(number_of([&](auto callback, void* user) {
              return gcoord_lease_release_async(lease, callback, user, &error_);
            }),
            0u);
  EXPECT_FALSE(gcoord_lease_valid(lease));
  gcoord_lease_free(lease);
  std::promise<gcoord_lease*> taken;
  const auto tell = [](void* user, gcoord_lease* made, const gcoord_error*) {
    static_cast<std::promise<gcoord_lease*>*>(user)->set_value(made);
  };
  ASSERT_EQ(gcoord_lease_take_as_async(client_, "name", &options, 0, tell, &taken, &error_),
            GCOORD_OK);
  lease = taken.get_future().get();
  EXPECT_TRUE(gcoord_lease_valid(lease));
  gcoord_lease_free(lease);
  options.struct_bytes = 0;
  EXPECT_NE(gcoord_lease_take_as(client_, "name", &options, 0, &lease, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 1001u);
}

}  // namespace
}  // namespace gcoord::client
