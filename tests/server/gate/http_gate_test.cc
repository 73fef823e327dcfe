// Pages of the HTTP ports while rights are on: who gets which, by certificate and by token.
#include "server/gate/http_gate.h"

#include "tests/server/gate/fake_gate.h"

#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace gcoord::server {
namespace {

using security::PrincipalKind;
using security::Right;
using testing::HasSubstr;

constexpr std::uint64_t kNow = 1'000'000;

class HttpGateTest : public testing::Test {
 protected:
  HttpGateTest() {
    gate_.set_cluster(ClusterId{7});
    gate_.set_tokens(ring_);
    grant("ann", {Right::MetricsRead});
    grant("eve", {Right::LockRead});
    table_.enabled = true;
    publish();
  }

  void publish(RolesStand stand = RolesStand::Known) { gate_.publish(table_, stand); }

  void grant(const std::string& user, std::initializer_list<Right> rights) {
    security::RightMask mask = 0;
    for (const Right right : rights) {
      mask |= bit_of(right);
    }
    security::Role role;
    role.grants.push_back({.prefix = "", .exact = false, .rights = mask});
    table_.roles[user] = role;
    table_.users[user].roles = {user};
    ++table_.epoch;
  }

  std::string token(const std::string& user, std::uint64_t life_s = 600) const {
    return ring_.issue(
        {.principal = {PrincipalKind::User, user}, .roles_epoch = table_.epoch, .proven_s = kNow},
        kNow,
        life_s);
  }

  int status(HttpPort port, const std::string& path, const std::string& bearer = "") {
    HttpRequest request{.path = path, .bearer = bearer};
    return status(port, request);
  }

  int status(HttpPort port, const HttpRequest& request) {
    const auto refusal = gate_.refusal(port, request);
    body_ = refusal ? refusal->body : "";
    return refusal ? refusal->status : 200;
  }

  static HttpRequest shows(const std::string& uri) {
    return {.path = "/metrics",
            .peer = std::make_shared<const security::TlsPeer>(security::TlsPeer{.uris = {uri}})};
  }

  std::uint64_t refused_for(std::string_view right) {
    return metrics_.counter(Refusals::name_of(right)).value();
  }

  MetricsRegistry metrics_;
  std::array<std::byte, security::kTokenSeedBytes> seed_{std::byte{9}};
  security::TokenRing ring_{seed_, {}};
  security::AccessTable table_;
  std::uint64_t now_s_ = kNow;
  HttpGate gate_{metrics_, [this] { return now_s_; }};
  std::string body_;
};

TEST_F(HttpGateTest, ATokenOpensThePagesOfItsUsersRights) {
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics", token("ann")), 200);
  EXPECT_EQ(status(HttpPort::Ledger, "/tile/0/000", token("ann")), 403);
  EXPECT_THAT(body_, HasSubstr("user ann has no right ledger.read"));
  EXPECT_THAT(body_, HasSubstr("GC6560"));
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics", token("eve")), 403);
  EXPECT_EQ(refused_for("metrics.read"), 1u);
  EXPECT_EQ(refused_for("ledger.read"), 1u);
}

TEST_F(HttpGateTest, WithoutAnIdentityAPageSaysSoAndThatOfHealthComes) {
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics"), 401);
  EXPECT_THAT(body_, HasSubstr("GC6560"));
  EXPECT_EQ(status(HttpPort::Metrics, "/no/such/page"), 401);
  EXPECT_EQ(status(HttpPort::Ledger, "/tile/0/000"), 401);
  for (const char* page : {"/livez", "/readyz"}) {
    EXPECT_EQ(status(HttpPort::Metrics, page), 200) << page;
  }
}

TEST_F(HttpGateTest, HeadsAndKeysOfTheLedgerAreForEverybody) {
  for (const char* page : {"/checkpoint", "/key", "/shard/12/checkpoint"}) {
    EXPECT_EQ(status(HttpPort::Ledger, page), 200) << page;
  }
  for (const char* page :
       {"/checkpoint/", "/shard//checkpoint", "/shard/1/checkpoint/x", "/shard/1/tile/0/000"}) {
    EXPECT_EQ(status(HttpPort::Ledger, page), 401) << page;
  }
}

TEST_F(HttpGateTest, ACertificateIsItsPrincipal) {
  EXPECT_EQ(status(HttpPort::Metrics, shows("gcoord://7/user/ann")), 200);
  EXPECT_EQ(status(HttpPort::Metrics, shows("gcoord://7/user/eve")), 403);
  // Issued for another cluster: nobody here.
  EXPECT_EQ(status(HttpPort::Metrics, shows("gcoord://8/user/ann")), 401);
}

TEST_F(HttpGateTest, ACertificateIsNobodysFromItsEndOn) {
  security::TlsPeer peer{.uris = {"gcoord://7/user/ann"}};
  peer.not_after_s = kNow + 10;
  const HttpRequest request{.path = "/metrics",
                            .peer = std::make_shared<const security::TlsPeer>(peer)};
  now_s_ = kNow + 9;
  EXPECT_EQ(status(HttpPort::Metrics, request), 200);
  now_s_ = kNow + 10;
  EXPECT_EQ(status(HttpPort::Metrics, request), 401) << "its connection goes on";
}

TEST_F(HttpGateTest, ATokenThatIsForgedExpiredOrEndedOpensNothing) {
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics", "gcoord1.forged"), 401);
  std::array<std::byte, security::kTokenSeedBytes> other{std::byte{8}};
  const security::TokenRing foreign(other, {});
  EXPECT_EQ(status(HttpPort::Metrics,
                   "/metrics",
                   foreign.issue(
                       {.principal = {PrincipalKind::User, "ann"}, .proven_s = kNow}, kNow, 600)),
            401);
  const std::string good = token("ann");
  now_s_ = kNow + 601;
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics", good), 401);
  now_s_ = kNow;
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics", good), 200);
  table_.users["ann"].disabled = true;
  ++table_.epoch;
  publish();
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics", good), 401);
  EXPECT_THAT(body_, HasSubstr("GC6537"));
  EXPECT_EQ(refused_for("identity"), 4u);
}

TEST_F(HttpGateTest, ATokenOfNewerUsersThanTheNodeHasIsForAnotherNode) {
  ++table_.epoch;  // Not published here.
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics", token("ann")), 503);
}

TEST_F(HttpGateTest, ARightThatIsTakenAwayIsGoneWithTheNextPass) {
  const std::string good = token("ann");
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics", good), 200);
  table_.roles["ann"].grants.clear();
  ++table_.epoch;
  publish();
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics", good), 403);
}

TEST_F(HttpGateTest, WhileRightsAreOffEverythingIsForEverybody) {
  EXPECT_TRUE(gate_.on());
  table_.enabled = false;
  publish();
  EXPECT_FALSE(gate_.on());
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics"), 200);
  EXPECT_EQ(status(HttpPort::Ledger, "/tile/0/000", "nonsense"), 200);
  table_.enabled = true;
  publish();
  EXPECT_EQ(status(HttpPort::Metrics, "/metrics"), 401);
}

TEST_F(HttpGateTest, VerifiersAreForThoseWhoMayManageUsersWhetherRightsAreOnOrOff) {
  grant("admin", {Right::AuthAdmin});
  grant("auditor", {Right::LedgerRead});
  for (const bool enabled : {true, false}) {
    table_.enabled = enabled;
    ++table_.epoch;
    publish();
    const auto may = [&](const std::string& bearer) {
      return gate_.may_see_verifiers({.path = "/shard/0/tile/entries/000", .bearer = bearer});
    };
    EXPECT_TRUE(may(token("admin")));
    EXPECT_FALSE(may(token("auditor")));
    EXPECT_FALSE(may(""));
    EXPECT_FALSE(may("gcoord1.forged"));
    EXPECT_TRUE(gate_.may_see_verifiers(shows("gcoord://7/user/admin")));
    EXPECT_FALSE(gate_.may_see_verifiers(shows("gcoord://8/user/admin")));
  }
  table_.users["admin"].disabled = true;
  ++table_.epoch;
  publish();
  EXPECT_FALSE(gate_.may_see_verifiers(shows("gcoord://7/user/admin")));
}

TEST_F(HttpGateTest, WithoutTheRolesNothingButHealthIsGiven) {
  table_ = {};
  for (const RolesStand stand : {RolesStand::Joining, RolesStand::Unconfirmed}) {
    publish(stand);
    EXPECT_TRUE(gate_.on());
    for (const char* page : {"/livez", "/readyz"}) {
      EXPECT_EQ(status(HttpPort::Metrics, page), 200) << page;
    }
    for (const char* page : {"/metrics", "/debug/log", "/debug/profile", "/no/such/page"}) {
      EXPECT_EQ(status(HttpPort::Metrics, page), 503) << page;
      EXPECT_EQ(status(HttpPort::Metrics, page, token("ann")), 503) << "the user is not known";
    }
    EXPECT_EQ(status(HttpPort::Ledger, "/checkpoint"), 200);
    EXPECT_EQ(status(HttpPort::Ledger, "/shard/0/tile/entries/000", token("ann")), 503);
    EXPECT_THAT(body_, HasSubstr("GC6561"));
    EXPECT_FALSE(gate_.may_see_verifiers(shows("gcoord://7/user/ann")));
  }
  publish();
  EXPECT_FALSE(gate_.on());
  EXPECT_EQ(status(HttpPort::Ledger, "/shard/0/tile/entries/000"), 200);
}

// The rule of the port of clients (request_gate_test.cc).
TEST_F(HttpGateTest, WithoutTheRolesTheHostAndCertificatesSeeHowTheNodeIs) {
  table_ = {};
  for (const RolesStand stand : {RolesStand::Joining, RolesStand::Unconfirmed}) {
    publish(stand);
    const int given = stand == RolesStand::Unconfirmed ? 200 : 503;
    for (HttpRequest reader : {HttpRequest{.loopback = true},
                               shows("gcoord://7/user/eve"),
                               shows("gcoord://8/user/eve")}) {
      const bool foreign = reader.peer != nullptr && reader.peer->uris[0].starts_with("gcoord://8");
      for (const char* page : {"/metrics", "/debug/log", "/no/such/page"}) {
        reader.path = page;
        EXPECT_EQ(status(HttpPort::Metrics, reader), foreign ? 503 : given) << page;
      }
      reader.path = "/debug/profile";
      EXPECT_EQ(status(HttpPort::Metrics, reader), 503) << "for administrators";
      reader.path = "/shard/0/tile/entries/000";
      EXPECT_EQ(status(HttpPort::Ledger, reader), 503);
    }
  }
}

}  // namespace
}  // namespace gcoord::server
