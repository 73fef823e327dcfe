// The C interface: looks that do not wait, at locks, their past, sessions and candidates.
#include "common/name_hash.h"
#include "gcoord/gcoord_async.h"
#include "protocol/election_messages.h"
#include "protocol/lease_messages.h"
#include "protocol/past_messages.h"
#include "protocol/read_messages.h"
#include "tests/client/c_interface.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::uint32_t kShards = 16;  // Of the fixture's cluster.

protocol::LockRow row_of(std::string_view name) {
  protocol::LockRow row;
  row.name = name;
  row.holder = SessionId{41};
  row.token = FencingToken{7};
  row.acquired_index = LogIndex{5};
  return row;
}

// Session 41 holds what is named "held..." under the token 7; nobody holds anything else.
FakeReply read_reply(const FakeRequest& request) {
  const auto read = protocol::decode_lock_read(protocol::bytes_of(request.payload)).value();
  protocol::LockReadReply told;
  told.question = read.question;
  std::map<std::uint32_t, bool> shards;
  for (const protocol::TokenCheck& check : read.names) {
    const bool held = check.name.starts_with("held");
    shards[shard_of(hash_name(check.name), kShards).value] = true;
    told.names.push_back({.answered = true, .present = held, .row = row_of(check.name)});
    told.names.back().verdict = !held                            ? protocol::CheckVerdict::Free
                                : check.token == FencingToken{7} ? protocol::CheckVerdict::Valid
                                                                 : protocol::CheckVerdict::Stale;
  }
  for (const auto& [shard, _] : shards) {
    told.shards.push_back({.shard = ShardId{shard}, .index = LogIndex{100 + shard}, .age_ms = 5});
  }
  FakeReply reply = ok_reply(request);
  reply.payload = protocol::text_of(protocol::encode_lock_read_reply(told));
  return reply;
}

FakeReply past_reply(const FakeRequest& request) {
  const auto query = protocol::decode_past_query(protocol::bytes_of(request.payload)).value();
  if (query.index > LogIndex{9}) {
    return error_reply(request, ErrorCode::PastFuture);
  }
  protocol::PastReply past{.shard = ShardId{request.slot.shard}, .index = query.index};
  past.present = query.index >= LogIndex{5};
  past.row = row_of(query.name);
  FakeReply reply = ok_reply(request);
  reply.payload = protocol::text_of(protocol::encode_past_reply(past));
  return reply;
}

std::optional<FakeReply> answer(const FakeRequest& request) {
  FakeReply reply = ok_reply(request);
  switch (request.slot.kind) {
    case RequestKind::LockRead:
      return read_reply(request);
    case RequestKind::LockGetAt:
      return past_reply(request);
    case RequestKind::SessionShow:
      reply.payload = protocol::text_of(
          protocol::encode_session({.row = {.session = SessionId{request.slot.session},
                                            .ttl_ms = 9000,
                                            .remaining_ms = 8000,
                                            .registration_count = 1,
                                            .lock_count = 1},
                                    .keys = {"held"}}));
      return reply;
    case RequestKind::ElectCandidates:
      reply.payload = protocol::text_of(protocol::encode_candidates({.leader = SessionId{41},
                                                                     .epoch = FencingToken{7},
                                                                     .candidates = {
                                                                         {.session = SessionId{42}},
                                                                         {.session = SessionId{43}},
                                                                     }}));
      return reply;
    default:
      return friendly_reply(request);
  }
}

// What a callback was told, kept beyond it.
struct Told {
  std::uint32_t number = 0;  // Of the error; 0: success.
  std::vector<gcoord_description*> locks;
  std::vector<std::int32_t> verdicts;
  std::vector<gcoord_freshness> shards;
  std::vector<std::uint64_t> sessions;
  std::uint64_t epoch = 0;
};

using Telling = std::promise<Told>;

void tell(void* user, Told told) {
  static_cast<Telling*>(user)->set_value(std::move(told));
}

std::uint32_t number_of(const gcoord_error* error) {
  return error != nullptr ? error->number : 0;
}

void on_reading(void* user,
                gcoord_description* lock,
                const gcoord_freshness* at,
                const gcoord_error* error) {
  EXPECT_NE(at == nullptr, error == nullptr);
  tell(user,
       {.number = number_of(error),
        .locks = {lock},
        .shards = std::vector(at != nullptr ? 1 : 0, at != nullptr ? *at : gcoord_freshness{})});
}

void on_readings(void* user,
                 gcoord_description* const* locks,
                 size_t count,
                 const gcoord_freshness* shards,
                 size_t shard_count,
                 const gcoord_error* error) {
  tell(user,
       {.number = number_of(error),
        .locks = {locks, locks + count},
        .shards = {shards, shards + shard_count}});
}

void on_verdict(void* user,
                std::int32_t verdict,
                const gcoord_freshness* at,
                const gcoord_error* error) {
  EXPECT_NE(at == nullptr, error == nullptr);
  tell(user, {.number = number_of(error), .verdicts = {verdict}});
}

void on_verdicts(void* user,
                 const std::int32_t* verdicts,
                 size_t count,
                 const gcoord_freshness* shards,
                 size_t shard_count,
                 const gcoord_error* error) {
  tell(user,
       {.number = number_of(error),
        .verdicts = {verdicts, verdicts + count},
        .shards = {shards, shards + shard_count}});
}

class CAsyncLooksTest : public CInterfaceTest {
 protected:
  CAsyncLooksTest() {
    cluster_.answer_with(answer);
    gcoord_read_options_init(&how_);
  }

  void TearDown() override {
    for (gcoord_description* each : told_.locks) {
      gcoord_description_free(each);
    }
    CInterfaceTest::TearDown();
  }

  // begin(user) -> whether it was begun. What came of it is in told_.
  template <typename Begin>
  void await(Begin begin) {
    for (gcoord_description* each : std::exchange(told_, {}).locks) {
      gcoord_description_free(each);
    }
    Telling telling;
    const gcoord_status begun = begin(&telling);
    ASSERT_EQ(begun, GCOORD_OK) << error_.message;
    told_ = telling.get_future().get();
  }

  std::uint64_t holder(std::size_t at) const {
    return gcoord_description_lock(told_.locks.at(at)).holder_session;
  }

  gcoord_read_options how_;
  Told told_;
};

TEST_F(CAsyncLooksTest, R4ALockIsReadAndCheckedWithoutWaiting) {
  const auto read = [this](const char* name) {
    await([&](void* user) {
      return gcoord_read_async(client_, name, &how_, on_reading, user, &error_);
    });
  };
  read("held");
  EXPECT_EQ(holder(0), 41u);
  ASSERT_EQ(told_.shards.size(), 1u);
  EXPECT_EQ(told_.shards[0].index, 100u + told_.shards[0].shard);
  EXPECT_EQ(told_.shards[0].age_ms, 5);
  read("free");
  EXPECT_EQ(told_.number, 0u);
  EXPECT_EQ(told_.locks[0], nullptr) << "it was neither held nor waited for";
  read("");
  EXPECT_EQ(told_.number, 1101u);
  EXPECT_EQ(told_.locks[0], nullptr);
  for (const auto& [token, verdict] : {std::pair{7u, GCOORD_VALID}, {6u, GCOORD_STALE}}) {
    await([&](void* user) {
      return gcoord_read_check_async(client_, "held", token, &how_, on_verdict, user, &error_);
    });
    EXPECT_EQ(told_.verdicts, std::vector{static_cast<std::int32_t>(verdict)});
  }
}

TEST_F(CAsyncLooksTest, R7ManyNamesAreReadAndCheckedWithoutWaiting) {
  const std::array names{"held/1", "free", "held/2"};
  const std::array<std::uint64_t, 3> tokens{7, 7, 6};
  await([&](void* user) {
    return gcoord_read_batch_async(
        client_, names.data(), names.size(), &how_, on_readings, user, &error_);
  });
  ASSERT_EQ(told_.locks.size(), 3u);
  EXPECT_STREQ(gcoord_description_lock(told_.locks[0]).name, "held/1");
  EXPECT_EQ(told_.locks[1], nullptr);
  EXPECT_EQ(holder(2), 41u);
  EXPECT_GE(told_.shards.size(), 1u);
  await([&](void* user) {
    return gcoord_read_check_batch_async(
        client_, names.data(), tokens.data(), names.size(), &how_, on_verdicts, user, &error_);
  });
  EXPECT_EQ(told_.verdicts, (std::vector<std::int32_t>{GCOORD_VALID, GCOORD_FREE, GCOORD_STALE}));
  EXPECT_GE(told_.shards.size(), 1u);
  await([&](void* user) {
    return gcoord_check_batch_async(
        client_, names.data(), tokens.data(), names.size(), on_verdicts, user, &error_);
  });
  EXPECT_EQ(told_.verdicts, (std::vector<std::int32_t>(3, GCOORD_VALID)));
  EXPECT_TRUE(told_.shards.empty());
  const char* unnamed = "";
  await([&](void* user) {
    return gcoord_read_batch_async(client_, &unnamed, 1, &how_, on_readings, user, &error_);
  });
  EXPECT_EQ(told_.number, 1101u);
  EXPECT_TRUE(told_.locks.empty() && told_.shards.empty());
}

TEST_F(CAsyncLooksTest, R6ThePastIsReadWithoutWaiting) {
  const auto read_at = [this](std::uint64_t index) {
    await([&](void* user) {
      return gcoord_read_at_async(client_, "held", index, 2, on_reading, user, &error_);
    });
  };
  read_at(6);
  EXPECT_EQ(holder(0), 41u);
  EXPECT_EQ(told_.shards.at(0).index, 6u);
  EXPECT_EQ(told_.shards.at(0).age_ms, -1);
  EXPECT_EQ(cluster_.requests(RequestKind::LockGetAt).back().node, NodeId{2});
  read_at(4);
  EXPECT_EQ(told_.locks.at(0), nullptr);
  EXPECT_EQ(told_.number, 0u);
  read_at(10);
  EXPECT_EQ(told_.number, 6321u);
}

TEST_F(CAsyncLooksTest, E3ALineIsSeenWithoutWaiting) {
  const auto on_line = [](void* user,
                          uint64_t epoch,
                          const gcoord_candidate* line,
                          size_t count,
                          const gcoord_error* error) {
    Told told{.number = number_of(error), .epoch = epoch};
    std::transform(line, line + count, std::back_inserter(told.sessions), [](const auto& each) {
      return each.session_id;
    });
    tell(user, std::move(told));
  };
  await([&](void* user) {
    return gcoord_candidates_async(client_, "chief", on_line, user, &error_);
  });
  EXPECT_EQ(told_.epoch, 7u);
  EXPECT_EQ(told_.sessions, (std::vector<std::uint64_t>{41, 42, 43}));
  await([&](void* user) { return gcoord_candidates_async(client_, "", on_line, user, &error_); });
  EXPECT_EQ(told_.number, 1101u);
  EXPECT_TRUE(told_.sessions.empty());
}

TEST_F(CAsyncLooksTest, S4ASessionIsShownAndRenewedWithoutWaiting) {
  const auto on_description =
      [](void* user, gcoord_session_description* description, const gcoord_error* error) {
        EXPECT_STREQ(gcoord_session_description_key(description, 0), "held");
        const gcoord_session_facts facts = gcoord_session_description_facts(description);
        EXPECT_EQ(facts.lock_count, 1u);
        gcoord_session_description_free(description);
        tell(user, {.number = number_of(error), .sessions = {facts.session_id}});
      };
  await([&](void* user) {
    return gcoord_session_describe_async(client_, 5, on_description, user, &error_);
  });
  EXPECT_EQ(told_.sessions, (std::vector<std::uint64_t>{5}));
  const auto on_facts =
      [](void* user, const gcoord_session_facts* facts, const gcoord_error* error) {
        EXPECT_NE(facts == nullptr, error == nullptr);
        tell(user, {.number = number_of(error)});
      };
  await([&](void* user) {
    return gcoord_session_keep_alive_once_async(client_, 0, on_facts, user, &error_);
  });
  EXPECT_EQ(told_.number, 1108u) << "session 0";
}

TEST_F(CAsyncLooksTest, WhatIsMissingIsNamedAndNothingIsCalled) {
  const auto refused = [this](gcoord_status status, std::uint32_t number) {
    EXPECT_EQ(status, GCOORD_INVALID_ARGUMENT);
    EXPECT_EQ(error_.number, number);
  };
  const char* none = nullptr;
  const std::uint64_t token = 7;
  refused(gcoord_read_async(client_, "a", nullptr, on_reading, nullptr, &error_), 1002);
  refused(gcoord_read_async(client_, "a", &how_, nullptr, nullptr, &error_), 1002);
  refused(gcoord_read_at_async(nullptr, "a", 5, 0, on_reading, nullptr, &error_), 1002);
  refused(gcoord_read_batch_async(client_, &none, 1, &how_, on_readings, nullptr, &error_), 1002);
  refused(gcoord_check_batch_async(client_, &none, &token, 1, on_verdicts, nullptr, &error_), 1002);
  refused(gcoord_candidates_async(client_, nullptr, nullptr, nullptr, &error_), 1002);
  refused(gcoord_session_describe_async(client_, 5, nullptr, nullptr, &error_), 1002);
  how_.consistency = 9;
  refused(gcoord_read_check_async(client_, "a", 7, &how_, on_verdict, nullptr, &error_), 1001);
  EXPECT_TRUE(cluster_.requests(RequestKind::LockRead).empty());
}

}  // namespace
}  // namespace gcoord::client
