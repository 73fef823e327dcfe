// Nodes that come and go while real ones work: a cluster grows under load, a lost node is replaced,
// one that left says so, and every node goes by its directory at the next start.
#include "chaos/process/free_ports.h"
#include "common/host/child_process.h"
#include "tests/cli/process_cluster.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

constexpr int kRemovedExit = 7;

class JoinProcessTest : public ProcessCluster {
 protected:
  JoinProcessTest() : ProcessCluster(16) {}

  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ProcessCluster::SetUp());
    const nlohmann::json first =
        ctl().json({"--timeout", "30s", "member", "watch", "--count", "1"});
    ASSERT_EQ(first.value("view", ""), "1") << first.dump();
  }

  // A machine for a node that joins.
  struct Place {
    std::vector<std::uint16_t> ports;
    std::optional<ChildProcess> process;
  };

  Place& place(std::uint32_t number) {
    Place& found = places_[number];
    if (found.ports.empty()) {
      auto ports = chaos::free_ports(3);
      EXPECT_TRUE(ports.ok()) << ports.status().to_string();
      found.ports = std::move(ports).value();
    }
    return found;
  }

  std::string name_of(std::uint32_t number) const { return "place-" + std::to_string(number); }

  std::string log_of(std::uint32_t number) const {
    return (directory_.path() / (name_of(number) + ".log")).string();
  }

  std::string endpoint(std::uint32_t number) {
    return "127.0.0.1:" + std::to_string(place(number).ports[0]);
  }

  // gcoordd there, with nothing of the cluster but what `more` says.
  void start(std::uint32_t number, const std::vector<std::string>& more) {
    Place& at = place(number);
    const auto address = [&at](std::size_t k) {
      return "127.0.0.1:" + std::to_string(at.ports[k]);
    };
    ChildOptions options = program("gcoordd",
                                   {"--data-dir",
                                    (directory_.path() / name_of(number)).string(),
                                    "--listen-client",
                                    address(0),
                                    "--listen-peer",
                                    address(1),
                                    "--listen-metrics",
                                    address(2)});
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    options.error_file = log_of(number);
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child.ok()) << child.status().to_string();
    at.process.emplace(std::move(child).value());
  }

  void join(std::uint32_t number, const std::string& token) {
    start(number, {"--join", comma_list(cluster_->endpoints()), "--join-token", token});
  }

  void await_ready(std::uint32_t number) {
    const auto line = place(number).process->read_line(kPatience);
    EXPECT_THAT(line.value_or(""), HasSubstr("gcoordd ready")) << file_text(log_of(number));
  }

  // The exit code of one that does not come up.
  int ended(std::uint32_t number) {
    return place(number).process->wait_for(kPatience).value_or(-1);
  }

  std::string verb(const std::vector<std::string>& words, const char* field) {
    std::vector<std::string> all = {"--timeout", "30s", "member"};
    all.insert(all.end(), words.begin(), words.end());
    const nlohmann::json answer = ctl().json(all);
    EXPECT_TRUE(answer.contains(field)) << answer.dump();
    return answer.value(field, "");
  }

  std::string invite(const std::string& name) { return verb({"add", "--name", name}, "token"); }

  nlohmann::json member(const std::string& name) const {
    const nlohmann::json view = ctl().json({"--timeout", "30s", "member", "list"});
    for (const auto& each : view["members"]) {
      if (each.value("name", "") == name) {
        return each;
      }
    }
    return nlohmann::json::object();
  }

  void await_state(const std::string& name, const std::string& state) {
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    while (member(name).value("state", "") != state) {
      ASSERT_LT(std::chrono::steady_clock::now(), latest)
          << name << " is not " << state << ": " << member(name).dump();
    }
  }

  void restart_all(const std::vector<std::uint32_t>& founders,
                   const std::map<std::uint32_t, std::vector<std::string>>& others) {
    for (const std::uint32_t founder : founders) {
      cluster_->kill(founder);
    }
    for (const auto& [number, more] : others) {
      place(number).process->kill_now();
    }
    for (const std::uint32_t founder : founders) {
      ASSERT_TRUE(cluster_->spawn(founder).ok());
    }
    for (const auto& [number, more] : others) {
      start(number, more);
    }
    for (const std::uint32_t founder : founders) {
      const Status ready = cluster_->wait_ready(founder, kPatience);
      ASSERT_TRUE(ready.ok()) << ready.to_string();
    }
    for (const auto& [number, more] : others) {
      await_ready(number);
    }
  }

  std::map<std::uint32_t, Place> places_;
};

// Acquires and releases until it goes away; no call may fail within its deadline.
class Load {
 public:
  explicit Load(client::Client client) : client_(std::move(client)), thread_([this] { run(); }) {}

  ~Load() {
    if (thread_.joinable()) {
      stop();
    }
  }

  void stop() {
    stopping_ = true;
    thread_.join();
  }

  int done() const { return done_; }

  const std::vector<std::string>& failures() const { return failures_; }

 private:
  void run() {
    auto session = client_.open_session({.ttl = std::chrono::seconds{10}, .on_event = {}});
    if (!session.ok()) {
      failures_.push_back(session.status().to_string());
      return;
    }
    while (!stopping_) {
      auto lock = session.value().acquire("load-" + std::to_string(done_ % 64), {.wait = {}});
      if (!lock.ok()) {
        failures_.push_back("acquire: " + lock.status().to_string());
      } else if (const auto released = lock.value().release(); !released.ok()) {
        failures_.push_back("release: " + released.to_string());
      }
      ++done_;
    }
  }

  client::Client client_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> done_{0};
  std::vector<std::string> failures_;  // Of the thread, until stop().
  std::thread thread_;
};

TEST_F(JoinProcessTest, AClusterGrowsUnderLoadAndComesBackWithItsOldCommandLines) {
  client::ClientOptions options;
  options.endpoints = cluster_->endpoints();
  auto client = client::Client::connect(std::move(options));
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  Load load(std::move(client).value());
  std::map<std::uint32_t, std::string> tokens;
  for (const std::uint32_t number : {4u, 5u}) {
    tokens[number] = invite(name_of(number));
    join(number, tokens[number]);
    await_ready(number);
    await_state(name_of(number), "active");
  }
  load.stop();
  EXPECT_GT(load.done(), 0);
  EXPECT_THAT(load.failures(), testing::IsEmpty());
  EXPECT_EQ(member("place-5").value("client_address", ""), endpoint(5));

  // The founders' command lines name three nodes; one of the others has its own, one nothing.
  restart_all({1, 2, 3}, {{4, {"--join", "127.0.0.1:1", "--join-token", tokens[4]}}, {5, {}}});
  EXPECT_THAT(file_text(log_of(4)), HasSubstr("--join is ignored"));
  // Five nodes vote: two may fail, also two founders.
  cluster_->kill(1);
  cluster_->kill(2);
  const Ctl others{cluster_->endpoints()[2] + "," + endpoint(4)};
  const auto grant =
      others.json({"--timeout", "60s", "lock", "acquire", "after", "--ttl", "1h", "--try"});
  EXPECT_FALSE(grant.value("token", "").empty()) << grant.dump();
}

TEST_F(JoinProcessTest, ALostNodeIsReplacedAndSaysAtItsReturnThatItHasLeft) {
  cluster_->kill(2);
  const std::string token = verb({"replace", "2", "new-place", "--force"}, "token");
  join(4, token);
  await_ready(4);
  await_state("new-place", "active");
  await_state("node-2", "removed");
  for (int start = 1; start <= 2; ++start) {
    ASSERT_TRUE(cluster_->spawn(2).ok());
    EXPECT_EQ(cluster_->wait_exit(2, kPatience), kRemovedExit) << file_text(cluster_->log_file(2));
    EXPECT_THAT(file_text(cluster_->log_file(2)), HasSubstr("GC3012"));
  }
}

TEST_F(JoinProcessTest, ANodeThatIsRemovedEndsAndATokenIsGoodForOneNode) {
  join(9, std::string(32, 'a'));
  EXPECT_NE(ended(9), 0);
  EXPECT_THAT(file_text(log_of(9)), HasSubstr("GC6632"));
  start(9, {});
  EXPECT_EQ(ended(9), 2);
  EXPECT_THAT(file_text(log_of(9)), HasSubstr("a join into the data directory"));

  const std::string token = invite("fourth");
  join(4, token);
  await_ready(4);
  await_state("fourth", "active");
  join(8, token);
  EXPECT_NE(ended(8), 0);
  EXPECT_THAT(file_text(log_of(8)), HasSubstr("GC6633"));

  verb({"remove", "fourth"}, "view");
  EXPECT_EQ(ended(4), kRemovedExit) << file_text(log_of(4));
  await_state("fourth", "removed");
  start(4, {});
  EXPECT_EQ(ended(4), kRemovedExit);
  EXPECT_THAT(file_text(log_of(4)), HasSubstr("GC3012"));
}

// A view that a leaving node never says would not be left, and the node not be gone.
TEST_F(JoinProcessTest, ANodeThatLeavesHearsTheViewsThatComeMeanwhile) {
  join(4, invite("fourth"));
  await_ready(4);
  await_state("fourth", "active");
  verb({"remove", "fourth"}, "view");
  for (const char* const rack : {"rack=a", "rack=b", "rack=c"}) {
    verb({"update", "1", "--label", rack}, "view");
  }
  EXPECT_EQ(ended(4), kRemovedExit) << file_text(log_of(4));
  await_state("fourth", "removed");
}

TEST_F(JoinProcessTest, AnOptionThatTheViewContradictsIsNamed) {
  const std::string token = invite("fourth");
  start(4,
        {"--join",
         comma_list(cluster_->endpoints()),
         "--join-token",
         token,
         "--election-ms",
         "2000"});
  EXPECT_EQ(ended(4), 2);
  EXPECT_THAT(file_text(log_of(4)), HasSubstr("--election-ms"));
  join(4, token);  // The same directory asks again.
  await_ready(4);
}

}  // namespace
}  // namespace gcoord::cli
