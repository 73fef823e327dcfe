// Three real nodes with TLS on every port and rights switched on: who is let in, what each may do,
// and how soon a right that was taken away counts at every node.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/access/trust_cluster.h"

#include <chrono>
#include <optional>
#include <string>

namespace gcoord::cli {
namespace {

class TrustTurnTest : public TrustTest, public testing::WithParamInterface<std::string> {
 protected:
  TrustTurnTest() : TrustTest(turn_flags(GetParam())) {}
};

INSTANTIATE_TEST_SUITE_P(BothTurns, TrustTurnTest, both_turns(), turn_name);

TEST_P(TrustTurnTest, PortsSpeakTlsAndAreBelievedByWhoKnowsTheirCa) {
  must(nobody(), {"lock", "acquire", "first", "--ttl", "30s"});
  EXPECT_EQ(as(admin(), {"status"}).json()["nodes"].size(), 3u);
  refused({"-o", "json"}, {"status"}, "GC3113");
  refused({"-o", "json", "--tls"}, {"status"}, "GC3103");
}

TEST_P(TrustTurnTest, EachMayDoWhatItsRolesSayAndNothingElse) {
  enable();
  must(bob(), {"lock", "acquire", "jobs/a", "--ttl", "30s"});
  refused(bob(), {"lock", "acquire", "other", "--ttl", "30s"}, "GC6560");
  refused(bob(), {"user", "list"}, "GC6560");
  refused(bob(), {"lock", "break", "jobs/a", "--reason", "none"}, "GC6560");
  refused(nobody(), {"lock", "acquire", "jobs/a", "--ttl", "30s"}, "GC6560");
  // Whether a lock is there is not told, either.
  must(admin(), {"lock", "acquire", "secret/a", "--ttl", "30s"});
  const Finished held = as(bob(), {"lock", "get", "secret/a"});
  const Finished free = as(bob(), {"lock", "get", "secret/b"});
  EXPECT_EQ(held.code, free.code);
  EXPECT_EQ(held.error_code(), "GC6560");
  EXPECT_EQ(free.error_code(), "GC6560");
  const auto rows = as(bob(), {"lock", "ls"}).json()["locks"];
  ASSERT_EQ(rows.size(), 1u) << rows;
  EXPECT_EQ(rows[0]["name"], "jobs/a");
}

TEST_P(TrustTurnTest, ALockSaysWhoIsBehindItsHolder) {
  enable();
  must(bob(), {"lock", "acquire", "jobs/a", "--ttl", "60s"});
  nlohmann::json clients;
  for (int tries = 0; tries < 200 && clients.empty(); ++tries) {  // A client waits for no note.
    clients = as(bob(), {"lock", "get", "jobs/a", "--details"}).json()["clients"];
  }
  ASSERT_EQ(clients.size(), 1u) << clients;
  EXPECT_EQ(clients[0]["principal"], "bob");
}

TEST_P(TrustTurnTest, APasswordIsCheckedOnceAndItsTokenCountsAtEveryNode) {
  enable();
  const std::string token = folder_.path() / "token";
  must(bob(), {"auth", "login", "--out", token});
  EXPECT_EQ(fs::status(token).permissions() & fs::perms(0077), fs::perms::none);
  for (int node = 1; node <= 3; ++node) {
    const Finished who = as(joined(nobody(), {"--token-file", token}), {"auth", "whoami"}, node);
    EXPECT_EQ(who.json()["name"], "bob") << who.out << who.err;
  }
  write_private(folder_.path() / "bob.pw", "another");
  refused(bob(), {"auth", "whoami"}, "GC6531");
  must(admin(), {"user", "disable", "bob"});
  refused(joined(nobody(), {"--token-file", token}), {"lock", "ls"}, "GC6537");
}

TEST_F(TrustTest, ARightThatIsTakenAwayIsGoneAtEveryNodeAndEndsWatches) {
  enable();
  const std::string token = folder_.path() / "token";
  must(bob(), {"auth", "login", "--out", token});
  const Words by_token = joined(nobody(), {"--token-file", token});
  ChildProcess watch = ctl().start(joined(by_token, {"watch", "--prefix", "jobs/"}));
  // Once an event came, the watch is there.
  std::optional<std::string> seen;
  for (int k = 0; k < 100 && !seen; ++k) {
    must(by_token, {"lock", "run", "jobs/" + std::to_string(k), "--", "true"});
    seen = watch.read_line(std::chrono::milliseconds{200});
  }
  ASSERT_TRUE(seen.has_value());
  must(admin(), {"role", "revoke", "jobs", "read", "write", "details", "--prefix", "jobs/"});
  for (int node = 1; node <= 3; ++node) {
    // Within an election timeout of the order's answer; the tries only bound a failure.
    Finished done;
    for (int tries = 0; tries < 50 && done.code != 4; ++tries) {
      done = as(by_token, {"lock", "ls", "jobs/"}, node);
    }
    EXPECT_EQ(done.error_code(), "GC6560") << done.out << done.err;
  }
  EXPECT_EQ(watch.wait_for(kPatience).value_or(-1), 4);
}

TEST_P(TrustTurnTest, SessionsBelongToWhoHasTheirKey) {
  enable();
  const std::string key = folder_.path() / "key";
  const auto opened =
      as(joined(bob(), {"--session-key-file", key}), {"lock", "acquire", "jobs/a", "--ttl", "30s"})
          .json();
  ASSERT_TRUE(opened.contains("session")) << opened;
  const std::string session = opened["session"].is_string()
                                  ? opened["session"].get<std::string>()
                                  : std::to_string(opened["session"].get<std::uint64_t>());
  refused(bob(), {"session", "close", session}, "GC6541");
  must(joined(bob(), {"--session-key-file", key}), {"session", "close", session});
}

}  // namespace
}  // namespace gcoord::cli
