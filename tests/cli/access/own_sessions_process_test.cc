// What a user who may not see sessions of others sees: the user's own ones.
#include "tests/cli/access/trust_cluster.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace gcoord::cli {
namespace {

constexpr int kTries = 200;  // Each is a whole run of gcoordctl; the first is enough when idle.

class OwnSessionsTest : public TrustTest {
 protected:
  Words with_key(const std::string& name) const {
    return joined(bob(), {"--session-key-file", folder_.path() / name});
  }

  // Once all nodes that keep the session have its note.
  bool lists(const Words& who, const std::string& session) const {
    for (int tries = 0; tries < kTries; ++tries) {
      const auto listed = as(who, {"session", "list"}).json();
      for (const auto& each : listed["sessions"]) {
        if (each["session"] == session) {
          return true;
        }
      }
    }
    return false;
  }
};

TEST_F(OwnSessionsTest, AUserListsAndWatchesTheSessionsThatAreTheUsers) {
  enable();
  must(bob(), {"lock", "acquire", "jobs/early", "--ttl", "30s"});  // Rights are known by now.
  const auto others = as(admin(), {"session", "open", "--ttl", "5m"}).json();
  const auto opened = as(with_key("k2"), {"session", "open", "--ttl", "5m"}).json();
  ASSERT_TRUE(opened.contains("session")) << opened.dump();
  const std::string session = opened["session"];

  // With no key at all: the ledger knows whose it is. That of somebody else stays hidden.
  EXPECT_TRUE(lists(bob(), session));
  const Finished listed = as(bob(), {"session", "list"});
  EXPECT_EQ(listed.out.find(others["session"].get<std::string>()), std::string::npos) << listed.out;
  EXPECT_EQ(listed.json()["hidden"], true);

  // A watch takes the key, and is refused for a session of somebody else.
  auto watch = ChildProcess::start(
      program("gcoordctl",
              ctl().with_endpoints(
                  joined(with_key("k2"), {"watch", "--session", session, "--count", "1"}))));
  ASSERT_TRUE(watch.ok());
  for (int k = 0; k < kTries && !watch.value().wait_for(std::chrono::milliseconds{0}); ++k) {
    must(with_key("k2"), {"lock", "acquire", "jobs/w" + std::to_string(k), "--session", session});
  }
  EXPECT_NE(watch.value().read_all(kPatience).find("granted"), std::string::npos);
  EXPECT_EQ(watch.value().wait_for(kPatience), 0);
  refused(bob(), {"watch", "--session", session}, "GC6560");
  refused(with_key("k2"), {"watch", "--session", others["session"]}, "GC6560");
}

TEST_F(OwnSessionsTest, AnOwnLockIsReleasedWithTheKeyOfItsSession) {
  enable();
  must(bob(), {"lock", "acquire", "jobs/early", "--ttl", "30s"});
  const auto held = as(with_key("k"), {"lock", "acquire", "jobs/a", "--ttl", "5m"}).json();
  as(with_key("other"), {"session", "open", "--ttl", "5m"});
  const Words release = {
      "lock", "release", "jobs/a", "--token", held["token"], "--session", held["session"]};
  const Finished without = as(bob(), release);
  EXPECT_EQ(without.error_code(), "GC6560") << without.out;
  EXPECT_NE(without.out.find("--session-key-file"), std::string::npos) << without.out;
  refused(with_key("other"), {"session", "keep-alive", held["session"], "--once"}, "GC6540");
  must(with_key("k"), release);

  // Without a key file the command says so, and what it takes is in its help.
  Words plain = bob();
  std::erase(plain, "-o");
  std::erase(plain, "json");
  const Finished lost = as(plain, {"lock", "acquire", "jobs/b", "--ttl", "30s"});
  EXPECT_NE(lost.err.find("was not kept"), std::string::npos) << lost.err;
}

TEST_F(OwnSessionsTest, ACommandUnderALockIsTheSameUser) {
  enable();
  must(bob(), {"lock", "acquire", "jobs/early", "--ttl", "30s"});
  const Finished inner = as(bob(),
                            {"lock",
                             "run",
                             "jobs/run",
                             "--",
                             chaos::program_beside("gcoordctl").string(),
                             "-o",
                             "json",
                             "whoami"});
  EXPECT_EQ(inner.code, 0) << inner.err;
  EXPECT_EQ(inner.json()["name"], "bob") << inner.out;
}

}  // namespace
}  // namespace gcoord::cli
