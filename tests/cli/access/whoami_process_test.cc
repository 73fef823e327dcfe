// Three real nodes with TLS: what a node says to a client about itself, what it hides, which names
// a shell completes, and what errors say to do next.
#include "tests/cli/access/trust_cluster.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class WhoamiTest : public TrustTest {
 protected:
  // With time that only bounds a failure.
  static Words patient(const Words& who) {
    const bool given = std::ranges::find(who, "--timeout") != who.end();
    return given ? who : joined(who, {"--timeout", "1m"});
  }

  // For people.
  static Words table(const Words& who) {
    return patient({who.begin() + 2, who.end()});  // Without -o json.
  }

  Finished ask(const Words& who, const Words& what) const { return as(patient(who), what); }

  // Again while nodes do not know each other's releases, or one has not heard of the newest roles.
  void make(const Words& who, const Words& what) const {
    Finished done = ask(who, what);
    for (int tries = 0; tries < 100 && done.code != 0; ++tries) {
      done = ask(who, what);
    }
    EXPECT_EQ(done.code, 0) << done.out << done.err;
  }

  // Candidates for the last word of a line, with the caller's credentials. They come within a
  // second or not at all, so it is tried again.
  void completes(const Words& line, const std::string& wanted) const {
    Words words = ctl().with_endpoints(joined(table(admin()), line));
    words.insert(words.begin(), "__complete");
    std::string found;
    for (int tries = 0; tries < 50 && found != wanted; ++tries) {
      found = run("gcoordctl", words).out;
    }
    EXPECT_EQ(found, wanted);
  }
};

TEST_F(WhoamiTest, ANodeSaysWhoItHoldsAClientForAndWhatItHidesFromIt) {
  const auto before = ask(admin(), {"whoami"}).json();
  EXPECT_EQ(before["kind"], "certificate") << before;
  EXPECT_EQ(before["name"], "admin");
  EXPECT_EQ(before["proof"], "certificate");
  EXPECT_EQ(before["user"], "none");
  EXPECT_EQ(before["rights_checked"], false);
  EXPECT_THAT(before["address"].get<std::string>(), HasSubstr("127.0.0.1:"));
  EXPECT_TRUE(before["until_ms"].is_string());
  enable();
  const auto root = as(patient(admin()), {"auth", "whoami"}, 2).json();
  EXPECT_EQ(root["node"], 2);
  EXPECT_EQ(root["user"], "enabled") << root;
  EXPECT_EQ(root["roles"][0], "root");
  EXPECT_EQ(root["grants"][0]["prefix"], "");
  const auto none = ask(nobody(), {"whoami"}).json();
  EXPECT_EQ(none["kind"], "anonymous") << none;
  EXPECT_EQ(none["proof"], "none");
  EXPECT_EQ(none["rights_checked"], true);
  EXPECT_EQ(none["epoch"], "0") << "who is nobody hears of no epoch";
  const std::string token = folder_.path() / "token";
  make(bob(), {"auth", "login", "--out", token});
  const auto by_token = ask(joined(nobody(), {"--token-file", token}), {"whoami"}).json();
  EXPECT_EQ(by_token["kind"], "user") << by_token;
  EXPECT_EQ(by_token["proof"], "token");
  EXPECT_EQ(by_token["grants"][1]["prefix"], "jobs/");
  EXPECT_THAT(as(table(bob()), {"whoami"}).out, HasSubstr("user bob"));
  // What is hidden is called so, and the right is named.
  make(admin(), {"role", "add", "readers", "lock.read", "elect.read", "session.read"});
  make(admin(), {"user", "grant", "bob", "readers"});
  make(admin(), {"lock", "acquire", "secret/a", "--ttl", "1h"});
  const auto lock = ask(bob(), {"lock", "get", "secret/a"}).json();
  EXPECT_TRUE(lock["session"].is_null()) << lock;
  EXPECT_EQ(lock["hidden"], true);
  EXPECT_EQ(lock["right_missing"], "lock.read.details");
  const Finished text = as(table(bob()), {"lock", "get", "secret/a"});
  EXPECT_THAT(text.out, HasSubstr("hidden"));
  EXPECT_THAT(text.err, HasSubstr("lock.read.details"));
  const auto line = ask(bob(), {"elect", "candidates", "secret/a"}).json();
  EXPECT_TRUE(line["epoch"].is_null()) << line;
  EXPECT_EQ(line["right_missing"], "lock.read.details");
  const auto sessions = ask(bob(), {"session", "list"}).json();
  EXPECT_EQ(sessions["right_missing"], "session.read.all") << sessions;
  const auto seen = ask(admin(), {"lock", "get", "secret/a"}).json();
  EXPECT_EQ(seen["hidden"], false) << seen;
  EXPECT_TRUE(seen["right_missing"].is_null());
  EXPECT_EQ(ask(admin(), {"session", "list"}).json()["hidden"], false);
}

TEST_F(WhoamiTest, NamesAreCompletedForWhoMayReadThemAndErrorsSayWhatToDoNext) {
  enable();
  make(admin(), {"limit", "set", "--principal", "spiffe://x/ci", "--rate", "5"});
  make(admin(), {"limit", "set", "--prefix", "jobs/", "--rate", "5"});
  make(admin(), {"deny", "add", "--network", "192.0.2.0/24", "--for", "1h"});
  completes({"user", "get", "b"}, "bob\n");
  completes({"user", "grant", "bob", ""}, "root\njobs\n");
  completes({"role", "delete", "j"}, "jobs\n");
  completes({"role", "grant", "jobs", "lock.br"}, "lock.break\n");
  completes({"limit", "remove", "--principal", ""}, "spiffe://x/ci\n");
  completes({"limit", "set", "--principal", ""}, "admin\nbob\nspiffe://x/ci\n");
  completes({"limit", "remove", "--prefix=j"}, "--prefix=jobs/\n");
  completes({"deny", "remove", "--network", "1"}, "192.0.2.0/24\n");
  // Errors say once what to do next.
  const auto advice = [this](const Words& who, const Words& what, const std::string& next) {
    const Finished done = as(table(who), what);
    EXPECT_EQ(done.code, 4) << done.err;
    const std::size_t at = done.err.find(next);
    EXPECT_NE(at, std::string::npos) << done.err;
    EXPECT_EQ(done.err.find(next, at + 1), std::string::npos) << done.err;
  };
  advice(bob(), {"lock", "acquire", "other", "--ttl", "30s"}, "gcoordctl whoami");
  advice({"-o", "json"}, {"lock", "list"}, "Give the client --cacert");
  const std::string file = folder_.path() / "file";
  write_private(file, "wrong");
  const Words wrong = joined(nobody(), {"--user", "bob", "--password-file", file});
  advice(wrong, {"lock", "list"}, "gcoordctl user passwd");
  advice(joined(nobody(), {"--token-file", file}), {"lock", "list"}, "gcoordctl auth login");
  const Words absent = joined(nobody(), {"--token-file", file + ".absent"});
  EXPECT_EQ(ask(absent, {"lock", "list"}).error_code(), "GC6544");
  fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
  const Finished open = ask(admin(), {"user", "passwd", "bob", "--password-file", file});
  EXPECT_EQ(open.error_code(), "GC6544") << open.out;
  EXPECT_EQ(ask(joined(nobody(), {"--cert", file}), {"lock", "list"}).error_code(), "GC1002");
  // A folder of a CA counts for more than --cacert, and its list is looked at.
  const Finished verified =
      ask(nobody(), {"cert", "verify", made_file("admin.crt"), "--dir", made_file("ca")});
  EXPECT_EQ(verified.json()["crl"], made_file("ca/ca.crl")) << verified.out;
}

TEST_F(WhoamiTest, TheLedgerSaysWhoDeniedAndWhomAndRefusesStrangers) {
  enable();
  make(admin(), {"deny", "add", "--principal", "ci", "--for", "1h"});
  const std::string port = std::to_string(port_ + 300);
  const Words secure = {"--ledger", "https://127.0.0.1:" + port};
  // Until the entry is in a signed head.
  std::string row;
  for (int tries = 0; tries < 100 && row.empty(); ++tries) {
    const Finished got = as(table(admin()), joined({"ledger", "get", "--principal", "ci"}, secure));
    std::istringstream lines{got.out};
    for (std::string line; std::getline(lines, line);) {
      row = line.find("deny_add") != std::string::npos ? line : row;
    }
  }
  EXPECT_THAT(row, HasSubstr("  admin  "));
  EXPECT_THAT(row, testing::EndsWith(" ci"));
  const Words keys = {"ledger", "get", "--principal", "ci"};
  EXPECT_EQ(ask(nobody(), joined(keys, secure)).error_code(), "GC6560");
  EXPECT_EQ(ask(admin(), joined(keys, {"--ledger", "http://127.0.0.1:" + port})).error_code(),
            "GC3113");
}

}  // namespace
}  // namespace gcoord::cli
