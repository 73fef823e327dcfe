// Three real nodes, users and roles: the ledger says who is behind each entry, and proves it.
#include "gcoord/client.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/access/trust_cluster.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace gcoord::cli {
namespace {

using nlohmann::json;

class AuditNodesTest : public TrustTest {
 protected:
  explicit AuditNodesTest(const std::string& turn) : TrustTest(turn_flags(turn)) {}

  std::string ledger() const { return "https://127.0.0.1:" + std::to_string(port_ + 300); }

  Words keys() const {
    Words words;
    const json shown =
        run("gcoordctl", joined(admin(), {"ledger", "keys", "--ledger", ledger()})).json();
    for (const json& each : shown["keys"]) {
      words.insert(words.end(), {"--key", each["key"].get<std::string>()});
    }
    return words;
  }

  json entries(const Words& filter) const {
    const Finished got =
        run("gcoordctl", joined(joined(admin(), {"ledger", "get", "--ledger", ledger()}), filter));
    EXPECT_EQ(got.code, 0) << got.out << got.err;
    return got.code == 0 ? got.json()["entries"] : json::array();
  }

  // Each acquire with the note of its session, which is in another shard and published by itself.
  static bool is_whole(const json& rows) {
    return std::ranges::all_of(rows, [](const json& row) {
      return row["decoded"]["kind"] != "acquire" || row.contains("note");
    });
  }

  // Asked again until what was decided is published; the tries only bound a failure.
  json entries_with(const Words& filter, const std::string& kind) const {
    json rows;
    for (int tries = 0; tries < 200; ++tries) {
      rows = entries(filter);
      if (kinds(rows).contains(kind) && is_whole(rows)) {
        return rows;
      }
    }
    ADD_FAILURE() << "no " << kind << " in " << rows;
    return rows;
  }

  static std::set<std::string> kinds(const json& rows) {
    std::set<std::string> kinds;
    for (const json& row : rows) {
      kinds.insert(row["decoded"]["kind"].get<std::string>());
    }
    return kinds;
  }

  static std::string principal_of(const json& row) {
    const json& said = row.contains("note") ? row["note"]["decoded"] : row["decoded"];
    return said.value("principal", "");
  }

  client::Client connect_bob() const {
    client::ClientOptions options;
    for (int k = 0; k < 3; ++k) {
      options.endpoints.push_back("127.0.0.1:" + std::to_string(port_ + k));
    }
    options.tls.cacert = made_file("ca.crt");
    options.credentials.user = "bob";
    options.credentials.password = "a password of bob's";
    options.client_name = "nightly-build";
    auto client = client::Client::connect(options);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    return std::move(client).value();
  }
};

class AuditTest : public AtBothTurns<AuditNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, AuditTest, both_turns(), turn_name);

TEST_P(AuditTest, TheLedgerSaysAndProvesWhoIsBehindEachEntry) {
  enable();
  client::Client client = connect_bob();
  auto session = client.open_session({.ttl = std::chrono::seconds{30}});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  auto lock = session.value().acquire("jobs/a", {});
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  must(admin(), {"lock", "acquire", "jobs/b", "--ttl", "30s"});
  const std::string id = std::to_string(session.value().id());

  // Of bob: the note of his session and what he did in it, and nothing else.
  const json of_bob = entries_with({"--principal", "bob"}, "acquire");
  EXPECT_TRUE(kinds(of_bob).contains("session_note")) << of_bob;
  for (const json& row : of_bob) {
    EXPECT_EQ(principal_of(row), "bob") << row;
    EXPECT_EQ(row["decoded"]["session"], id) << row;
    const json& note = row.contains("note") ? row["note"]["decoded"] : row["decoded"];
    EXPECT_EQ(note["principal_kind"], "user");
    EXPECT_EQ(note["client"], "nightly-build");
    EXPECT_EQ(note["address_class"], "loopback");
    EXPECT_EQ(note["address"], "127.0.0.1");
  }

  // While it is held, whoever may see it sees who holds it and since when.
  const json held = as(bob(), {"lock", "get", "jobs/a", "--details"}).json();
  ASSERT_EQ(held["clients"].size(), 1u) << held;
  EXPECT_EQ(held["clients"][0]["principal"], "bob");
  EXPECT_EQ(held["clients"][0]["client"], "nightly-build");
  EXPECT_EQ(as(bob(), {"lock", "get", "other", "--details"}).error_code(), "GC6560");
  // The session of another process: not bob's connection's own, and he has no right to see all.
  const json shown = as(admin(), {"session", "list", "--clients"}).json();
  bool seen = false;
  for (const json& row : shown["sessions"]) {
    seen = seen || (row["session"] == id && row["client"]["principal"] == "bob");
  }
  EXPECT_TRUE(seen) << shown;
}

TEST_P(AuditTest, ABreakIsByWhoWasProvenAndPagesAreTheWhole) {
  enable();
  must(bob(), {"lock", "acquire", "jobs/a", "--ttl", "30s"});
  // Whatever the client says.
  must(admin(), {"lock", "break", "jobs/a", "--reason", "stuck", "--as", "mallory"});
  const json of_name = entries_with({"--name", "jobs/a"}, "break_lock");
  EXPECT_TRUE(kinds(of_name).contains("acquire"));
  for (const json& row : of_name) {
    const std::string kind = row["decoded"]["kind"];
    EXPECT_EQ(principal_of(row), kind == "acquire" ? "bob" : "admin") << row;
  }
  const json orders = entries_with({"--principal", "admin"}, "order_note");
  std::set<std::string> ordered;
  for (const json& row : orders) {
    if (row["decoded"]["kind"] == "order_note") {
      ordered.insert(row["decoded"]["order"].get<std::string>());
    }
  }
  EXPECT_TRUE(ordered.contains("lock_break")) << orders;
  EXPECT_TRUE(ordered.contains("access_change")) << orders;

  EXPECT_EQ(entries({"--name", "jobs/a", "--since", "1h"}).size(), of_name.size());
  EXPECT_TRUE(entries({"--name", "jobs/a", "--since", "2999-01-01T00:00:00Z"}).empty());

  // Page by page it is the same.
  json paged = json::array();
  Words cursor;
  for (std::size_t page = 0; page < of_name.size() + 1; ++page) {
    const json got =
        run("gcoordctl",
            joined(
                joined(admin(),
                       {"ledger", "get", "--ledger", ledger(), "--name", "jobs/a", "--limit", "1"}),
                cursor))
            .json();
    paged.insert(paged.end(), got["entries"].begin(), got["entries"].end());
    if (!got.contains("next_cursor")) {
      break;
    }
    cursor = {"--cursor", got["next_cursor"].get<std::string>()};
  }
  EXPECT_EQ(paged, of_name);
}

TEST_P(AuditTest, AProofCoversTheEntryAndItsNoteAndAChangedByteFails) {
  enable();
  must(bob(), {"lock", "acquire", "jobs/a", "--ttl", "30s"});
  entries_with({"--principal", "bob"}, "acquire");
  const std::string file = folder_.path() / "proofs";
  entries({"--principal", "bob", "--out", file});
  const Words verify = joined({"-o", "json", "ledger", "verify", "--lines", file}, keys());
  const Finished good = run("gcoordctl", verify);
  ASSERT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_EQ(good.json()["valid"], true);

  const std::string text = file_text(file);
  json noted;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("gcoord-noted-proof/1") != std::string::npos) {
      noted = json::parse(line);
    }
  }
  ASSERT_TRUE(noted.is_object()) << text;
  const auto fails = [&](const std::function<void(json&)>& change) {
    json changed = noted;
    change(changed);
    std::ofstream(file, std::ios::trunc) << changed.dump() << "\n";
    const Finished done = run("gcoordctl", verify);
    EXPECT_NE(done.code, 0) << done.out;
    return done.error_code();
  };
  // A byte of the note, of the entry; the note of nothing; and what the note is said to say.
  const auto flip = [](std::string base64) {
    base64[base64.size() / 2] = base64[base64.size() / 2] == 'A' ? 'B' : 'A';
    return base64;
  };
  fails([&](json& proof) {
    proof["note"]["entry"]["bytes"] = flip(proof["note"]["entry"]["bytes"]);
  });
  fails([&](json& proof) {
    proof["proof"]["entry"]["bytes"] = flip(proof["proof"]["entry"]["bytes"]);
  });
  fails([&](json& proof) { proof["note"]["entry"]["decoded"]["principal"] = "eve"; });
  fails([&](json& proof) { proof["note"] = proof["proof"]; });
}

}  // namespace
}  // namespace gcoord::cli
