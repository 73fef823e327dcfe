// Passwords on three real nodes: their verifiers are for administrators alone, whatever way
// somebody reads the ledger, and what one has opened ends with it.
#include "common/base64.h"
#include "common/http/client.h"
#include "gcoord/client.h"
#include "tests/cli/access/trust_cluster.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace gcoord::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class PasswordChangeTest : public TrustTest {
 protected:
  std::string password_file(const std::string& user) const {
    return folder_.path() / (user + ".pw");
  }

  void add_user(const std::string& user, const std::string& role) const {
    write_private(password_file(user), "a password of " + user);
    must(admin(), {"user", "add", user, "--role", role, "--password-file", password_file(user)});
  }

  // As the program of a user: by password, at one node.
  client::Result<client::Client> connect(const std::string& user, int node) const {
    client::ClientOptions options;
    options.endpoints = {"127.0.0.1:" + std::to_string(port_ + node - 1)};
    options.tls.cacert = made_file("ca.crt");
    options.request_timeout = kPatience;
    options.connect_timeout = kPatience;
    options.credentials.user = user;
    options.credentials.password = "a password of " + user;
    return client::Client::connect(std::move(options));
  }

  Finished ledger(const Words& who, const Words& what) const {
    const std::string port = std::to_string(port_ + 300);
    return run(
        "gcoordctl",
        joined(joined(who, {"ledger"}), joined(what, {"--ledger", "https://127.0.0.1:" + port})));
  }

  // Nobody holds it, and the node says so.
  static bool is_served(const client::Status& status) { return status.detail() == 6016; }

  // Connections that the node has closed because their proof had ended.
  int closed_at(int node) const {
    HttpClient http({.host = "127.0.0.1", .port = std::to_string(port_ + 199 + node)},
                    {.tls = {.enabled = true,
                             .cacert = made_file("ca.crt"),
                             .cert = made_file("admin.crt"),
                             .key = made_file("admin.key")}});
    const auto page = http.get("/metrics", {.timeout = kPatience, .body_bytes_max = 1 << 20});
    EXPECT_TRUE(page.ok()) << page.status().to_string();
    const std::string name = R"(gcoord_server_connections_closed_total{reason="revoked"} )";
    const std::string text = page.ok() ? page.value().body : "";
    const std::size_t at = text.find(name);
    EXPECT_NE(at, text.npos);
    return at == text.npos ? -1 : std::stoi(text.substr(at + name.size()));
  }

  // Until the node knows of it; the tries only bound a failure.
  bool closes(int node, int count) const {
    for (int tries = 0; tries < 1'000; ++tries) {
      if (closed_at(node) >= count) {
        return true;
      }
    }
    return false;
  }

  // Tried until it is published; the tries only bound a failure.
  std::optional<json> entry_of(const Words& who, const std::string& kind) const {
    json rows;
    for (int tries = 0; tries < 200; ++tries) {
      const Finished got = ledger(who, {"get", "--since", "1h", "--shard", "0"});
      EXPECT_EQ(got.code, 0) << got.out << got.err;
      rows = got.json()["entries"];
      for (const json& row : rows) {
        if (row["decoded"]["kind"] == kind) {
          return row;
        }
      }
    }
    ADD_FAILURE() << "no " << kind << " in " << rows;
    return std::nullopt;
  }
};

TEST_F(PasswordChangeTest, AVerifierInTheLedgerIsForThoseWhoManageUsers) {
  must(admin(), {"user", "add", "admin", "--role", "root", "--no-password"});
  must(admin(), {"role", "add", "auditors", "ledger.read"});
  add_user("eve", "auditors");
  must(admin(), {"auth", "enable"});
  const std::string token = folder_.path() / "token";
  const Words login = {"--user", "eve", "--password-file", password_file("eve")};
  must(joined(nobody(), login), {"auth", "login", "--out", token});
  const Words eve = joined(nobody(), {"--token-file", token});

  const auto whole =
      entry_of(admin(), "auth_enable") ? entry_of(admin(), "user_add") : std::nullopt;
  ASSERT_TRUE(whole);
  const json rows = ledger(eve, {"get", "--since", "1h", "--shard", "0"}).json()["entries"];
  int hidden = 0;
  for (const json& row : rows) {
    const auto bytes = from_base64(row["bytes"].get<std::string>());
    ASSERT_TRUE(bytes);
    EXPECT_THAT(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()),
                Not(HasSubstr("scrypt")));
    if (row.contains("hidden")) {
      ++hidden;
      EXPECT_EQ(row["decoded"]["kind"], "hidden");
      EXPECT_EQ(row["decoded"]["claimed.user"], "eve");
      EXPECT_EQ(row["decoded"]["right_missing"], "auth.admin");
      const std::string index = row["index"];
      EXPECT_THAT(ledger(eve, {"prove", "--shard", "0", index}).out, Not(HasSubstr("c2NyeXB0")));
      const json same = ledger(admin(), {"get", "--shard", "0", index}).json()["entries"][0];
      EXPECT_FALSE(same.contains("hidden"));
      EXPECT_GT(from_base64(same["bytes"].get<std::string>())->size(), 100u);
    }
  }
  EXPECT_EQ(hidden, 1) << rows;
  const json checked = ledger(eve, {"fsck", "--shard", "0"}).json();
  EXPECT_EQ(checked["valid"], true) << checked;
  EXPECT_EQ(checked["hidden"], "1");
  EXPECT_EQ(ledger(admin(), {"fsck", "--shard", "0"}).json()["hidden"], "0");
}

TEST_F(PasswordChangeTest, ConnectionsOfTheEarlierPasswordEndAtEveryNode) {
  must(admin(), {"user", "add", "admin", "--role", "root", "--no-password"});
  must(admin(), {"role", "add", "jobs", "read", "write", "--prefix", "jobs/"});
  add_user("ann", "jobs");
  add_user("ben", "jobs");
  must(admin(), {"auth", "enable"});
  const std::string token = folder_.path() / "token";
  const Words login = {"--user", "ann", "--password-file", password_file("ann")};
  must(joined(nobody(), login), {"auth", "login", "--out", token});

  std::vector<client::Client> of_ann;
  std::vector<client::Client> of_ben;
  for (int node = 1; node <= 3; ++node) {
    for (auto* const clients : {&of_ann, &of_ben}) {
      auto made = connect(clients == &of_ann ? "ann" : "ben", node);
      ASSERT_TRUE(made.ok()) << made.status().to_string();
      clients->push_back(std::move(made).value());
      const client::Status got = clients->back().get("jobs/a").status();
      ASSERT_TRUE(is_served(got)) << got.to_string();
    }
  }
  for (int node = 1; node <= 3; ++node) {
    EXPECT_EQ(closed_at(node), 0);
  }
  // Every client is connected to its node, and to others perhaps.
  write_private(password_file("ann"), "another");
  must(admin(), {"user", "passwd", "ann", "--password-file", password_file("ann")});
  for (int node = 1; node <= 3; ++node) {
    EXPECT_TRUE(closes(node, 1)) << node;
    const Words by_token = joined(nobody(), {"--token-file", token});
    EXPECT_EQ(as(by_token, {"lock", "get", "jobs/a"}, node).error_code(), "GC6537");
    EXPECT_TRUE(is_served(of_ben[static_cast<std::size_t>(node - 1)].get("jobs/a").status()));
  }
  EXPECT_EQ(as(joined(nobody(), login), {"lock", "get", "jobs/a"}).json()["held"], false);
  write_private(password_file("ann"), "a password of ann");
  refused(joined(nobody(), login), {"auth", "whoami"}, "GC6531");

  const int before = closed_at(1);
  must(admin(), {"user", "delete", "ben"});
  EXPECT_TRUE(closes(1, before + 1));
}

}  // namespace
}  // namespace gcoord::cli
