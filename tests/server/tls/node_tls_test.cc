#include "server/tls/node_tls.h"

#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

class NodeTlsOf : public testing::Test {
 protected:
  std::uint64_t loads(const char* result) {
    return metrics_.counter({"gcoord_server_tls_loads_total", "", "result", result}).value();
  }

  security::TlsTestFiles files_;
  MetricsRegistry metrics_;
  NodeTls tls_{metrics_};
};

// A node that knows who it is, with files of a certificate and a list.
class NodeOfItsName : public NodeTlsOf {
 protected:
  NodeOfItsName() {
    write({});
    write_private(files_.path("list.pem"), files_.authority.revoke({}));
    choices_.files = files_.server_files();
    choices_.files.revoked = files_.path("list.pem");
  }

  void write(const CertificateWish& wish, const std::string& uri = "gcoord://42/node/3") {
    CertificateWish named = wish;
    named.names = {"DNS:localhost", "URI:" + uri};
    write_certificate(files_.folder(), "server", files_.authority.issue(named));
  }

  // Of a node that starts now.
  std::uint32_t start_failure() {
    MetricsRegistry metrics;
    return NodeTls(metrics, own_).open(choices_).detail();
  }

  const OwnNode own_{.cluster = ClusterId{42}, .node = NodeId{3}, .former = {}};
  TlsChoices choices_;
};

TEST_F(NodeTlsOf, ANodeWithoutACertificateHasNoneAndLooksAtNothing) {
  ASSERT_TRUE(tls_.open({}).ok());
  tls_.look(5'000);
  tls_.change({});
  EXPECT_EQ(tls_.client().rule().mode, TlsMode::Off);
  EXPECT_EQ(loads("failed"), 0u);
}

TEST_F(NodeTlsOf, GoesThroughAllModesByChoice) {
  ASSERT_TRUE(tls_.open({}).ok());
  TlsChoices choices{.files = files_.server_files()};
  for (const TlsMode mode : {TlsMode::Off, TlsMode::Permissive, TlsMode::Required}) {
    choices.client = mode;
    tls_.change(choices);
    EXPECT_EQ(tls_.client().rule().mode, mode);
    EXPECT_EQ(tls_.client().rule().context != nullptr, mode != TlsMode::Off);
    EXPECT_EQ(tls_.http().rule().mode, TlsMode::Required);
  }
  tls_.change({});
  EXPECT_EQ(tls_.client().rule().mode, TlsMode::Off);
}

TEST_F(NodeTlsOf, AChoiceThatCannotBeLeavesEverythingAsItWas) {
  const TlsChoices good{.files = files_.server_files()};
  ASSERT_TRUE(tls_.open(good).ok());
  const auto before = tls_.client().rule().context;
  TlsChoices bad = good;
  bad.files.key = files_.path("client.key");
  bad.client = TlsMode::Permissive;
  EXPECT_EQ(tls_.change(bad), good) << "what reports show";
  EXPECT_EQ(tls_.client().rule().mode, TlsMode::Required);
  EXPECT_EQ(tls_.client().rule().context, before);
  EXPECT_EQ(loads("failed"), 1u);
}

TEST_F(NodeTlsOf, ChangedFilesAreTakenWithinASecond) {
  ASSERT_TRUE(tls_.open({.files = files_.server_files()}).ok());
  tls_.look(1'000);
  const auto before = tls_.client().rule().context;
  write_certificate(files_.folder(), "server", files_.authority.issue());
  tls_.look(1'500);
  EXPECT_EQ(tls_.client().rule().context, before);
  tls_.look(2'000);
  EXPECT_NE(tls_.client().rule().context, before);
  EXPECT_EQ(tls_.http().rule().context, tls_.client().rule().context);
  EXPECT_EQ(loads("ok"), 2u);
}

TEST_F(NodeOfItsName, DoesNotStartWithFilesThatWouldShutEverybodyOut) {
  EXPECT_EQ(start_failure(), 0u);
  write({.begins_in_s = -7200, .ends_in_s = -60});
  EXPECT_EQ(start_failure(), 1214u);
  write({.begins_in_s = 600, .ends_in_s = 3600});
  EXPECT_EQ(start_failure(), 1215u);
  write({});
  write_private(files_.path("list.pem"), files_.authority.revoke({}, -60));
  EXPECT_EQ(start_failure(), 3138u);
}

// Only other nodes look at the name, so one certificate may serve the client ports of all nodes.
TEST_F(NodeOfItsName, MustNameTheNodeWhereLinksHaveTls) {
  for (const char* uri : {"gcoord://42/node/9",
                          "gcoord://41/node/3",
                          "gcoord://42/user/3",
                          "https://db1.example.org/"}) {
    write({}, uri);
    choices_.peer.reset();
    EXPECT_EQ(start_failure(), 0u) << uri;
    choices_.peer = TlsMode::Permissive;
    EXPECT_EQ(start_failure(), 1217u) << uri;
  }
}

// A cluster that took the place of another one begins with the certificates of before.
TEST_F(NodeOfItsName, MayHaveACertificateOfTheClusterBefore) {
  write({}, "gcoord://41/node/3");
  choices_.peer = TlsMode::Required;
  MetricsRegistry metrics;
  const OwnNode own{.cluster = ClusterId{42}, .node = NodeId{3}, .former = ClusterId{41}};
  EXPECT_TRUE(NodeTls(metrics, own).open(choices_).ok());
}

TEST_F(NodeOfItsName, KeepsItsFilesWhenWorseOnesCome) {
  choices_.peer = TlsMode::Permissive;
  MetricsRegistry metrics;
  NodeTls tls(metrics, own_);
  ASSERT_TRUE(tls.open(choices_).ok());
  const auto before = tls.client().rule().context;
  const auto failed = [&] {
    return metrics.counter({"gcoord_server_tls_loads_total", "", "result", "failed"}).value();
  };
  std::uint64_t now_ms = 0;
  const auto look = [&] { tls.look(now_ms += 1'000); };
  write({.begins_in_s = -7200, .ends_in_s = -60});
  look();
  write({}, "gcoord://42/node/9");
  look();
  write({});
  write_private(files_.path("list.pem"), files_.authority.revoke({}, -60));
  look();
  EXPECT_EQ(tls.client().rule().context, before);
  EXPECT_EQ(failed(), 3u);
  write_private(files_.path("list.pem"), files_.authority.revoke({}));
  look();
  EXPECT_NE(tls.client().rule().context, before);
  EXPECT_EQ(failed(), 3u);
}

// The operator's way out when the certificates of a cluster have expired: plain text by a reload.
TEST_F(NodeOfItsName, CanHaveTlsSwitchedOffWhenItsFilesHaveExpired) {
  MetricsRegistry metrics;
  std::int64_t now_s = wall_seconds();
  NodeTls tls(metrics, own_, [&] { return now_s; });
  const auto failed = [&] {
    return metrics.counter({"gcoord_server_tls_loads_total", "", "result", "failed"}).value();
  };
  ASSERT_TRUE(tls.open(choices_).ok());
  const auto before = tls.http().rule().context;
  now_s += 7'200;
  choices_.client = TlsMode::Off;
  EXPECT_EQ(tls.change(choices_).client, TlsMode::Off);
  EXPECT_EQ(tls.client().rule().mode, TlsMode::Off);
  EXPECT_EQ(tls.http().rule().mode, TlsMode::Required);
  EXPECT_EQ(tls.http().rule().context, before) << "the files in use stay in use";
  EXPECT_EQ(failed(), 1u);
  choices_.http = TlsMode::Off;
  tls.change(choices_);
  EXPECT_EQ(tls.http().rule().mode, TlsMode::Off);
  EXPECT_EQ(failed(), 1u) << "files that no port uses are not judged";
  EXPECT_TRUE(check_own_files(choices_, {.own = own_, .now_s = now_s}).ok());
  choices_.client = TlsMode::Required;
  EXPECT_EQ(tls.change(choices_).client, TlsMode::Off) << "refused: these are the choices in use";
  EXPECT_EQ(tls.client().rule().mode, TlsMode::Off);
  EXPECT_EQ(failed(), 2u);
}

TEST_F(NodeOfItsName, ShowsTheEndOfItsListAndSaysWhomANewOneRevokes) {
  MetricsRegistry metrics;
  NodeTls tls(metrics, own_);
  const auto before = security::loaded(security::TlsSide::Server, choices_.files);
  security::TlsPair pair(before,
                         security::loaded(security::TlsSide::Client, files_.client_files()));
  pair.settle();
  ASSERT_NE(pair.server.peer(), nullptr);
  std::vector<bool> seen;
  tls.set_on_change(
      [&](const NodeTls::Revokes& revokes) { seen.push_back(revokes(*pair.server.peer())); });
  ASSERT_TRUE(tls.open(choices_).ok());
  const std::int64_t end_s =
      metrics.gauge({"gcoord_server_tls_revocations_end_seconds", "", "", ""}).value();
  EXPECT_EQ(end_s, tls.client().rule().context->facts().list_end_s);
  EXPECT_GT(end_s, wall_seconds());
  write_private(files_.path("list.pem"), files_.authority.revoke({files_.client.serial}));
  tls.look(1'000);
  EXPECT_EQ(seen, (std::vector<bool>{false, true}));
  EXPECT_TRUE(tls.client().revokes(*pair.server.peer()));
}

TEST_F(NodeOfItsName, IsCheckedBeforeItStarts) {
  EXPECT_TRUE(check_own_files({}, {.own = own_, .now_s = wall_seconds()}).ok());
  EXPECT_TRUE(check_own_files(choices_, {.own = own_, .now_s = wall_seconds()}).ok());
  EXPECT_EQ(check_own_files(choices_, {.own = own_, .now_s = wall_seconds() + 7'200}).detail(),
            1214u);
  choices_.files.key = files_.path("client.key");
  EXPECT_EQ(check_own_files(choices_, {.own = own_, .now_s = wall_seconds()}).detail(), 1232u);
}

TEST(ExpiryOf, ComesAWeekBeforeTheEndOrInTheLastThird) {
  constexpr std::int64_t kDay = 86'400;
  security::TlsFacts facts;
  facts.own.fingerprint = "f";
  facts.own.not_after_s = 100 * kDay;
  facts.list_begin_s = 90 * kDay;
  facts.list_end_s = 93 * kDay;
  const auto kinds = [&](std::int64_t now_s) {
    const auto all = expiries(facts, now_s);
    return std::pair{all[0].kind, all[1].kind};
  };
  using Kind = Expiry::Kind;
  EXPECT_EQ(kinds(91 * kDay), (std::pair{Kind::None, Kind::None}));
  EXPECT_EQ(kinds(92 * kDay), (std::pair{Kind::None, Kind::Soon}));
  EXPECT_EQ(kinds(93 * kDay), (std::pair{Kind::Soon, Kind::Over}));
  EXPECT_EQ(kinds(100 * kDay).first, Kind::Over);
  EXPECT_NE(expiries(facts, 93 * kDay)[1].text.find("GC3138"), std::string::npos);
}

}  // namespace
}  // namespace gcoord::server
