#include "protocol/error_codes.h"
#include "protocol/hello.h"
#include "protocol/ledger/snapshot_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::protocol {
namespace {

using Bytes = std::vector<std::byte>;

Welcome sample_welcome() {
  Welcome welcome;
  welcome.version = 1;
  welcome.features = kFeatures;
  welcome.cluster = ClusterId{0x1234};
  welcome.node = NodeId{2};
  welcome.shard_count = 65'536;
  welcome.tick_ms = 10;
  welcome.election_ms = 300;
  welcome.ttl_ms_min = kTtlMsMin;
  welcome.ttl_ms_max = kTtlMsMax;
  welcome.nodes = {{NodeId{1}, "127.0.0.1:7001"}, {NodeId{2}, "127.0.0.1:7002"}};
  return welcome;
}

LockRow sample_row() {
  return {
      .name = "jobs/train",
      .shard = ShardId{5},
      .holder = SessionId{99},
      .token = FencingToken{7},
      .acquired_index = LogIndex{12},
      .ttl_left_ms = 900,
      .waiter_count = 2,
      .waiters = {{SessionId{1}, RequestSequence{2}, 30}, {SessionId{3}, RequestSequence{4}, 5}}};
}

// Every cut of an encoding must fail to decode, and none may read outside (ASan watches).
template <typename Decode>
void expect_cuts_fail(const Bytes& payload, Decode decode) {
  for (std::size_t length = 0; length < payload.size(); ++length) {
    const Bytes cut{payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(length)};
    const auto decoded = decode(cut);
    EXPECT_FALSE(decoded.ok()) << length;
    EXPECT_EQ(decoded.status().detail(), static_cast<std::uint32_t>(ErrorCode::PayloadMalformed));
  }
}

// Any single byte may be anything: decoding may fail or succeed but must stay in bounds.
template <typename Decode>
void survive_any_byte(const Bytes& payload, Decode decode) {
  for (std::size_t at = 0; at < payload.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      Bytes changed = payload;
      changed[at] = static_cast<std::byte>(value);
      static_cast<void>(decode(changed).ok());
    }
  }
}

template <typename Decode>
void expect_hardened(const Bytes& payload, Decode decode) {
  EXPECT_TRUE(decode(payload).ok());
  expect_cuts_fail(payload, decode);
  survive_any_byte(payload, decode);
}

TEST(Hello, ComesBackAsItWasSent) {
  const Hello hello{.cluster = ClusterId{5}, .client = "gcoordctl 0.1"};
  const auto decoded = decode_hello(encode(hello));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().cluster, ClusterId{5});
  EXPECT_EQ(decoded.value().client, "gcoordctl 0.1");
  expect_hardened(encode(hello), decode_hello);
}

TEST(Hello, OfALaterVersionMayCarryMoreFields) {
  Bytes payload = encode(Hello{.client = "later"});
  payload.push_back(std::byte{1});
  EXPECT_TRUE(decode_hello(payload).ok());
}

TEST(Hello, WithoutACommonVersionHasNone) {
  EXPECT_EQ(common_version(Hello{}), 1);
  EXPECT_EQ(common_version(Hello{.version_min = 1, .version_max = 9}), 1);
  EXPECT_EQ(common_version(Hello{.version_min = 2, .version_max = 9}), 0);
  EXPECT_EQ(common_version(Hello{.version_min = 0, .version_max = 0}), 0);
}

TEST(Welcome, ComesBackAsItWasSent) {
  const auto decoded = decode_welcome(encode(sample_welcome()));
  ASSERT_TRUE(decoded.ok());
  const Welcome& welcome = decoded.value();
  EXPECT_EQ(welcome.cluster, ClusterId{0x1234});
  EXPECT_EQ(welcome.shard_count, 65'536u);
  ASSERT_EQ(welcome.nodes.size(), 2u);
  EXPECT_EQ(welcome.nodes[1].node, NodeId{2});
  EXPECT_EQ(welcome.nodes[1].address, "127.0.0.1:7002");
  expect_hardened(encode(sample_welcome()), decode_welcome);
}

TEST(Welcome, OfAnEarlierReleaseDoesNotSayWhichConnectionItIs) {
  Welcome welcome = sample_welcome();
  EXPECT_EQ(decode_welcome(encode(welcome)).value().connection, 0u);
  const std::size_t earlier_bytes = encode(welcome).size();
  welcome.connection = 0x1'0000'0007;
  Bytes payload = encode(welcome);
  ASSERT_EQ(payload.size(), earlier_bytes + 8);
  EXPECT_EQ(decode_welcome(payload).value().connection, 0x1'0000'0007u);
  payload.push_back(std::byte{1});  // Of a later release.
  EXPECT_EQ(decode_welcome(payload).value().connection, 0x1'0000'0007u);
  payload.resize(earlier_bytes + 7);
  EXPECT_FALSE(decode_welcome(payload).ok());
}

TEST(Welcome, WithoutShardsIsRefused) {
  Welcome welcome = sample_welcome();
  welcome.shard_count = 0;
  EXPECT_FALSE(decode_welcome(encode(welcome)).ok());
}

// 2^32 - 1 shards made a client allocate over 9 GiB.
TEST(Welcome, BeyondWhatAClusterMayBeIsRefused) {
  const auto decodes = [](auto change) {
    Welcome welcome = sample_welcome();
    change(welcome);
    return decode_welcome(encode(welcome)).ok();
  };
  EXPECT_TRUE(decodes([](Welcome& w) { w.shard_count = kShardsMax; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.shard_count = kShardsMax + 1; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.shard_count = 0xffff'ffff; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.version = 0; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.version = kProtocolVersionMax + 1; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.tick_ms = kPeriodMsMax + 1; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.election_ms = kPeriodMsMax + 1; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.ttl_ms_min = kTtlMsMax + 1; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.ttl_ms_max = kTtlMsMax + 1; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.nodes.clear(); })) << "no majority of none";
  EXPECT_FALSE(decodes([](Welcome& w) { w.nodes[0].node = NodeId{}; }));
  EXPECT_FALSE(decodes([](Welcome& w) { w.nodes[0].node = w.nodes[1].node; }));
}

TEST(KeepAlive, ComesBackAsItWasSent) {
  const std::vector<SessionId> sessions{SessionId{1}, SessionId{2}};
  const Bytes payload = encode_keep_alive(sessions);
  ASSERT_TRUE(decode_keep_alive(payload).ok());
  EXPECT_EQ(decode_keep_alive(payload).value(), sessions);
  expect_hardened(payload, decode_keep_alive);
}

TEST(KeepAlive, ReplyComesBackAsItWasSent) {
  const std::vector<KeepAliveEntry> entries{{SessionId{1}, KeepAliveState::Renewed, 500},
                                            {SessionId{2}, KeepAliveState::Expired, 0}};
  const Bytes payload = encode_keep_alive_reply(entries);
  const auto decoded = decode_keep_alive_reply(payload);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value()[0].ttl_left_ms, 500u);
  EXPECT_EQ(decoded.value()[1].state, KeepAliveState::Expired);
  expect_hardened(payload, decode_keep_alive_reply);
}

TEST(KeepAlive, OfTheMostSessionsFitsAFrameBothWays) {
  const std::vector<SessionId> sessions(kKeepAliveSessionsMax, SessionId{1});
  EXPECT_LE(encode_keep_alive(sessions).size(), kPayloadBytesMax);
  const std::vector<KeepAliveEntry> missed(kKeepAliveSessionsMax);
  EXPECT_LE(encode_keep_alive_reply(missed).size(), kPayloadBytesMax);
}

TEST(LockAcquire, KeepsItsWaitInTheDeadline) {
  const Caller caller{SessionId{3}, RequestSequence{9}, RequestSequence{4}};
  const RequestSlot waiting =
      to_slot(LockAcquire{.caller = caller, .wait_ms = 250, .ttl_ms = 1000});
  EXPECT_TRUE(waiting.has(RequestFlag::Wait));
  EXPECT_EQ(acquire_from_slot(waiting).wait_ms, 250u);
  EXPECT_EQ(acquire_from_slot(waiting).caller.sequence, RequestSequence{9});
  const RequestSlot trying =
      to_slot(LockAcquire{.caller = caller, .ttl_ms = 1000, .deadline_ms = 5000});
  EXPECT_FALSE(trying.has(RequestFlag::Wait));
  EXPECT_EQ(acquire_from_slot(trying).wait_ms, 0u);
  EXPECT_EQ(acquire_from_slot(trying).deadline_ms, 5000u);
}

TEST(LockRelease, KeepsCallerAndToken) {
  const LockRelease release{.caller = {SessionId{3}, RequestSequence{9}, RequestSequence{4}},
                            .token = FencingToken{8}};
  const LockRelease read = release_from_slot(to_slot(release));
  EXPECT_EQ(read.token, FencingToken{8});
  EXPECT_EQ(read.caller.acked_below, RequestSequence{4});
}

TEST(LockCheckBatch, ComesBackAsItWasSent) {
  const std::vector<TokenCheck> checks{{"a", FencingToken{1}}, {"b/c", FencingToken{2}}};
  const Bytes payload = encode_check_batch(checks);
  const auto decoded = decode_check_batch(payload);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value()[1].name, "b/c");
  EXPECT_EQ(decoded.value()[1].token, FencingToken{2});
  expect_hardened(payload, decode_check_batch);
  const std::vector<CheckVerdict> verdicts{CheckVerdict::Valid, CheckVerdict::NotLeader};
  EXPECT_EQ(decode_verdicts(encode_verdicts(verdicts)).value(), verdicts);
  expect_hardened(encode_verdicts(verdicts), decode_verdicts);
}

TEST(LockCheckBatch, WithABadNameSaysWhichRuleItBreaks) {
  const std::vector<TokenCheck> checks{{"bad\x01name", FencingToken{1}}};
  const auto decoded = decode_check_batch(encode_check_batch(checks));
  EXPECT_EQ(decoded.status().detail(), static_cast<std::uint32_t>(ErrorCode::NameControl));
}

TEST(LockRow, ComesBackAsItWasSent) {
  const Bytes payload = encode_lock_row(sample_row());
  EXPECT_EQ(payload.size(), encoded_bytes(sample_row()));
  const auto decoded = decode_lock_row(payload);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().name, "jobs/train");
  EXPECT_EQ(decoded.value().acquired_index, LogIndex{12});
  ASSERT_EQ(decoded.value().waiters.size(), 2u);
  EXPECT_EQ(decoded.value().waiters[1].waited_ms, 5u);
  expect_hardened(payload, decode_lock_row);
}

TEST(LockRow, DetailsComeBackAsTheyWereSent) {
  LockRow row = sample_row();
  row.hold_count = 3;
  row.note = "on gpu7";
  row.permits_limit = 4;
  row.holders = {{SessionId{1}, FencingToken{2}, LogIndex{3}, 4}};
  const Bytes payload = encode_lock_details(row);
  const auto decoded = decode_lock_details(payload);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().name, row.name);
  EXPECT_EQ(decoded.value().waiters.size(), row.waiters.size());
  EXPECT_EQ(decoded.value().hold_count, 3u);
  EXPECT_EQ(decoded.value().note, "on gpu7");
  EXPECT_EQ(decoded.value().permits_limit, 4u);
  ASSERT_EQ(decoded.value().holders.size(), 1u);
  EXPECT_EQ(decoded.value().holders[0].permits, 4u);
  expect_hardened(payload, decode_lock_details);
}

TEST(LockHold, ComesBackAsItWasSentWithTheNoteBehindTheName) {
  const LockHold hold{
      .flags = 1, .permits = 7, .limit = 300, .name = "jobs/train", .note = "on gpu7"};
  const Bytes payload = encode_hold(hold);
  const auto decoded = decode_hold(payload);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().flags, 1u);
  EXPECT_EQ(decoded.value().permits, 7u);
  EXPECT_EQ(decoded.value().limit, 300u);
  EXPECT_EQ(decoded.value().name, "jobs/train");
  EXPECT_EQ(decoded.value().note, "on gpu7");
  EXPECT_EQ(decoded.value().name.data() + 10, decoded.value().note.data());
  for (std::size_t size = 0; size < payload.size() - hold.note.size(); ++size) {
    EXPECT_FALSE(decode_hold(std::span{payload}.first(size)).ok()) << size;
  }
  for (const std::size_t reserved : {6, 7}) {
    Bytes odd = payload;
    odd[reserved] = std::byte{1};
    EXPECT_FALSE(decode_hold(odd).ok()) << reserved;
  }
}

TEST(LockList, ComesBackAsItWasSent) {
  const ListPage page{.rows = {sample_row(), sample_row()}, .next_cursor = "cursor"};
  const auto decoded = decode_list_page(encode_list_page(page));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().rows.size(), 2u);
  EXPECT_EQ(decoded.value().next_cursor, "cursor");
  expect_hardened(encode_list_page(page), decode_list_page);
  const ListQuery query{.prefix = "jobs/", .cursor = "c", .limit = 7};
  EXPECT_EQ(decode_list_query(encode_list_query(query)).value().limit, 7u);
  expect_hardened(encode_list_query(query), decode_list_query);
}

TEST(LockList, QueryOutOfBoundsIsRefusedByItsOwnNumber) {
  const auto detail = [](const ListQuery& query) {
    return static_cast<ErrorCode>(decode_list_query(encode_list_query(query)).status().detail());
  };
  EXPECT_EQ(detail({.limit = 0}), ErrorCode::LimitOutOfRange);
  EXPECT_EQ(detail({.limit = kListRowsMax + 1}), ErrorCode::LimitOutOfRange);
  EXPECT_EQ(detail({.prefix = std::string(kNameBytesMax + 1, 'x')}), ErrorCode::PrefixTooLong);
  EXPECT_EQ(detail({.prefix = "\xff"}), ErrorCode::NameNotUtf8);
  EXPECT_EQ(detail({.cursor = std::string(kCursorBytesMax + 1, 'x')}), ErrorCode::CursorTooLong);
}

TEST(LeaderMap, ComesBackAsItWasSent) {
  const LeaderMap map{.first = ShardId{4}, .leaders = {NodeId{1}, NodeId{0}, NodeId{3}}};
  const auto decoded = decode_leader_map(encode_leader_map(map));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().leaders, map.leaders);
  expect_hardened(encode_leader_map(map), decode_leader_map);
  expect_hardened(encode_shard_range({.first = ShardId{1}, .count = 2}), decode_shard_range);
}

TEST(SnapshotRead, ComesBackAsItWasSent) {
  const SnapshotRead read{.save = 7, .offset = std::uint64_t{1} << 40};
  const auto decoded = decode_snapshot_read(encode_snapshot_read(read));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().save, read.save);
  EXPECT_EQ(decoded.value().offset, read.offset);
  expect_hardened(encode_snapshot_read(read), decode_snapshot_read);
}

TEST(RequestKind, NamesAreKnownForEveryKindAndForNoOther) {
  EXPECT_EQ(request_kind_name(RequestKind::LockAcquire), "lock_acquire");
  EXPECT_TRUE(request_kind_known(RequestKind::LeaderMap));
  EXPECT_FALSE(request_kind_known(RequestKind{0}));
  EXPECT_FALSE(request_kind_known(RequestKind{999}));
}

}  // namespace
}  // namespace gcoord::protocol
