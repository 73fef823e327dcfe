// A real node whose places are all taken by busy clients: operators get in, and nobody else does.
// With other nodes beside it, it is the leader that these clients wait for.
#include "common/http/client.h"
#include "gcoord/client.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/access/trust_cluster.h"
#include "tests/cli/network_hosts.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class OperatorsTest : public TrustTest {
 protected:
  explicit OperatorsTest(Words flags, int nodes = 1)
      : TrustTest(std::move(flags), {"--with-rights"}, nodes) {}

  void add_users() const {
    must(admin(), {"role", "add", "workers", "read", "write"});
    add_certified("bob", "workers");
    must(admin(), {"role", "add", "operators", "member.admin"});
    write_private(password_file(), "a password of olga's");
    must(admin(),
         {"user", "add", "olga", "--role", "operators", "--password-file", password_file()});
  }

  // Connections of bob, each of which waits for a lock, so that none of them gives way.
  void fill(int connections) {
    must(admin(), {"lock", "acquire", "jobs/a", "--ttl", "1h"});
    const std::string shard = as(admin(), {"lock", "get", "jobs/a"}).json()["shard"].dump();
    full_ = as(admin(), {"shard", "show", shard}).json()["replicas"][0]["leader"].get<int>();
    ASSERT_NE(full_, 0);
    for (int k = 0; k < connections; ++k) {
      client::ClientOptions options;
      options.endpoints = {host_ + ":" + std::to_string(port_ + full_ - 1)};
      options.tls.cacert = made_file("ca.crt");
      options.tls.cert = made_file("bob.crt");
      options.tls.key = made_file("bob.key");
      options.request_timeout = kPatience;
      options.connect_timeout = kPatience;
      auto client = client::Client::connect(std::move(options));
      ASSERT_TRUE(client.ok()) << k << ": " << client.status().to_string();
      auto session = client.value().open_session({.ttl = std::chrono::minutes{1}, .on_event = {}});
      ASSERT_TRUE(session.ok()) << k << ": " << session.status().to_string();
      auto wait = session.value().acquire_async("jobs/a");
      busy_.push_back({std::move(client).value(), std::move(session).value(), std::move(wait)});
    }
  }

  // Connections that the node has closed for the reason.
  int closed(const std::string& reason) const {
    HttpClient http({.host = host_, .port = std::to_string(port_ + 200 + full_ - 1)},
                    {.tls = {.enabled = true,
                             .cacert = made_file("ca.crt"),
                             .cert = made_file("admin.crt"),
                             .key = made_file("admin.key")}});
    const auto page = http.get("/metrics", {.timeout = kPatience, .body_bytes_max = 1 << 20});
    EXPECT_TRUE(page.ok()) << page.status().to_string();
    const std::string text = page.ok() ? page.value().body : "";
    const std::string name = "gcoord_server_connections_closed_total{reason=\"" + reason + "\"} ";
    const std::size_t at = text.find(name);
    EXPECT_NE(at, text.npos);
    return at == text.npos ? -1 : std::stoi(text.substr(at + name.size()));
  }

  void turned_away(const Words& who) const {
    const Finished done = as(who, {"lock", "get", "jobs/a"}, full_);
    EXPECT_EQ(done.code, 3) << done.out << done.err;  // No other node could be reached.
    EXPECT_THAT(done.out, HasSubstr("as many connections as it allows"));
  }

  Words olga() const {
    return joined(nobody(), {"--user", "olga", "--password-file", password_file()});
  }

  std::string password_file() const { return folder_.path() / "olga.pw"; }

  struct Busy {
    client::Client client;
    client::Session session;
    client::Future<client::Result<client::Lock>> wait;
  };

  std::vector<Busy> busy_;
  int full_ = 1;  // The node without places.
};

class OperatorsTurnTest : public OperatorsTest, public testing::WithParamInterface<std::string> {
 protected:
  OperatorsTurnTest()
      : OperatorsTest(joined({"--connections-max", "64", "--source-connections-max", "4"},
                             turn_flags(GetParam())),
                      GetParam() == "host" ? 1 : 3) {}
};

INSTANTIATE_TEST_SUITE_P(BothTurns, OperatorsTurnTest, both_turns(), turn_name);

TEST_P(OperatorsTurnTest, AnOperatorGetsInThoughHerAddressHasAllItsPlaces) {
  add_users();
  fill(4);
  turned_away(certified("bob"));
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(as(admin(), {"auth", "status"}, full_).code, 0) << "by her certificate";
    EXPECT_EQ(as(olga(), {"member", "list"}, full_).code, 0) << "by her password";
  }
  turned_away(certified("bob"));
  EXPECT_EQ(closed("gave_way"), 0);
  EXPECT_GE(closed("full"), 2);  // A tool may have tried more than once.
  // Nobody is an operator where rights are not checked.
  must(admin(), {"auth", "disable"});
  EXPECT_NE(as(admin(), {"auth", "status"}, full_).code, 0);
  busy_.clear();
  Finished enabled;
  for (int tries = 0; tries < 100 && enabled.code != 0; ++tries) {  // Until they are gone.
    enabled = as(admin(), {"auth", "enable"}, full_);
  }
  EXPECT_EQ(enabled.code, 0) << enabled.out << enabled.err;
  must(certified("bob"), {"lock", "acquire", "jobs/b", "--ttl", "30s"});
}

// The node is on a host of its own, so that its clients come from elsewhere.
class FarOperatorsTest : public OperatorsTest {
 protected:
  static constexpr int kPlaces = 64;
  static constexpr int kOfOthers = kPlaces - kPlaces / 16;

  FarOperatorsTest()
      : OperatorsTest(Words{"--connections-max",
                            std::to_string(kPlaces),
                            "--source-connections-max",
                            std::to_string(kPlaces),
                            "--identity-connections-max",
                            std::to_string(kPlaces)}) {}

  void SetUp() override {
    if (!hosts_.obstacle().empty()) {
      GTEST_SKIP() << "skipped: " << hosts_.obstacle();
    }
    host_ = NetworkHosts::address(1);
    port_ = 7400;
    const std::string made = folder_.path() / "made";
    const Finished done = run("gcoordctl",
                              {"cluster",
                               "init",
                               "--with-rights",
                               "--nodes",
                               "1",
                               "--hosts",
                               host_,
                               "--dir",
                               made,
                               "--files-dir",
                               made,
                               "--data-dir",
                               made + "/d",
                               "--client-port",
                               "7400",
                               "--shards",
                               "16"});
    ASSERT_EQ(done.code, 0) << done.err;
    hosts_.on(1, [&] {
      start_nodes({});
      return 0;
    });
  }

  NetworkHosts hosts_{1};
};

TEST_F(FarOperatorsTest, AnOperatorFromElsewhereGetsInThoughTheNodeIsFull) {
  ASSERT_EQ(nodes_.size(), 1u);
  add_users();
  fill(kOfOthers);
  turned_away(certified("bob"));
  EXPECT_EQ(as(admin(), {"auth", "status"}).code, 0);
  turned_away(certified("bob"));
}

}  // namespace
}  // namespace gcoord::cli
