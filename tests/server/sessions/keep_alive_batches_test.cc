// S3 at its size: 100,000 leases kept alive by two messages a round, and who is missed is named.
#include "protocol/session_messages.h"
#include "tests/server/sessions/expiry_world.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kLeases = 100'000;
constexpr std::uint32_t kTtlMs = 10'000;
constexpr std::uint32_t kRoundMs = kTtlMs / 3;

class KeepAliveBatchesTest : public testing::Test {
 protected:
  KeepAliveBatchesTest() {
    bench_.lead_all();
    for (std::uint64_t session = 1; session <= kLeases; ++session) {
      protocol::RequestSlot slot = bench_.slot(protocol::RequestKind::SessionGrant);
      slot.session = session;
      slot.ttl_ms = kTtlMs;
      slot.shard = protocol::home_shard(SessionId{session}, 4).value;
      bench_.send(slot, "");
      sessions_.push_back(SessionId{session});
    }
    bench_.decide();
    for (const KeptReply& granted : std::exchange(bench_.sink.replies, {})) {
      EXPECT_EQ(granted.slot.code, StatusCode::Ok);
    }
    EXPECT_EQ(registered(), kLeases);
  }

  // One round of keep-alives in as few messages as the protocol has room for; the answers' misses.
  std::vector<protocol::KeepAliveEntry> renew(std::span<const SessionId> sessions) {
    std::vector<protocol::KeepAliveEntry> missed;
    messages_ = 0;
    for (std::size_t begin = 0; begin < sessions.size(); begin += protocol::kKeepAliveSessionsMax) {
      const auto part = sessions.subspan(
          begin, std::min<std::size_t>(protocol::kKeepAliveSessionsMax, sessions.size() - begin));
      const auto request = bench_.send(bench_.slot(protocol::RequestKind::KeepAlive),
                                       protocol::encode_keep_alive(part));
      const auto answered = protocol::decode_keep_alive_reply(bench_.sink.take(request).payload);
      EXPECT_TRUE(answered.ok());
      missed.insert(missed.end(), answered.value().begin(), answered.value().end());
      ++messages_;
    }
    return missed;
  }

  // In ticks, as a node's time passes; what was due is decided as it comes.
  void pass_ms(std::uint32_t ms) {
    for (std::uint32_t passed = 0; passed < ms; passed += 10) {
      bench_.pass_ms(10);
      bench_.decide();
    }
  }

  std::uint32_t registered() const {
    return static_cast<std::uint32_t>(bench_.service->locks().usage().sessions);
  }

  LockBench bench_;
  std::vector<SessionId> sessions_;
  std::size_t messages_ = 0;
};

TEST_F(KeepAliveBatchesTest, S3AHundredThousandLeasesLiveOnByTwoMessagesARound) {
  for (int round = 0; round < 9; ++round) {  // Three times their TTL.
    pass_ms(kRoundMs);
    EXPECT_TRUE(renew(sessions_).empty()) << "round " << round;
    EXPECT_EQ(messages_, 2u);
    ASSERT_EQ(registered(), kLeases) << "round " << round;
  }
}

TEST_F(KeepAliveBatchesTest, S3TheAnswerNamesEachLeaseThatIsMissedAndNoOther) {
  std::map<std::uint64_t, protocol::KeepAliveState> expected;
  for (std::uint64_t session = 500; session <= kLeases; session += 1000) {
    protocol::RequestSlot slot = bench_.slot(protocol::RequestKind::CloseSession);
    slot.session = session;
    slot.shard = protocol::kAllShards;
    const auto request = bench_.send(slot, "");
    EXPECT_EQ(bench_.decided(request).slot.code, StatusCode::Ok);
    expected[session] = protocol::KeepAliveState::Expired;
  }
  for (std::uint64_t stranger = 1; stranger <= 50; ++stranger) {
    sessions_.push_back(SessionId{kLeases + stranger});
    expected[kLeases + stranger] = protocol::KeepAliveState::Unregistered;
  }
  std::map<std::uint64_t, protocol::KeepAliveState> missed;
  for (const protocol::KeepAliveEntry& entry : renew(sessions_)) {
    EXPECT_TRUE(missed.emplace(entry.session.value, entry.state).second) << "twice";
  }
  EXPECT_EQ(missed, expected);
}

TEST_F(KeepAliveBatchesTest, S3WhoIsLeftOutOfTheBatchesEndsAndNobodyElseDoes) {
  constexpr std::uint32_t kLeftOut = 1000;
  const auto kept = std::span{sessions_}.subspan(kLeftOut);
  for (int round = 0; round < 4; ++round) {
    pass_ms(kRoundMs);
    EXPECT_TRUE(renew(kept).empty()) << "round " << round;
  }
  EXPECT_EQ(registered(), kLeases - kLeftOut);
  const auto missed = renew(sessions_);
  ASSERT_EQ(missed.size(), kLeftOut);
  for (const protocol::KeepAliveEntry& entry : missed) {
    EXPECT_LE(entry.session.value, kLeftOut);
    EXPECT_EQ(entry.state, protocol::KeepAliveState::Expired);
  }
}

}  // namespace
}  // namespace gcoord::server
