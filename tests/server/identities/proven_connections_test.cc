// Connections that were proven by a password, a token or a certificate, once that holds no more:
// the user has changed, or its time is over.
#include "server/identities/proven_connections.h"

#include "tests/server/identities/identities_fixture.h"

#include <algorithm>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::ProofKind;

class ProvenConnectionsTest : public IdentitiesFixture {
 protected:
  ProvenConnectionsTest() {
    users_.add("ann", "open sesame");
    users_.add("bob", "bob's");
    requests_.set_cut([this](protocol::ConnectionId connection, ProofEnd end) {
      (end == ProofEnd::Revoked ? cut_ : expired_).push_back(connection);
    });
    by_password_ = connections_.add();
    token_ = protocol::decode_authenticated(log_in(by_password_, "ann", "open sesame").payload)
                 .value()
                 .token;
    by_token_ = connections_.add();
    EXPECT_EQ(error_in(show(by_token_, token_)), ErrorCode::None);
    other_ = connections_.add();
    EXPECT_EQ(error_in(log_in(other_, "bob", "bob's")), ErrorCode::None);
    by_certificate_ = connections_.add();
    ConnectionIdentity& shown = *connections_.identity(by_certificate_);
    shown.principal = {security::PrincipalKind::Certificate, "ann"};
    shown.proof = {ProofKind::Certificate, kStartS + 3600};
    EXPECT_TRUE(
        requests_.admits({by_certificate_, slot_of(protocol::RequestKind::NodeStatus), {}}));
    requests_.advance();
    EXPECT_TRUE(cut_.empty());
  }

  // Of ann's both, and of nothing else.
  void expect_ended() {
    const std::uint64_t before = requests_.reidentified();
    EXPECT_TRUE(requests_.advance());
    EXPECT_EQ(requests_.reidentified(), before + 1) << "watches and waits are judged anew";
    EXPECT_EQ(cut_, (std::vector{by_password_, by_token_}));
    EXPECT_EQ(principal(by_password_), "anonymous");
    EXPECT_EQ(principal(by_token_), "anonymous");
    EXPECT_EQ(connections_.identity(by_token_)->proof.kind, ProofKind::None);
    EXPECT_EQ(principal(other_), "user bob");
    EXPECT_EQ(principal(by_certificate_), "certificate ann");
    EXPECT_EQ(error_in(show(connections_.add(), token_)), ErrorCode::TokenRevoked);
    EXPECT_FALSE(requests_.advance());
    EXPECT_EQ(cut_.size(), 2u);
    EXPECT_TRUE(expired_.empty());
  }

  // Those that end at this moment, by what they are.
  std::vector<std::string> expire_at(std::uint64_t time_s) {
    now_s_ = time_s;
    expired_.clear();
    const bool any = requests_.advance();
    EXPECT_EQ(any, !expired_.empty());
    std::vector<std::string> ended;
    for (const protocol::ConnectionId each : expired_) {
      ended.push_back(std::to_string(each.value) + " " + principal(each));
    }
    std::ranges::sort(ended);
    return ended;
  }

  std::vector<protocol::ConnectionId> cut_;
  std::vector<protocol::ConnectionId> expired_;
  std::string token_;
  protocol::ConnectionId by_password_;
  protocol::ConnectionId by_token_;
  protocol::ConnectionId by_certificate_;
  protocol::ConnectionId other_;
};

TEST_F(ProvenConnectionsTest, AnotherPasswordEndsThoseOfTheEarlierOne) {
  users_.add("ann", "another");
  expect_ended();
  const auto anew = connections_.add();
  EXPECT_EQ(error_in(log_in(anew, "ann", "another")), ErrorCode::None);
  requests_.advance();
  EXPECT_EQ(principal(anew), "user ann");
}

TEST_F(ProvenConnectionsTest, ADeletedUserHasNone) {
  users_.users.erase("ann");
  ++users_.now;
  expect_ended();
}

TEST_F(ProvenConnectionsTest, ADisabledUserHasNone) {
  users_.users["ann"].disabled = true;
  ++users_.now;
  expect_ended();
}

TEST_F(ProvenConnectionsTest, OtherChangesOfUsersEndNothing) {
  ++users_.now;  // Of a role, or of what the user may.
  EXPECT_FALSE(requests_.advance());
  EXPECT_TRUE(cut_.empty());
  EXPECT_EQ(principal(by_token_), "user ann");
}

// The same connection says who it is once more, and another one becomes somebody else.
TEST_F(ProvenConnectionsTest, TheProofThatCountsIsTheLastOne) {
  users_.add("ann", "another");
  EXPECT_EQ(error_in(log_in(by_password_, "ann", "another")), ErrorCode::None);
  EXPECT_EQ(error_in(log_in(by_token_, "bob", "bob's")), ErrorCode::None);
  cut_.clear();
  EXPECT_FALSE(requests_.advance());
  EXPECT_EQ(principal(by_password_), "user ann");
  EXPECT_EQ(principal(by_token_), "user bob");
}

using Ended = std::vector<std::string>;

// What a token has proven was believed for as long as the connection lived.
TEST_F(ProvenConnectionsTest, AConnectionEndsWithItsToken) {
  const std::uint64_t end = kStartS + kTokenLifeSeconds;
  const std::uint64_t before = requests_.reidentified();
  EXPECT_EQ(expire_at(end - 1), Ended{});
  EXPECT_EQ(expire_at(end), (Ended{"1 user ann", "2 user ann", "3 user bob"}));
  EXPECT_EQ(requests_.reidentified(), before) << "what they wait for goes on";
  EXPECT_EQ(expire_at(end + 1), Ended{}) << "each is closed once";
  EXPECT_TRUE(cut_.empty());
  EXPECT_EQ(error_in(show(connections_.add(), token_)), ErrorCode::TokenExpired);
}

TEST_F(ProvenConnectionsTest, AConnectionEndsWithItsCertificate) {
  EXPECT_EQ(expire_at(kStartS + 3599).size(), 3u);
  EXPECT_EQ(expire_at(kStartS + 3600), Ended{"4 certificate ann"});
  EXPECT_EQ(expire_at(kStartS + 7200), Ended{});
}

TEST_F(ProvenConnectionsTest, AConnectionThatLogsInAgainGoesOn) {
  now_s_ = kStartS + 400;
  const auto renewed = protocol::decode_authenticated(show(by_token_, token_).payload).value();
  EXPECT_FALSE(renewed.token.empty());
  EXPECT_EQ(error_in(show(by_password_, renewed.token)), ErrorCode::None);
  EXPECT_EQ(expire_at(kStartS + kTokenLifeSeconds), Ended{"3 user bob"});
  EXPECT_EQ(expire_at(kStartS + 400 + kTokenLifeSeconds), (Ended{"1 user ann", "2 user ann"}));
}

TEST_F(ProvenConnectionsTest, WhatHasNoEndIsNotEnded) {
  ConnectionIdentity& local = *connections_.identity(by_certificate_);
  local.proof = {ProofKind::UnixSocket, 0};
  EXPECT_EQ(expire_at(kStartS + 100'000'000).size(), 3u);
  EXPECT_EQ(principal(by_certificate_), "certificate ann");
}

TEST_F(ProvenConnectionsTest, EndsOfProofsThatWereReplacedAreNotKept) {
  ProvenConnections proven(connections_, users_);
  const auto connection = connections_.add();
  for (std::uint64_t k = 1; k <= 100'000; ++k) {
    connections_.identity(connection)->proof = {ProofKind::Token, kStartS + k};
    proven.add(connection);
    proven.add(connection);
  }
  EXPECT_LE(proven.end_count(), 1'100u);
  EXPECT_FALSE(proven.end_expired(kStartS + 99'999));
  EXPECT_TRUE(proven.end_expired(kStartS + 100'000));
  EXPECT_EQ(proven.end_count(), 0u);
}

TEST_F(ProvenConnectionsTest, ConnectionsThatAreGoneAreNotKept) {
  ProvenConnections proven(connections_, users_);
  for (int k = 0; k < 100'000; ++k) {
    const auto connection = connections_.add();
    proven.add(connection);
    proven.add(connection);
    connections_.open.erase(connection.value);
  }
  EXPECT_LE(proven.size(), 1'100u);
}

}  // namespace
}  // namespace gcoord::server
