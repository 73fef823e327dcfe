// A node in memory mode that comes back alone, of a cluster that checks rights: it has no roles,
// and nobody to give them to it.
#include "common/http/client.h"
#include "tests/cli/access/trust_cluster.h"

#include <string>

namespace gcoord::cli {
namespace {

class UnknownRolesTest : public TrustTest {
 protected:
  UnknownRolesTest() : TrustTest({"--durability", "memory"}) {}

  // What is not served is asked again and again meanwhile.
  Finished briefly(const Words& credentials, const Words& what) const {
    return ctl(1)(joined(
        joined({"-o", "json", "--timeout", "1s", "--cacert", made_file("ca.crt")}, credentials),
        what));
  }

  // The status of the answer; 0: there was none.
  int page(std::uint16_t port, const std::string& path) const {
    HttpClient http({.host = "127.0.0.1", .port = std::to_string(port)},
                    {.tls = {.enabled = true, .cacert = made_file("ca.crt")}});
    const auto got = http.get(path, {.timeout = kPatience, .body_bytes_max = 1 << 20});
    return got.ok() ? got.value().status : 0;
  }
};

TEST_F(UnknownRolesTest, ItServesNobodyAndSaysHowItIs) {
  enable();
  const Words admin = {"--cert", made_file("admin.crt"), "--key", made_file("admin.key")};
  nodes_.clear();
  auto child = ChildProcess::start(
      program("gcoordd", joined({"--config", made_file("node-1.toml")}, flags_)));
  ASSERT_TRUE(child.ok());
  nodes_.push_back(std::move(child).value());
  // It is never ready, since it hears no majority: until it listens.
  const auto ledger_port = static_cast<std::uint16_t>(port_ + 300);
  while (page(ledger_port, "/key") == 0) {
  }
  for (const Words& credentials : {Words{}, admin}) {
    // Any node alone would answer it.
    const Finished levels = briefly(credentials, {"log", "level", "--node", "1"});
    EXPECT_NE(levels.out.find("GC6561"), std::string::npos) << levels.out << levels.err;
  }
  EXPECT_EQ(page(ledger_port, "/shard/0/tile/0/000.p/1"), 503);
  EXPECT_EQ(page(ledger_port, "/key"), 200);
  // The operator beside it sees why.
  const Finished status = briefly({}, {"status"});
  EXPECT_NE(status.out.find("\"node\""), std::string::npos) << status.out << status.err;
}

}  // namespace
}  // namespace gcoord::cli
