// A real node whose places are all taken by busy clients: operators get in, and nobody else does.
#include "gcoord/client.h"
#include "tests/cli/access/trust_cluster.h"
#include "tests/cli/network_hosts.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

class OperatorsTest : public TrustTest {
 protected:
  explicit OperatorsTest(Words places) : TrustTest(std::move(places), {"--with-rights"}, 1) {}

  OperatorsTest()
      : OperatorsTest(Words{"--connections-max", "64", "--source-connections-max", "4"}) {}

  void add_users() const {
    must(admin(), {"role", "add", "workers", "read", "write"});
    add_certified("bob", "workers");
    must(admin(), {"role", "add", "operators", "member.admin"});
    write_private(password_file(), "a password of olga's");
    must(admin(),
         {"user", "add", "olga", "--role", "operators", "--password-file", password_file()});
  }

  // Connections of bob, each with a watch, so that none of them gives way.
  void fill(int connections) {
    for (int k = 0; k < connections; ++k) {
      client::ClientOptions options;
      options.endpoints = {host_ + ":" + std::to_string(port_)};
      options.tls.cacert = made_file("ca.crt");
      options.tls.cert = made_file("bob.crt");
      options.tls.key = made_file("bob.key");
      options.request_timeout = kPatience;
      options.connect_timeout = kPatience;
      auto client = client::Client::connect(std::move(options));
      ASSERT_TRUE(client.ok()) << k << ": " << client.status().to_string();
      clients_.push_back(std::move(client).value());
      auto watch = clients_.back().watch({.name = "jobs/a"});
      ASSERT_TRUE(watch.ok()) << k << ": " << watch.status().to_string();
      watches_.push_back(std::move(watch).value());
    }
  }

  void all_are_there() {
    for (client::Watch& watch : watches_) {
      const auto next = watch.next(std::chrono::milliseconds{0});
      EXPECT_TRUE(next.ok()) << next.status().to_string();
    }
  }

  void turned_away(const Words& who) const {
    const Finished done = as(who, {"lock", "get", "jobs/a"});
    EXPECT_EQ(done.code, 5) << done.out << done.err;
    EXPECT_EQ(done.error_code(), "GC4013") << done.out << done.err;
  }

  Words olga() const {
    return joined(nobody(), {"--user", "olga", "--password-file", password_file()});
  }

  std::string password_file() const { return folder_.path() / "olga.pw"; }

  std::vector<client::Client> clients_;
  std::vector<client::Watch> watches_;  // End before them.
};

TEST_F(OperatorsTest, AnOperatorGetsInThoughHerAddressHasAllItsPlaces) {
  add_users();
  fill(4);
  turned_away(certified("bob"));
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(as(admin(), {"auth", "status"}).code, 0) << "by her certificate";
    EXPECT_EQ(as(olga(), {"member", "list"}).code, 0) << "by her password";
  }
  turned_away(certified("bob"));
  all_are_there();
  // Nobody is an operator where rights are not checked.
  must(admin(), {"auth", "disable"});
  turned_away(admin());
  watches_.clear();
  clients_.clear();
  Finished enabled;
  for (int tries = 0; tries < 100 && enabled.code != 0; ++tries) {  // Until they are gone.
    enabled = as(admin(), {"auth", "enable"});
  }
  EXPECT_EQ(enabled.code, 0) << enabled.out << enabled.err;
  must(certified("bob"), {"lock", "acquire", "jobs/a", "--ttl", "30s"});
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
  all_are_there();
}

}  // namespace
}  // namespace gcoord::cli
