// The C interface: what crosses the border, and what must not.
#include "tests/client/c_interface.h"

#include "gcoord/gcoord_reads.h"
#include "gcoord/gcoord_sessions.h"
#include "gcoord/gcoord_watch.h"

#include <cstring>
#include <future>
#include <string>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

TEST_F(CInterfaceTest, TheLibraryHasTheVersionOfItsHeader) {
  EXPECT_EQ(gcoord_abi_version(), GCOORD_ABI_VERSION);
}

TEST_F(CInterfaceTest, ALockHasATokenThatIsCheckedAndIsReleasedOnce) {
  open_session();
  EXPECT_EQ(gcoord_session_id(session_), 41u);
  EXPECT_EQ(gcoord_session_ttl_ms(session_), 9000);
  EXPECT_EQ(gcoord_session_remaining_ms(session_), 8900);
  gcoord_lock* lock = nullptr;
  ASSERT_EQ(gcoord_lock_acquire(session_, "name", GCOORD_FOREVER, &lock, &error_), GCOORD_OK);
  EXPECT_STREQ(gcoord_lock_name(lock), "name");
  EXPECT_EQ(gcoord_lock_fence(lock), 7u);
  EXPECT_EQ(gcoord_lock_epoch(lock), 3u);
  EXPECT_FALSE(gcoord_lock_already_held(lock));
  EXPECT_TRUE(gcoord_lock_valid(lock));
  std::int32_t verdict = 0;
  EXPECT_EQ(gcoord_check(client_, "name", 7, &verdict, &error_), GCOORD_OK);
  EXPECT_EQ(verdict, GCOORD_VALID);
  EXPECT_EQ(gcoord_lock_release(lock, &error_), GCOORD_OK);
  EXPECT_FALSE(gcoord_lock_valid(lock));
  gcoord_lock_free(lock);
  EXPECT_EQ(gcoord_session_close(session_, &error_), GCOORD_OK);
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 1u);
}

TEST_F(CInterfaceTest, EveryMissingArgumentIsRefusedAndNamed) {
  open_session();
  gcoord_lock* lock = nullptr;
  EXPECT_EQ(gcoord_lock_acquire(nullptr, "name", 0, &lock, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1002u);
  EXPECT_NE(std::strstr(error_.message, "session"), nullptr) << error_.message;
  EXPECT_EQ(gcoord_lock_acquire(session_, nullptr, 0, &lock, nullptr), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_lock_acquire(session_, "name", 0, nullptr, nullptr), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_lock_acquire(session_, "name", -2, &lock, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1001u);
  EXPECT_EQ(gcoord_lock_acquire_async(session_, "name", 0, nullptr, nullptr, nullptr),
            GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_session_open(nullptr, 9000, nullptr, nullptr, &session_, nullptr),
            GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_lease_take(client_, nullptr, 9000, 0, nullptr, nullptr, nullptr, nullptr),
            GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_election_make(session_, nullptr, nullptr, nullptr), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_election_campaign(nullptr, 0, nullptr), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_leader(client_, "name", nullptr, nullptr), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_check_batch(client_, nullptr, nullptr, 1, nullptr, nullptr),
            GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_client_connect(nullptr, nullptr, nullptr), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(lock, nullptr);
  EXPECT_TRUE(cluster_.requests(RequestKind::LockAcquire).empty());
}

TEST_F(CInterfaceTest, ChecksThatAreCountedAndNotGivenAreMissing) {
  gcoord_session_options options;
  gcoord_session_options_init(&options);
  options.check_count = 1;
  EXPECT_EQ(gcoord_session_open_as(client_, &options, &session_, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1002u);
  EXPECT_EQ(session_, nullptr);
}

TEST_F(CInterfaceTest, OptionsThatWereNotInitialisedAreRefused) {
  gcoord_client* client = nullptr;
  gcoord_client_options options{};
  options.endpoints = "127.0.0.1:1";
  EXPECT_EQ(gcoord_client_connect(&options, &client, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1001u);
  gcoord_client_options_init(&options);
  EXPECT_EQ(gcoord_client_connect(&options, &client, &error_), GCOORD_INVALID_ARGUMENT)
      << "endpoints have no default";
  EXPECT_EQ(error_.number, 1002u);
  options.endpoints = "127.0.0.1:1";
  options.request_timeout_ms = std::int64_t{1} << 60;
  EXPECT_EQ(gcoord_client_connect(&options, &client, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(client, nullptr);
}

TEST_F(CInterfaceTest, NoOptionsAreTakenThatTheirInitHasNotFilled) {
  open_session();
  const auto refused = [&](gcoord_status status) {
    EXPECT_EQ(status, GCOORD_INVALID_ARGUMENT);
    EXPECT_EQ(error_.number, 1001u);
    EXPECT_NE(std::strstr(error_.message, "struct_bytes"), nullptr) << error_.message;
  };
  const gcoord_acquire_options acquire{};
  gcoord_lock* lock = nullptr;
  gcoord_multi_lock* locks = nullptr;
  const char* name = "name";
  refused(gcoord_lock_acquire_as(session_, name, &acquire, &lock, &error_));
  refused(gcoord_lock_acquire_all(session_, &name, 1, &acquire, &locks, &error_));
  const auto never = [](void*, gcoord_lock*, const gcoord_error*) { FAIL(); };
  refused(gcoord_lock_acquire_as_async(session_, name, &acquire, never, nullptr, &error_));
  const gcoord_read_options read{};
  const gcoord_list_options list{};
  gcoord_description* found = nullptr;
  gcoord_page* page = nullptr;
  refused(gcoord_read(client_, name, &read, &found, nullptr, &error_));
  refused(gcoord_list(client_, &list, &page, &error_));
  const gcoord_session_options session{};
  const gcoord_session_list_options sessions{};
  const gcoord_watch_options watching{};
  gcoord_session* opened = nullptr;
  gcoord_session_page* listed = nullptr;
  gcoord_watch* watch = nullptr;
  refused(gcoord_session_open_as(client_, &session, &opened, &error_));
  refused(gcoord_session_list(client_, &sessions, &listed, &error_));
  refused(gcoord_watch_open(client_, &watching, &watch, &error_));
  EXPECT_TRUE(cluster_.requests(RequestKind::LockAcquire).empty());
}

TEST_F(CInterfaceTest, HandlesThatAreNotThereAnswerNothing) {
  gcoord_lock_free(nullptr);
  gcoord_lease_free(nullptr);
  gcoord_election_free(nullptr);
  gcoord_session_free(nullptr);
  EXPECT_EQ(gcoord_client_free(nullptr), GCOORD_OK);
  EXPECT_EQ(gcoord_lock_fence(nullptr), 0u);
  EXPECT_STREQ(gcoord_lease_name(nullptr), "");
  EXPECT_FALSE(gcoord_election_is_leader(nullptr));
  EXPECT_FALSE(gcoord_session_alive(nullptr));
}

TEST_F(CInterfaceTest, ErrorsCarryTheirNumber) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockAcquire ? error_reply(request, ErrorCode::LockBusy)
                                                         : friendly_reply(request);
  });
  open_session();
  gcoord_lock* lock = nullptr;
  EXPECT_EQ(gcoord_lock_acquire(session_, "name", 0, &lock, &error_), GCOORD_ABORTED);
  EXPECT_EQ(error_.status, GCOORD_ABORTED);
  EXPECT_EQ(error_.number, kDetailLockBusy);
  EXPECT_GT(std::strlen(error_.message), 0u);
  EXPECT_EQ(lock, nullptr);
}

TEST_F(CInterfaceTest, AMessageIsCutBetweenCharacters) {
  open_session();
  gcoord_holder holder{};
  // Evidence of a name that is too long: it may or may not be in the message, which always ends.
  const std::string name(5000, 'x');
  EXPECT_EQ(gcoord_get(client_, name.c_str(), &holder, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1102u);
  EXPECT_LT(std::strlen(error_.message), sizeof(error_.message));
}

TEST_F(CInterfaceTest, AnAcquireCallsBackOnceWithALockToFree) {
  open_session();
  std::promise<gcoord_lock*> granted;
  const gcoord_lock_callback callback =
      [](void* user, gcoord_lock* lock, const gcoord_error* error) {
        EXPECT_EQ(error, nullptr);
        static_cast<std::promise<gcoord_lock*>*>(user)->set_value(lock);
      };
  ASSERT_EQ(gcoord_lock_acquire_async(session_, "name", 0, callback, &granted, &error_), GCOORD_OK);
  gcoord_lock* lock = granted.get_future().get();
  EXPECT_EQ(gcoord_lock_fence(lock), 7u);
  gcoord_lock_free(lock);
  cluster_.wait_for(RequestKind::LockRelease, 1);
}

TEST_F(CInterfaceTest, BlockingInACallbackIsRefusedAndSoIsFreeingItsClient) {
  struct Told {
    gcoord_client* client;
    std::promise<std::pair<gcoord_status, gcoord_status>> codes;
  } told{client_, {}};

  const gcoord_check_callback callback = [](void* user, std::int32_t, const gcoord_error*) {
    auto* told_by = static_cast<Told*>(user);
    std::int32_t verdict = 0;
    gcoord_error error{};
    const gcoord_status blocked = gcoord_check(told_by->client, "name", 7, &verdict, &error);
    EXPECT_EQ(error.number, 4011u);
    told_by->codes.set_value({blocked, gcoord_client_free(told_by->client)});
  };
  ASSERT_EQ(gcoord_check_async(client_, "name", 7, callback, &told, &error_), GCOORD_OK);
  const auto [blocked, freed] = told.codes.get_future().get();
  EXPECT_NE(blocked, GCOORD_OK);
  EXPECT_EQ(blocked, freed);
}

TEST_F(CInterfaceTest, L16EventsComeThroughAndStopWhenTheSessionIsFreed) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool silent = request.slot.kind == RequestKind::KeepAlive;
    return silent ? std::nullopt : std::optional{friendly_reply(request)};
  });
  Collected<std::int32_t> events;
  open_session([](void* user,
                  std::int32_t event) { static_cast<Collected<std::int32_t>*>(user)->add(event); },
               &events);
  move_clock(6s);
  EXPECT_EQ(events.wait_for(1), std::vector<std::int32_t>{GCOORD_JEOPARDY});
  move_clock(2900ms);
  EXPECT_FALSE(gcoord_session_alive(session_));
  EXPECT_EQ(events.wait_for(2).back(), GCOORD_EXPIRED);
  gcoord_session_free(std::exchange(session_, nullptr));
}

TEST_F(CInterfaceTest, AFreedSessionHearsNothingMore) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool silent = request.slot.kind == RequestKind::KeepAlive ||
                        request.slot.kind == RequestKind::CloseSession;
    return silent ? std::nullopt : std::optional{friendly_reply(request)};
  });
  std::atomic<int> event_count{0};
  open_session([](void* user, std::int32_t) { ++*static_cast<std::atomic<int>*>(user); },
               &event_count);
  gcoord_session_free(std::exchange(session_, nullptr));
  move_clock(9s);
  std::int32_t verdict = 0;
  EXPECT_EQ(gcoord_check(client_, "name", 7, &verdict, &error_), GCOORD_OK)
      << "a round trip through the thread that would tell";
  EXPECT_EQ(event_count.load(), 0);
}

TEST_F(CInterfaceTest, E7AnElectionIsAskedWithTheClientsClock) {
  open_session();
  gcoord_election* election = nullptr;
  ASSERT_EQ(gcoord_election_make(session_, "chief", &election, &error_), GCOORD_OK);
  EXPECT_STREQ(gcoord_election_name(election), "chief");
  EXPECT_FALSE(gcoord_election_is_leader(election));
  ASSERT_EQ(gcoord_election_campaign(election, GCOORD_FOREVER, &error_), GCOORD_OK);
  EXPECT_TRUE(gcoord_election_is_leader(election));
  EXPECT_EQ(gcoord_election_epoch(election), 7u);
  const std::int64_t until = gcoord_election_leader_until_ns(election);
  EXPECT_EQ(until, gcoord_client_now_ns(client_) + TimePoint{8900ms}.count());
  EXPECT_TRUE(gcoord_election_is_leader_at(election, until - 1));
  EXPECT_FALSE(gcoord_election_is_leader_at(election, until));
  EXPECT_EQ(gcoord_election_resign(election, &error_), GCOORD_OK);
  EXPECT_FALSE(gcoord_election_is_leader(election));
  gcoord_election_free(election);
}

TEST_F(CInterfaceTest, E2E6ALeaderSaysAValueAndHandsOver) {
  open_session();
  gcoord_election* election = nullptr;
  ASSERT_EQ(gcoord_election_make(session_, "chief", &election, &error_), GCOORD_OK);
  EXPECT_NE(gcoord_election_proclaim(election, "x", 1, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 6110u);
  gcoord_campaign_options how;
  gcoord_campaign_options_init(&how);
  how.value = "a:1";
  how.value_bytes = 3;
  how.priority = 256;
  std::promise<std::uint32_t> refused;
  const auto tell = [](void* user, const gcoord_error* why) {
    static_cast<std::promise<std::uint32_t>*>(user)->set_value(why == nullptr ? 0 : why->number);
  };
  ASSERT_EQ(gcoord_election_stand_async(election, &how, tell, &refused, &error_), GCOORD_OK);
  EXPECT_EQ(refused.get_future().get(), 6025u);
  how.priority = 255;
  std::promise<std::uint32_t> led;
  ASSERT_EQ(gcoord_election_stand_async(election, &how, tell, &led, &error_), GCOORD_OK);
  EXPECT_EQ(led.get_future().get(), 0u);
  EXPECT_EQ(gcoord_election_proclaim(election, "b", 1, &error_), GCOORD_OK);
  EXPECT_EQ(gcoord_election_transfer(election, 9, &error_), GCOORD_OK);
  EXPECT_FALSE(gcoord_election_is_leader(election));
  how.review_ms = -5;
  EXPECT_NE(gcoord_election_stand_async(election, &how, tell, &led, &error_), GCOORD_OK);
  gcoord_election_free(election);
}

TEST_F(CInterfaceTest, ALeaseOutlivesNothingAndHandlesAreFreedInAnyOrder) {
  gcoord_lease* lease = nullptr;
  ASSERT_EQ(gcoord_lease_take(client_, "name", 9000, 0, nullptr, nullptr, &lease, &error_),
            GCOORD_OK);
  EXPECT_STREQ(gcoord_lease_name(lease), "name");
  EXPECT_EQ(gcoord_lease_fence(lease), 7u);
  EXPECT_EQ(gcoord_lease_session_id(lease), 41u);
  EXPECT_EQ(gcoord_lease_remaining_ms(lease), 8900);
  EXPECT_EQ(gcoord_lease_renew(lease, &error_), GCOORD_OK);
  EXPECT_TRUE(gcoord_lease_valid(lease));
  EXPECT_EQ(gcoord_client_free(std::exchange(client_, nullptr)), GCOORD_OK);
  EXPECT_NE(gcoord_lease_release(lease, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 4010u);
  gcoord_lease_free(lease);
}

}  // namespace
}  // namespace gcoord::client
