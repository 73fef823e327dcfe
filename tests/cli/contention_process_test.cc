// L1 at its size: 64 clients want few names of real durable nodes, which are killed under them.
#include "cli/load/history.h"
#include "tests/cli/process_cluster.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kShards = 16;
constexpr std::uint32_t kSessions = 64;
constexpr std::uint32_t kClients =
    8;  // Connections and threads of the library: eight sessions each.
constexpr std::uint32_t kNames = 3;
constexpr std::uint32_t kGrantsOfSession = 15;
constexpr std::uint32_t kGrants = kSessions * kGrantsOfSession;
constexpr std::uint32_t kKills = 6;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// What must hold of one name at each grant, seen from the one process that all holders are in.
struct Name {
  std::string text;
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> token_last{0};
};

class ContentionProcessTest : public ProcessCluster {
 protected:
  ContentionProcessTest() : ProcessCluster(kShards) {}

  void SetUp() override {
    ProcessCluster::SetUp();
    for (std::uint32_t i = 0; i < kClients + 1 && !HasFatalFailure(); ++i) {
      clients_.push_back(connect(i + 1));
    }
    // Names of different shards, so that each kill strikes leaders of some and followers of others.
    std::set<std::uint32_t> homes;
    for (std::uint32_t i = 0, chosen = 0; chosen < kNames; ++i) {
      const std::string text = "contended/" + std::to_string(i);
      if (homes.insert(home(text)).second) {
        names_[chosen++].text = text;
      }
    }
    auto history = History::open(history_file());
    ASSERT_TRUE(history.ok()) << history.status().to_string();
    history_ = std::move(history).value();
  }

  std::string history_file() const { return (directory_.path() / "history.jsonl").string(); }

  // One grant after another, each given back before the next is asked for.
  void contend(std::uint32_t process) {
    auto session = clients_[process % kClients].open_session({.ttl = std::chrono::minutes{30}});
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    for (std::uint32_t turn = 0; turn < kGrantsOfSession; ++turn) {
      hold_once(process, session.value(), names_[(process + turn) % kNames]);
    }
  }

  void hold_once(std::uint32_t process, client::Session& session, Name& name) {
    const std::uint64_t called = now_ns();
    auto lock = session.acquire(name.text);
    const std::uint64_t granted = now_ns();
    const client::Status status = lock.ok() ? client::Status{} : lock.status();
    EXPECT_TRUE(lock.ok()) << status.to_string();
    const std::uint64_t token = lock.ok() ? lock.value().fence() : 0;
    write(process, session.id(), "acquire", name.text, {called, granted}, status, token);
    if (!lock.ok()) {
      return count_grant();
    }
    EXPECT_EQ(name.inside.fetch_add(1), 0) << name.text << ": two hold it";
    EXPECT_LT(name.token_last.exchange(token), token) << name.text;
    count_grant();
    name.inside.fetch_sub(1);
    const std::uint64_t given_back = now_ns();
    const client::Status released = lock.value().release();
    EXPECT_TRUE(released.ok()) << released.to_string();
    write(process, session.id(), "release", name.text, {given_back, now_ns()}, released, token);
  }

  void write(std::uint32_t process,
             std::uint64_t session,
             const char* op,
             const std::string& key,
             std::pair<std::uint64_t, std::uint64_t> times,
             const client::Status& status,
             std::uint64_t token) {
    history_->write({process,
                     op,
                     key,
                     R"({"session":")" + std::to_string(session) + "\"}",
                     times.first,
                     times.second,
                     outcome_of(status),
                     token});
  }

  void count_grant() {
    const std::lock_guard lock{mutex_};
    ++grants_;
    granted_.notify_all();
  }

  // Work is the measure, not time: the bound only ends a test that hangs.
  bool await_grants(std::uint32_t count) {
    std::unique_lock lock{mutex_};
    return granted_.wait_for(lock, 2 * kPatience, [&] { return grants_ >= count; });
  }

  std::uint32_t leader_of(const std::string& name) {
    const auto leaders = clients_[kClients].leader_map(home(name), 1);
    EXPECT_TRUE(leaders.ok()) << leaders.status().to_string();
    return leaders.ok() && leaders.value()[0] != 0 ? leaders.value()[0] : 1;
  }

  // Nodes that lead what is contended die, one after the other, and go on being missed for a while.
  void kill_leaders() {
    constexpr std::uint32_t kStep = kGrants / (kKills + 1);
    for (std::uint32_t kill = 0; kill < kKills; ++kill) {
      ASSERT_TRUE(await_grants((kill + 1) * kStep)) << "no grants before kill " << kill;
      const std::uint32_t node = leader_of(names_[kill % kNames].text);
      cluster_->kill(node);
      ASSERT_TRUE(await_grants((kill + 1) * kStep + kStep / 4)) << "none without node " << node;
      spawn(node);
    }
  }

  // The judges of every history: linearizable locks, rising tokens, one holder, nothing twice.
  void expect_judged_right() const {
    const Finished checked = run("gcoord-check", {history_file(), "--json"});
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
    const auto line = checked.out.substr(checked.out.rfind('\n', checked.out.size() - 2) + 1);
    const auto verdict = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(verdict.is_object()) << checked.out;
    EXPECT_EQ(verdict["operations"], 2 * kGrants);
    std::set<std::string> judged;
    for (const auto& checker : verdict["checkers"]) {
      if (checker["verdict"] == "ok") {
        judged.insert(checker["invariants"]);
      }
    }
    for (const char* invariant : {"I9", "I10", "I11", "I18"}) {
      EXPECT_TRUE(judged.contains(invariant)) << invariant << "\n" << verdict.dump(2);
    }
  }

  std::vector<client::Client> clients_;  // The last one looks who leads.
  std::array<Name, kNames> names_;
  std::unique_ptr<History> history_;
  std::mutex mutex_;
  std::condition_variable granted_;
  std::uint32_t grants_ = 0;
};

TEST_F(ContentionProcessTest, L1SixtyFourClientsContendWhileLeadersAreKilled) {
  std::vector<std::thread> contenders;
  for (std::uint32_t process = 0; process < kSessions; ++process) {
    contenders.emplace_back([this, process] { contend(process); });
  }
  kill_leaders();
  for (std::thread& contender : contenders) {
    contender.join();
  }
  history_.reset();
  EXPECT_EQ(grants_, kGrants);
  expect_judged_right();
}

}  // namespace
}  // namespace gcoord::cli
