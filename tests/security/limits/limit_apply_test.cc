// Limits and denials: what a command does to the table, and the table as bytes.
#include "security/limits/limit_apply.h"

#include "security/limits/limit_cpu.h"
#include "security/limits/network.h"
#include "security/limits/part.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gcoord::security {
namespace {

constexpr std::uint64_t kNow = 1'000'000'000'000;

class LimitApplyTest : public testing::Test {
 protected:
  LimitCommand command(LimitKind kind, std::string name) const {
    LimitCommand made;
    made.kind = kind;
    made.expected = state_.table().epoch;
    made.number = state_.table().epoch + 100;
    made.now_ms = now_ms_;
    made.name = std::move(name);
    made.who = "ann@build";
    return made;
  }

  LimitCode apply(const LimitCommand& made) { return state_.apply(encode_limit_command(made)); }

  LimitCode set(LimitScope scope, std::string name, const Limit& limit) {
    LimitCommand made = command(LimitKind::Set, std::move(name));
    made.limit_scope = scope;
    made.limit = limit;
    return apply(made);
  }

  LimitCode deny(DenialScope scope, std::string name, std::uint64_t duration_ms = 60'000) {
    LimitCommand made = command(LimitKind::Deny, std::move(name));
    made.denial_scope = scope;
    made.denial = {now_ms_ + duration_ms, "a loop"};
    return apply(made);
  }

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> made;
    state_.serialize(made);
    return made;
  }

  std::uint64_t now_ms_ = kNow;
  LimitCpu state_;
};

TEST_F(LimitApplyTest, EachScopeTakesWhatItCanCount) {
  const Limit rate{.rate = 100, .burst = 200};
  EXPECT_EQ(set(LimitScope::Principal, "ann", {.rate = 1, .burst = 1, .sessions = 3}),
            LimitCode::Applied);
  EXPECT_EQ(set(LimitScope::Principal, "*", {}), LimitCode::Applied);
  EXPECT_EQ(set(LimitScope::Prefix, "jobs/", rate), LimitCode::Applied);
  EXPECT_EQ(set(LimitScope::Network, "192.0.2.0/24", {.connections = 4}), LimitCode::Applied);
  EXPECT_EQ(set(LimitScope::Principal, "", rate), LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope::Principal, "ann", {.rate = 1}), LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope::Principal, "ann", {.burst = 1}), LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope::Principal, "ann", {.rate = kRateMax + 1, .burst = 1}),
            LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope::Prefix, "jobs/", {.locks = 1}), LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope::Prefix, "", rate), LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope::Network, "192.0.2.0/24", rate), LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope::Network, "192.0.2.1/24", {.connections = 4}), LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope{9}, "ann", rate), LimitCode::LimitInvalid);
  EXPECT_EQ(state_.table().epoch, 4u);
  EXPECT_EQ(apply(command(LimitKind::Remove, "ann")), LimitCode::Applied);
  EXPECT_EQ(apply(command(LimitKind::Remove, "ann")), LimitCode::LimitUnknown);
}

TEST_F(LimitApplyTest, OfTwoChangesOfOneEpochOneIsRefused) {
  LimitCommand first = command(LimitKind::Set, "ann");
  first.limit = {.locks = 1};
  EXPECT_EQ(apply(first), LimitCode::Applied);
  EXPECT_EQ(apply(first), LimitCode::Stale);
  EXPECT_EQ(state_.made_by(first.number), 1u);
  EXPECT_EQ(state_.made_by(0), std::nullopt);
}

TEST_F(LimitApplyTest, DenialsAreShortAndLeaveWhenTheyHaveEnded) {
  EXPECT_EQ(deny(DenialScope::Principal, "ann", kDenialMsMin - 1), LimitCode::DenialInvalid);
  EXPECT_EQ(deny(DenialScope::Principal, "ann", kDenialMsMax + 1), LimitCode::DenialInvalid);
  EXPECT_EQ(deny(DenialScope::Principal, "ann"), LimitCode::Applied);
  EXPECT_EQ(deny(DenialScope::Serial, "0AF3"), LimitCode::Applied);
  EXPECT_EQ(deny(DenialScope::Serial, "0af3"), LimitCode::DenialInvalid);
  EXPECT_EQ(deny(DenialScope::CertificateName, "db1.example.org"), LimitCode::Applied);
  EXPECT_EQ(deny(DenialScope::Network, "2001:db8::/32", kDenialMsMax), LimitCode::Applied);
  EXPECT_EQ(apply(command(LimitKind::Allow, "bob")), LimitCode::DenialUnknown);
  EXPECT_EQ(state_.table().denials.size(), 4u);
  now_ms_ += 60'000;
  EXPECT_EQ(set(LimitScope::Principal, "bob", {.locks = 1}), LimitCode::Applied);
  EXPECT_EQ(state_.table().denials.size(), 1u);
  LimitCommand allow = command(LimitKind::Allow, "2001:db8::/32");
  allow.denial_scope = DenialScope::Network;
  EXPECT_EQ(apply(allow), LimitCode::Applied);
  EXPECT_TRUE(state_.table().denials.empty());
}

TEST_F(LimitApplyTest, LoopbackCannotBeDenied) {
  for (const char* network : {"127.0.0.1", "127.3.0.0/16", "0.0.0.0/0", "::1", "::/0"}) {
    EXPECT_EQ(deny(DenialScope::Network, network), LimitCode::DenialInvalid) << network;
  }
  EXPECT_EQ(deny(DenialScope::Network, "128.0.0.0/8"), LimitCode::Applied);
}

TEST_F(LimitApplyTest, TheTableIsBounded) {
  for (std::size_t k = 0; k < kLimitsMax; ++k) {
    ASSERT_EQ(set(LimitScope::Principal, "user" + std::to_string(k), {.locks = 1}),
              LimitCode::Applied);
  }
  EXPECT_EQ(set(LimitScope::Principal, "one more", {.locks = 1}), LimitCode::TableFull);
  EXPECT_EQ(set(LimitScope::Principal, "user7", {.locks = 2}), LimitCode::Applied);
  EXPECT_EQ(state_.table().numbers.size(), kLimitChangesKept);
}

TEST_F(LimitApplyTest, OnlyALimitOfATtlIsOfTheSecondVersion) {
  EXPECT_EQ(set(LimitScope::Principal, "ann", {.session_ttl_ms = kSessionTtlMsMin - 1}),
            LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope::Principal, "ann", {.session_ttl_ms = kSessionTtlMsMax + 1}),
            LimitCode::LimitInvalid);
  EXPECT_EQ(set(LimitScope::Network, "192.0.2.7", {.connections = 1, .session_ttl_ms = 1'000}),
            LimitCode::LimitInvalid);
  ASSERT_EQ(set(LimitScope::Principal, "ann", {.rate = 5, .burst = 9}), LimitCode::Applied);
  const std::size_t rows = row_bytes(state_.table());
  EXPECT_EQ(bytes().front(), std::byte{1});
  LimitCommand command_now = command(LimitKind::Set, "bob");
  EXPECT_EQ(encode_limit_command(command_now)[1], std::byte{1});
  command_now.limit.session_ttl_ms = 30'000;
  const std::vector<std::byte> second = encode_limit_command(command_now);
  EXPECT_EQ(second[1], std::byte{2});
  EXPECT_EQ(decode_limit_command(second), command_now);
  ASSERT_EQ(apply(command_now), LimitCode::Applied);
  EXPECT_TRUE(has_safeguards(state_.table()));
  EXPECT_GT(row_bytes(state_.table()), rows);
  const std::vector<std::byte> whole = bytes();
  EXPECT_EQ(whole.front(), std::byte{2});
  EXPECT_EQ(LimitCpu::parse(whole), state_);
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    EXPECT_FALSE(LimitCpu::parse(std::span{whole}.first(cut))) << cut;
  }
  // Without one again, earlier releases read it.
  ASSERT_EQ(apply(command(LimitKind::Remove, "bob")), LimitCode::Applied);
  EXPECT_EQ(bytes().front(), std::byte{1});
  // Nobody writes a second version that needs none.
  std::vector<std::byte> needless = encode_limit_command(command(LimitKind::Set, "cid"));
  needless[1] = std::byte{2};
  needless.resize(needless.size() + 4);
  EXPECT_FALSE(decode_limit_command(needless));
}

TEST_F(LimitApplyTest, AnOrderToPruneTakesTwoPersonsThatAreProven) {
  const PruneBounds bounds{.shard = 3, .entries = 1'000};
  const auto prune = [&](LimitKind kind, const std::string& who) {
    LimitCommand made = command(kind, "");
    made.prune = bounds;
    made.who = who;
    made.proven = !who.empty();
    EXPECT_EQ(decode_limit_command(encode_limit_command(made)), made);
    return apply(made);
  };
  EXPECT_EQ(prune(LimitKind::ConfirmPrune, "bob"), LimitCode::PruneUnknown);
  EXPECT_EQ(prune(LimitKind::OrderPrune, ""), LimitCode::PruneUnproven);
  ASSERT_EQ(prune(LimitKind::OrderPrune, "ann"), LimitCode::Applied);
  EXPECT_EQ(prune(LimitKind::OrderPrune, "bob"), LimitCode::PruneExists);
  EXPECT_EQ(prune(LimitKind::ConfirmPrune, "ann"), LimitCode::PruneSamePerson);
  EXPECT_EQ(prune(LimitKind::ConfirmPrune, ""), LimitCode::PruneUnproven);
  EXPECT_FALSE(state_.table().prunes.at(bounds).is_confirmed());
  ASSERT_EQ(prune(LimitKind::ConfirmPrune, "bob"), LimitCode::Applied);
  EXPECT_EQ(state_.table().prunes.at(bounds).confirmed_by, "bob");
  EXPECT_EQ(prune(LimitKind::ConfirmPrune, "cid"), LimitCode::PruneExists);
  const std::vector<std::byte> whole = bytes();
  EXPECT_EQ(whole.front(), std::byte{2});
  EXPECT_EQ(LimitCpu::parse(whole), state_);
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    EXPECT_FALSE(LimitCpu::parse(std::span{whole}.first(cut))) << cut;
  }
  ASSERT_EQ(prune(LimitKind::CancelPrune, "cid"), LimitCode::Applied);
  EXPECT_FALSE(has_safeguards(state_.table()));
  EXPECT_EQ(prune(LimitKind::CancelPrune, "cid"), LimitCode::PruneUnknown);
  ASSERT_EQ(prune(LimitKind::OrderPrune, "ann"), LimitCode::Applied);
  now_ms_ += kPruneOrderMs;
  EXPECT_EQ(set(LimitScope::Principal, "bob", {.locks = 1}), LimitCode::Applied);
  EXPECT_TRUE(state_.table().prunes.empty()) << "it has ended";
  // One that has ended can be removed, and not confirmed.
  ASSERT_EQ(prune(LimitKind::OrderPrune, "ann"), LimitCode::Applied);
  now_ms_ += kPruneOrderMs;
  EXPECT_EQ(prune(LimitKind::ConfirmPrune, "bob"), LimitCode::PruneUnknown);
  EXPECT_EQ(prune(LimitKind::CancelPrune, ""), LimitCode::PruneUnproven);
  EXPECT_EQ(state_.table().prunes.size(), 1u);
  EXPECT_EQ(prune(LimitKind::CancelPrune, "cid"), LimitCode::Applied);
  EXPECT_TRUE(state_.table().prunes.empty());
}

TEST_F(LimitApplyTest, OrdersToPruneAreBounded) {
  LimitCommand made = command(LimitKind::OrderPrune, "");
  made.proven = true;
  EXPECT_EQ(apply(made), LimitCode::PruneUnproven) << "without a bound";
  for (std::size_t k = 0; k <= kPruneOrdersMax; ++k) {
    made = command(LimitKind::OrderPrune, "");
    made.proven = true;
    made.prune.entries = k + 1;
    EXPECT_EQ(apply(made), k < kPruneOrdersMax ? LimitCode::Applied : LimitCode::TableFull) << k;
  }
}

TEST_F(LimitApplyTest, AStateIsItsBytesAndNothingElseIsOne) {
  EXPECT_TRUE(bytes().empty());
  ASSERT_EQ(set(LimitScope::Principal, "ann", {.rate = 5, .burst = 9}), LimitCode::Applied);
  ASSERT_EQ(deny(DenialScope::Network, "192.0.2.7"), LimitCode::Applied);
  std::vector<std::byte> whole = bytes();
  EXPECT_EQ(LimitCpu::parse(whole), state_);
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    EXPECT_FALSE(LimitCpu::parse(std::span{whole}.first(cut))) << cut;
  }
  whole.push_back(std::byte{0});
  EXPECT_FALSE(LimitCpu::parse(whole));
  std::vector<std::byte> before = {std::byte{7}};
  append_limits_part(LimitCpu{}, before);
  EXPECT_EQ(before.size(), 1u);
  append_limits_part(state_, before);
  const auto parts = split_limits_part(before);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->before.size(), 1u);
  EXPECT_EQ(LimitCpu::parse(parts->limits), state_);
}

TEST(NetworkTest, AnAddressIsInTheNetworksAroundIt) {
  const auto inside = [](const char* network, const char* address) {
    return parse_network(network)->contains(parse_network(address)->bits);
  };
  EXPECT_TRUE(inside("192.0.2.0/24", "192.0.2.255"));
  EXPECT_FALSE(inside("192.0.2.0/24", "192.0.3.0"));
  EXPECT_TRUE(inside("192.0.2.0/23", "192.0.3.0"));
  EXPECT_TRUE(inside("192.0.2.0/24", "::ffff:192.0.2.9"));
  EXPECT_TRUE(inside("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(inside("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(inside("0.0.0.0/0", "203.0.113.1"));
  EXPECT_FALSE(inside("0.0.0.0/0", "2001:db8::1"));
  EXPECT_EQ(to_string(*parse_network("2001:DB8::/32")), "2001:db8::/32");
  EXPECT_EQ(to_string(*parse_network("192.0.2.7/32")), "192.0.2.7");
  for (const char* wrong : {"",
                            "/",
                            "192.0.2.0/33",
                            "192.0.2.1/24",
                            "192.0.2",
                            "a/1",
                            "::/129",
                            "192.0.2.0/",
                            "192.0.2.0/+8",
                            "192.0.2.0/8x"}) {
    EXPECT_FALSE(parse_network(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace gcoord::security
