// The C interface: looks at locks, present and past, and what operators do to them.
#include "common/name_hash.h"
#include "gcoord/gcoord_reads.h"
#include "protocol/move_messages.h"
#include "protocol/past_messages.h"
#include "protocol/read_messages.h"
#include "tests/client/c_interface.h"

#include <array>
#include <memory>
#include <string>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::uint32_t kShards = 16;  // Of the fixture's cluster.

using Description = std::unique_ptr<gcoord_description, decltype(&gcoord_description_free)>;

class CLooksTest : public CInterfaceTest {
 protected:
  // What gcoord_read_at leaves behind; nothing for a failure, which error_ tells of.
  Description read_at(std::uint64_t index, std::uint32_t node = 0) {
    gcoord_description* lock = nullptr;
    status_ = gcoord_read_at(client_, "name", index, node, &lock, &at_, &error_);
    return {lock, gcoord_description_free};
  }

  // Answers requests of one kind; all others are answered as ever.
  void answer(RequestKind kind, std::function<FakeReply(const FakeRequest&)> reply) {
    cluster_.answer_with([kind, reply](const FakeRequest& request) -> std::optional<FakeReply> {
      return request.slot.kind == kind ? reply(request) : friendly_reply(request);
    });
  }

  gcoord_status status_ = GCOORD_OK;
  gcoord_freshness at_{};
};

// A reply for one name that is full of shards.
FakeReply reply_of_many_shards(const FakeRequest& request) {
  protocol::LockReadReply reply;
  reply.question = protocol::decode_lock_read(protocol::bytes_of(request.payload)).value().question;
  for (std::uint32_t shard = 0; shard < 16; ++shard) {
    reply.shards.push_back({.shard = ShardId{shard}, .index = LogIndex{100 + shard}, .age_ms = 5});
  }
  reply.names.push_back({.answered = true});
  FakeReply fake = ok_reply(request);
  fake.payload = protocol::text_of(protocol::encode_lock_read_reply(reply));
  return fake;
}

TEST_F(CLooksTest, ANodeThatAnswersForMoreShardsThanWereAskedForOverrunsNobody) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockRead ? reply_of_many_shards(request)
                                                      : friendly_reply(request);
  });
  gcoord_read_options how;
  gcoord_read_options_init(&how);
  const char* name = "name";
  const std::uint64_t token = 7;
  std::int32_t verdict = 0;
  gcoord_description* lock = nullptr;
  std::array<gcoord_freshness, 3> shards{};
  shards[1].index = 12345;
  std::size_t shard_count = 0;
  ASSERT_EQ(gcoord_read_batch(client_, &name, 1, &how, &lock, shards.data(), &shard_count, &error_),
            GCOORD_OK)
      << error_.message;
  EXPECT_EQ(lock, nullptr) << "nothing is there";
  EXPECT_EQ(shard_count, 1u);
  EXPECT_EQ(shards[0].index, 100u + shards[0].shard);
  EXPECT_EQ(shards[1].index, 12345u);
  ASSERT_EQ(gcoord_read_check_batch(
                client_, &name, &token, 1, &how, &verdict, shards.data(), &shard_count, &error_),
            GCOORD_OK)
      << error_.message;
  EXPECT_EQ(shard_count, 1u);
  EXPECT_EQ(shards[1].index, 12345u);
  EXPECT_EQ(gcoord_positions(client_, nullptr, 0), 1u) << "what was not asked for is not learnt";
}

FakeReply past_reply(const FakeRequest& request, bool present) {
  const auto query = protocol::decode_past_query(protocol::bytes_of(request.payload)).value();
  protocol::PastReply past{.shard = ShardId{request.slot.shard}, .index = query.index};
  past.present = present;
  past.row.name = std::string{query.name};
  past.row.holder = SessionId{41};
  past.row.token = FencingToken{7};
  past.row.acquired_index = LogIndex{5};
  FakeReply fake = ok_reply(request);
  fake.payload = protocol::text_of(protocol::encode_past_reply(past));
  return fake;
}

TEST_F(CLooksTest, R6ALockIsShownAsItWas) {
  answer(RequestKind::LockGetAt, [](const FakeRequest& request) {
    const auto query = protocol::decode_past_query(protocol::bytes_of(request.payload)).value();
    return past_reply(request, query.index >= LogIndex{5});
  });
  const Description held = read_at(6);
  ASSERT_EQ(status_, GCOORD_OK) << error_.message;
  ASSERT_NE(held, nullptr);
  const gcoord_lock_facts facts = gcoord_description_lock(held.get());
  EXPECT_STREQ(facts.name, "name");
  EXPECT_EQ(facts.holder_session, 41u);
  EXPECT_EQ(facts.token, 7u);
  EXPECT_EQ(facts.acquired_index, 5u);
  EXPECT_EQ(at_.shard, shard_of(hash_name("name"), kShards).value);
  EXPECT_EQ(at_.index, 6u);
  EXPECT_EQ(at_.age_ms, -1);
  const Description free = read_at(4);
  EXPECT_EQ(status_, GCOORD_OK) << error_.message;
  EXPECT_EQ(free, nullptr) << "it was neither held nor waited for";
  EXPECT_EQ(at_.index, 4u);
}

TEST_F(CLooksTest, R6ThePastIsAskedOfTheNodeThatIsNamed) {
  answer(RequestKind::LockGetAt,
         [](const FakeRequest& request) { return past_reply(request, true); });
  for (const std::uint32_t node : {2u, 3u, 1u}) {
    const Description lock = read_at(6, node);
    ASSERT_EQ(status_, GCOORD_OK) << error_.message;
    EXPECT_EQ(cluster_.requests(RequestKind::LockGetAt).back().node, NodeId{node});
  }
}

// A node with a new directory leads the shard; reads of the past ended with its GC6320.
TEST_F(CLooksTest, R6APastThatTheLeaderLacksIsAskedOfTheOthers) {
  answer(RequestKind::LockGetAt, [](const FakeRequest& request) {
    return request.node == NodeId{2} ? past_reply(request, true)
                                     : error_reply(request, ErrorCode::PastCompacted);
  });
  const Description lock = read_at(6);
  ASSERT_EQ(status_, GCOORD_OK) << error_.message;
  EXPECT_EQ(gcoord_description_lock(lock.get()).token, 7u);
  EXPECT_EQ(read_at(6, 3), nullptr) << "the one that is named, and no other";
  EXPECT_EQ(error_.number, 6320u);
}

TEST_F(CLooksTest, R6APastThatNobodyHasIsAskedOfEachNode) {
  answer(RequestKind::LockGetAt,
         [](const FakeRequest& request) { return error_reply(request, ErrorCode::PastCompacted); });
  EXPECT_EQ(read_at(6), nullptr);
  EXPECT_EQ(error_.number, 6320u);
  std::set<std::uint32_t> asked;
  for (const FakeRequest& request : cluster_.requests(RequestKind::LockGetAt)) {
    asked.insert(request.node.value);
  }
  EXPECT_EQ(asked, (std::set<std::uint32_t>{1, 2, 3}));
}

class PastTest : public ClientTest {};

// A client that had just begun once asked only those that had welcomed it: GC6320 for a past that
// one node had.
TEST_F(PastTest, R6ANodeThatIsNotConnectedYetIsWaitedFor) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LockGetAt) {
      return friendly_reply(request);
    }
    return request.node == NodeId{2} ? past_reply(request, true)
                                     : error_reply(request, ErrorCode::PastCompacted);
  });
  cluster_.keep_waiting(NodeId{2});
  Client client = Client::connect(options()).value();
  auto reading = client.read_at_async("name", 6);
  cluster_.wait_for(RequestKind::LockGetAt, 1);
  cluster_.go_on(NodeId{2});
  const auto read = std::move(reading).get();
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  ASSERT_TRUE(read.value().lock.has_value());
  EXPECT_EQ(cluster_.requests(RequestKind::LockGetAt).back().node, NodeId{2});
}

TEST_F(CLooksTest, R6APastThatIsNotThereLeavesResultsUntouched) {
  answer(RequestKind::LockGetAt,
         [](const FakeRequest& request) { return error_reply(request, ErrorCode::PastFuture); });
  at_.index = 12345;
  EXPECT_EQ(read_at(6), nullptr);
  EXPECT_EQ(status_, error_.status);
  EXPECT_EQ(error_.number, 6321u);
  EXPECT_EQ(at_.index, 12345u);
  EXPECT_EQ(gcoord_read_at(client_, nullptr, 6, 0, nullptr, nullptr, &error_),
            GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1002u);
  EXPECT_EQ(gcoord_read_at(nullptr, "name", 6, 0, nullptr, nullptr, nullptr),
            GCOORD_INVALID_ARGUMENT);
}

TEST_F(CLooksTest, L19ALockIsMovedToTheShardThatIsNamed) {
  EXPECT_EQ(gcoord_lock_move(client_, "name", 11, &error_), GCOORD_OK) << error_.message;
  const auto moves = cluster_.requests(RequestKind::LockMove);
  ASSERT_EQ(moves.size(), 1u);
  const auto move = protocol::decode_move(protocol::bytes_of(moves[0].payload));
  ASSERT_TRUE(move.ok());
  EXPECT_EQ(move.value().to, ShardId{11});
  EXPECT_EQ(move.value().name, "name");
}

TEST_F(CLooksTest, L19AMoveThatCannotBeSaysWhy) {
  answer(RequestKind::LockMove,
         [](const FakeRequest& request) { return error_reply(request, ErrorCode::MoveCrowded); });
  EXPECT_NE(gcoord_lock_move(client_, "name", 11, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 6054u);
  EXPECT_EQ(gcoord_lock_move(client_, "name", kShards, &error_), GCOORD_OUT_OF_RANGE);
  EXPECT_EQ(error_.number, 1112u);
  EXPECT_EQ(gcoord_lock_move(client_, nullptr, 1, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1002u);
  EXPECT_EQ(cluster_.requests(RequestKind::LockMove).size(), 1u);
}

}  // namespace
}  // namespace gcoord::client
