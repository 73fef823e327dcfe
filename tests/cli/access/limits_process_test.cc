// Limits and denials on three real nodes: who sends too much is refused and nobody else, who is
// denied is cut at every node and comes back by itself, and connections that say nothing end. One
// list for both turns; the resident one by the twins of the devices.
#include "cli/top/samples/metrics_page.h"
#include "common/http/client.h"
#include "tests/cli/process_cluster.h"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

// Made before the nodes are, which share it: passwords need one.
struct SecretFile {
  SecretFile() { EXPECT_EQ(run("gcoordctl", {"cluster", "secret", "new", path()}).code, 0); }

  std::string path() const { return folder.path("secret"); }

  std::vector<std::vector<std::string>> arguments(const std::string& turn) const {
    return std::vector<std::vector<std::string>>(
        3, {"--cluster-secret", path(), "--handshake-timeout", "1s", "--turn", turn});
  }

  ScratchFolder folder;
};

class LimitsProcessTest : private SecretFile,
                          public ProcessCluster,
                          public testing::WithParamInterface<std::string> {
 protected:
  LimitsProcessTest() : ProcessCluster(4, arguments(GetParam())) {}

  // Nodes tell each other what they have about once a second.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ProcessCluster::SetUp());
    while (ctl()({"--timeout", "30s", "limit", "set", "--prefix", "x", "--rate", "1", "--dry-run"})
               .code == 5) {
    }
    for (const char* user : {"ann", "bob"}) {
      std::ofstream(password_file()) << "a password\n";
      std::filesystem::permissions(
          password_file(),
          std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
      Finished made;
      do {
        made = ctl()({"-o",
                      "json",
                      "--timeout",
                      "30s",
                      "user",
                      "add",
                      user,
                      "--password-file",
                      password_file()});
      } while (made.error_code() == "GC6518");
      ASSERT_EQ(made.code, 0) << made.out << made.err;
    }
  }

  std::string password_file() const { return folder.path("password"); }

  nlohmann::json told(std::vector<std::string> words) const {
    words.insert(words.begin(), {"--timeout", "30s"});
    return ctl().json(words);
  }

  client::Result<client::Client> connect_as(const std::string& user,
                                            std::chrono::milliseconds timeout) const {
    client::ClientOptions options;
    options.endpoints = cluster_->endpoints();
    options.request_timeout = timeout;
    options.connect_timeout = kPatience;
    options.wait_for_cluster = true;
    options.credentials.user = user;
    options.credentials.password = "a password";
    return client::Client::connect(std::move(options));
  }

  double metric(std::uint32_t node, const std::string& name) const {
    HttpClient http{
        HttpOrigin{.host = "127.0.0.1", .port = std::to_string(cluster_->metrics_port(node))}};
    const auto page = http.get("/metrics", {.timeout = kPatience, .body_bytes_max = 1 << 20});
    EXPECT_TRUE(page.ok());
    return page.ok() ? top::MetricsPage::parse(page.value().body).sum(name).value_or(0) : 0;
  }
};

TEST_P(LimitsProcessTest, WhoSendsAHundredTimesItsRateIsRefusedAndNobodyElse) {
  told({"limit", "set", "--principal", "ann", "--rate", "1", "--burst", "1"});
  auto ann = connect_as("ann", std::chrono::milliseconds{500});
  auto bob = connect_as("bob", kPatience);
  ASSERT_TRUE(ann.ok() && bob.ok());
  std::vector<client::Future<client::Result<client::LockDescription>>> flood;
  for (int k = 0; k < 100; ++k) {
    flood.push_back(ann.value().get_async("a"));
  }
  client::Session session = open(bob.value());
  for (int k = 0; k < 20; ++k) {
    auto lock = session.try_acquire("b" + std::to_string(k));
    EXPECT_TRUE(lock.ok()) << lock.status().to_string();
  }
  int refused = 0;
  for (auto& each : flood) {
    refused += each.get().status().detail() == 6580 ? 1 : 0;
  }
  EXPECT_GT(refused, 50);
  double limited = 0;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    limited += metric(node, "gcoord_server_requests_limited_total");
  }
  EXPECT_GT(limited, 50);
  told({"limit", "remove", "--principal", "ann"});
  EXPECT_NE(ann.value().get("a").status().detail(), 6580u);
}

TEST_P(LimitsProcessTest, WhoIsDeniedIsCutAtEveryNodeAndComesBackByItself) {
  auto ann = connect_as("ann", kPatience);
  ASSERT_TRUE(ann.ok());
  client::Session session = open(ann.value());
  for (int k = 0; k < 16; ++k) {  // Some of each shard, so that each leader has a connection.
    EXPECT_TRUE(session.try_acquire("n" + std::to_string(k)).ok());
  }
  EXPECT_EQ(told({"deny", "add", "--principal", "ann", "--for", "4s"})["denials"], 1);
  const Finished refused = ctl()({"-o",
                                  "json",
                                  "--user",
                                  "ann",
                                  "--password-file",
                                  password_file(),
                                  "--timeout",
                                  "2s",
                                  "lock",
                                  "get",
                                  "n1"});
  EXPECT_EQ(refused.code, 4) << refused.out << refused.err;
  EXPECT_EQ(refused.error_code(), "GC6590") << refused.out;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    double cut = 0;
    for (int tries = 0; tries < 500 && cut == 0; ++tries) {
      cut = metric(node, "gcoord_server_connections_denied_total");
    }
    EXPECT_GE(cut, 1) << "node " << node;
  }
  // The session has a minute, and outlives the denial.
  const auto end = std::chrono::steady_clock::now() + kPatience;
  auto lock = session.try_acquire("n99");
  while (!lock.ok() && std::chrono::steady_clock::now() < end) {
    lock = session.try_acquire("n99");
  }
  EXPECT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_EQ(told({"deny", "list"})["denials"].size(), 0u);
}

TEST_P(LimitsProcessTest, WhoSaysNothingIsClosed) {
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  const std::string endpoint = cluster_->endpoints().front();
  const std::size_t colon = endpoint.rfind(':');
  socket.connect({asio::ip::make_address("127.0.0.1"),
                  static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1)))});
  char byte = 0;
  asio::error_code error;
  asio::read(socket, asio::buffer(&byte, 1), error);  // Until the node closes it.
  EXPECT_EQ(error, asio::error::eof);
}

TEST_P(LimitsProcessTest, TheLedgerSaysWhoLimitedWhom) {
  told({"limit", "set", "--principal", "*", "--sessions", "5", "--as", "the operator"});
  told({"deny", "add", "--network", "198.51.100.0/24", "--for", "30d", "--reason", "a test"});
  const Finished long_one =
      ctl()({"-o", "json", "deny", "add", "--network", "198.51.101.0/24", "--for", "31d"});
  EXPECT_EQ(long_one.error_code(), "GC1001") << long_one.out;
  const nlohmann::json limits = told({"limit", "list"});
  ASSERT_EQ(limits["limits"].size(), 1u);
  EXPECT_EQ(limits["limits"][0]["name"], "*");
  EXPECT_EQ(limits["limits"][0]["sessions"], 5);
  EXPECT_EQ(told({"deny", "list"})["denials"][0]["reason"], "a test");
  const Finished self =
      ctl()({"-o", "json", "deny", "add", "--network", "127.0.0.1", "--for", "1m"});
  EXPECT_EQ(self.error_code(), "GC6593") << self.out;
  EXPECT_EQ(told({"limit", "remove", "--principal", "*"})["epoch"], "3");
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    restart(node);
  }
  EXPECT_EQ(told({"deny", "list"})["denials"].size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(BothTurns,
                         LimitsProcessTest,
                         testing::Values("host", "resident"),
                         [](const auto& turn) { return turn.param; });

}  // namespace
}  // namespace gcoord::cli
