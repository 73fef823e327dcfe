// What protects a cluster from somebody who has rights: a prune of the ledger takes two persons or
// a delay, sessions live no longer than they may, and ids of sessions are chosen by few. Real nodes
// with rights checked.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/access/trust_cluster.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kBounds = "entries:1000000";

class SafeguardsNodesTest : public TrustTest {
 protected:
  explicit SafeguardsNodesTest(const std::string& turn, int nodes = 3)
      : TrustTest(turn_flags(turn), {"--with-rights"}, nodes) {}

  // Again while a node cannot tell yet whether the roles that it has are the newest; the tries only
  // bound a failure.
  Finished prune(const Words& who, const Words& more = {}) const {
    const Words what = joined({"ledger", "prune", "--keep", kBounds}, more);
    Finished done = as(who, what);
    for (int tries = 0; tries < 100 && is_unsure(done); ++tries) {
      done = as(who, what);
    }
    return done;
  }

  static bool is_unsure(const Finished& done) {
    return is_early(done) || done.out.find("GC6561") != done.out.npos;
  }

  void refused_with(const std::string& code, int exit_code, const Finished& done) const {
    EXPECT_EQ(done.error_code(), code) << done.out << done.err;
    EXPECT_EQ(done.code, exit_code) << done.out << done.err;
  }

  // All of these nodes refuse with the code.
  static void all_refuse(const std::string& code, std::size_t nodes, const Finished& done) {
    const json rows = done.json()["nodes"];
    EXPECT_EQ(rows.size(), nodes) << done.out;
    for (const json& row : rows) {
      EXPECT_THAT(row.value("error", ""), HasSubstr(code)) << done.out;
    }
  }

  static void all_prune(std::size_t nodes, const Finished& done) {
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    const json rows = done.json()["nodes"];
    EXPECT_EQ(rows.size(), nodes) << done.out;
    for (const json& row : rows) {
      EXPECT_FALSE(row.contains("error")) << done.out;
    }
  }

  static void is_ordered_by(const std::string& user, const Finished& done) {
    EXPECT_EQ(done.code, 5) << done.out << done.err;
    const json order = done.json().value("order", json::object());
    EXPECT_EQ(order.value("ordered_by", ""), user) << done.out;
    EXPECT_EQ(order.value("confirmed_by", "-"), "") << done.out;
    EXPECT_EQ(done.json()["nodes"].size(), 0u) << done.out;
  }

  // Who is behind the entries of a kind; looked for until they are published, the tries only bound
  // a failure.
  std::set<std::string> authors(const std::string& of, const std::string& kind) const {
    std::set<std::string> found;
    const std::string ledger = "https://127.0.0.1:" + std::to_string(port_ + 300);
    for (int tries = 0; tries < 50 && found.empty(); ++tries) {
      const Finished got =
          as(admin(), {"ledger", "get", "--since", "1h", "--principal", of, "--ledger", ledger});
      EXPECT_EQ(got.code, 0) << got.out << got.err;
      const json rows = got.json()["entries"];
      for (const json& row : rows) {
        if (row["decoded"]["kind"] == kind) {
          found.insert(row["decoded"].value("by_principal", ""));
        }
      }
    }
    return found;
  }
};

class SafeguardsTest : public AtBothTurns<SafeguardsNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, SafeguardsTest, both_turns(), turn_name);

TEST_P(SafeguardsTest, TwoPersonsPruneTheLedgerTogetherAndNeitherAlone) {
  must(admin(), {"role", "add", "pruners", "ledger.prune"});
  add_certified("ann", "pruners");
  add_certified("bob", "pruners");
  EXPECT_EQ(prune(nobody()).code, 4);
  refused_with("GC6560", 4, prune(nobody(), {"--confirm"}));
  refused_with("GC6747", 1, prune(certified("bob"), {"--confirm"}));

  is_ordered_by("ann", prune(certified("ann")));
  const Finished alone = prune(certified("ann"));
  EXPECT_EQ(alone.code, 5) << alone.out;
  all_refuse("GC6748", 3, alone);
  refused_with("GC6749", 1, prune(certified("ann"), {"--confirm"}));
  const Words other = {"ledger", "prune", "--keep", "entries:7", "--confirm"};
  refused_with("GC6747", 1, as(certified("bob"), other));
  all_refuse("GC6748", 3, prune(certified("bob")));  // Nothing of it was a confirmation.

  all_prune(3, prune(certified("bob"), {"--confirm"}));
  all_prune(3, prune(certified("ann")));
  all_prune(3, prune(certified("bob"), {"--confirm"}));  // Some node may have been down.
  const json pending = as(certified("ann"), {"ledger", "prune", "--pending"}).json();
  ASSERT_EQ(pending["orders"].size(), 1u) << pending;
  EXPECT_EQ(pending["orders"][0]["ordered_by"], "ann");
  EXPECT_EQ(pending["orders"][0]["confirmed_by"], "bob");

  // What is withdrawn permits nothing, and does not count for the next order.
  EXPECT_EQ(prune(admin(), {"--cancel"}).code, 0);
  is_ordered_by("ann", prune(certified("ann"), {"--node", "2"}));
  all_refuse("GC6748", 3, prune(certified("ann")));
  EXPECT_EQ(prune(certified("bob"), {"--cancel"}).code, 0);
  refused_with("GC6747", 1, prune(admin(), {"--confirm"}));

  EXPECT_EQ(authors("ann", "prune_order"), std::set<std::string>{"ann"});
  EXPECT_EQ(authors("bob", "prune_confirm"), std::set<std::string>{"bob"});
  EXPECT_EQ(authors("admin", "prune_cancel"), std::set<std::string>{"admin"});

  // Without rights nobody is told from anybody else.
  must(admin(), {"auth", "disable"});
  all_prune(3, prune(nobody()));
}

#ifdef SHIFTED_CLOCK

// One restart, and the clocks of the nodes are a day, less than a day, and more than a week later:
// each goes by its own.
TEST_P(SafeguardsTest, OnePersonAloneIsLetThroughAfterTheDelayUntilTheOrderEnds) {
  must(admin(), {"role", "add", "pruners", "ledger.prune"});
  add_certified("ann", "pruners");
  is_ordered_by("ann", prune(certified("ann")));
  std::vector<Environment> clocks;
  for (const int hours : {25, 23, 8 * 24}) {
    clocks.push_back(
        {{"LD_PRELOAD", SHIFTED_CLOCK}, {"SHIFTED_CLOCK_S", std::to_string(hours * 3600)}});
  }
  for (ChildProcess& node : nodes_) {
    node.kill_now();
  }
  ASSERT_NO_FATAL_FAILURE(start_nodes(clocks));
  all_prune(1, prune(certified("ann"), {"--node", "1"}));
  all_refuse("GC6748", 1, prune(certified("ann"), {"--node", "2"}));
  // Its clock says so; the leader's may say that the order is there.
  const Finished ended = prune(certified("ann"), {"--node", "3"});
  EXPECT_NE(ended.code, 0) << ended.out;
  for (const json& row : ended.json().value("nodes", json::array())) {
    EXPECT_THAT(row.value("error", ""), HasSubstr("GC6747")) << ended.out;
  }
}

#endif

class LoneSafeguardsTest : public SafeguardsNodesTest {
 protected:
  LoneSafeguardsTest() : SafeguardsNodesTest("host", 1) {}
};

TEST_F(LoneSafeguardsTest, ALongerTtlIsRefusedAndNotShortened) {
  must(admin(), {"role", "add", "workers", "session.open", "session.own"});
  must(admin(), {"role", "grant", "workers", "write", "group.join", "--prefix", "jobs/"});
  add_certified("bob", "workers");
  const Finished before = as(certified("bob"), {"session", "open", "--ttl", "20s"});
  EXPECT_EQ(before.json().value("ttl_ms", 0), 20'000) << before.out << before.err;
  must(admin(), {"limit", "set", "--principal", "bob", "--session-ttl-max", "6s"});
  const json listed = as(admin(), {"limit", "list"}).json();
  EXPECT_EQ(listed["limits"][0]["session_ttl_ms_max"], 6000) << listed;

  const Finished longest = as(certified("bob"), {"session", "open", "--ttl", "6s"});
  EXPECT_EQ(longest.json().value("ttl_ms", 0), 6000) << longest.out << longest.err;
  const Finished longer = as(certified("bob"), {"session", "open", "--ttl", "7s"});
  refused_with("GC6745", 1, longer);
  EXPECT_THAT(longer.out, HasSubstr("6000 ms"));
  refused_with("GC6745", 1, as(certified("bob"), {"lock", "acquire", "jobs/a", "--ttl", "7s"}));
  refused_with(
      "GC6745", 1, as(certified("bob"), {"group", "join", "jobs/g", "--id", "m", "--ttl", "7s"}));
  must(certified("bob"), {"lock", "acquire", "jobs/a", "--ttl", "6s"});
  must(admin(), {"session", "open", "--ttl", "7s"});  // Nobody else is limited.

  for (const char* ttl : {"99ms", "25h", "soon"}) {
    const Words set = {"limit", "set", "--principal", "bob", "--session-ttl-max", ttl};
    refused_with("GC1001", 2, as(admin(), set));
  }
  refused_with(
      "GC6583",
      2,
      as(admin(), {"limit", "set", "--prefix", "jobs/", "--rate", "5", "--session-ttl-max", "1h"}));
  must(admin(), {"limit", "remove", "--principal", "bob"});
  must(certified("bob"), {"session", "open", "--ttl", "7s"});
}

class ChosenIdTest : public SafeguardsNodesTest, public testing::WithParamInterface<std::string> {
 protected:
  ChosenIdTest() : SafeguardsNodesTest(GetParam(), GetParam() == "host" ? 1 : 3) {}
};

INSTANTIATE_TEST_SUITE_P(BothTurns, ChosenIdTest, both_turns(), turn_name);

TEST_P(ChosenIdTest, AnIdOfASessionIsChosenByWhoMayAlone) {
  must(admin(), {"role", "add", "workers", "session.open", "session.own", "session.read.all"});
  add_certified("bob", "workers");
  const Words grant = {"lease", "grant", "--ttl", "30s", "--id", "77"};
  const Finished not_allowed = as(certified("bob"), grant);
  refused_with("GC6560", 4, not_allowed);
  EXPECT_THAT(not_allowed.out, HasSubstr("session.choose"));
  must(certified("bob"), {"lease", "grant", "--ttl", "30s"});
  must(admin(), {"role", "grant", "workers", "session.choose"});
  const Finished chosen = as(certified("bob"), grant);
  EXPECT_EQ(chosen.json().value("session", ""), "77") << chosen.out << chosen.err;
  refused_with("GC6301", 6, as(certified("bob"), grant));
  must(admin(), {"role", "revoke", "workers", "session.choose"});
  refused_with("GC6560", 4, as(certified("bob"), {"lease", "grant", "--ttl", "30s", "--id", "78"}));
}

}  // namespace
}  // namespace gcoord::cli
