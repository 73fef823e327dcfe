// Rows of docs/reference/services.md whose other tests are of parts of a node, with three real
// nodes of either turn.
#include "gcoord/lock_batch.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/gcoordd/metric_sum.h"
#include "tests/cli/process_cluster.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;

class BothTurnsTest : public ProcessCluster, public testing::WithParamInterface<std::string> {
 protected:
  static constexpr std::uint32_t kShards = 8;
  static constexpr std::size_t kBatch =
      100;  // Far less than what leaders refuse as too much at once.

  BothTurnsTest() : ProcessCluster(kShards, turn_of_all(GetParam())) {}

  static std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < count; ++k) {
      names.push_back("batch/" + std::to_string(k));
    }
    return names;
  }

  static std::vector<client::Lock> take(client::Session& session,
                                        const std::vector<std::string>& names) {
    auto outcomes = session.acquire_many(names);
    EXPECT_TRUE(outcomes.ok()) << outcomes.status().to_string();
    auto locks = client::granted(std::move(outcomes).value());
    EXPECT_EQ(locks.size(), names.size());
    return locks;
  }

  std::uint32_t leader_of(client::Client& client, const std::string& name) const {
    std::uint32_t leader = 0;
    while (leader == 0) {
      const auto leaders = client.leader_map(home(name), 1);
      EXPECT_TRUE(leaders.ok()) << leaders.status().to_string();
      leader = leaders.ok() ? leaders.value().front() : 1;
    }
    return leader;
  }

  // How much node 1 suspects the other, in thousandths; none while it does not know.
  std::optional<int> phi(std::uint32_t other) const {
    const auto status = ctl()({"-o", "json", "status"}).json();
    for (const auto& node : status.value("nodes", nlohmann::json::array())) {
      for (const auto& peer : node.value("peers", nlohmann::json::array())) {
        if (node["node"] == 1 && peer["node"] == other && peer["phi_milli"].is_number()) {
          return peer["phi_milli"].get<int>();
        }
      }
    }
    return std::nullopt;
  }

  // Asks again and again; the patience only bounds a failure.
  template <typename Condition>
  static bool comes_true(const Condition& holds) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    bool held = holds();
    while (!held && std::chrono::steady_clock::now() < until) {
      held = holds();
    }
    return held;
  }
};

INSTANTIATE_TEST_SUITE_P(BothTurns, BothTurnsTest, both_turns(), turn_name);

TEST_P(BothTurnsTest, L9EachNameOfABatchHasAResultOfItsOwn) {
  client::Client client = connect(1);
  client::Session session = open(client);
  client::Session other = open(client);
  const auto all = names(kBatch);
  auto taken = other.acquire(all[7]);
  ASSERT_TRUE(taken.ok()) << taken.status().to_string();
  auto outcomes = session.acquire_many(all);
  ASSERT_TRUE(outcomes.ok()) << outcomes.status().to_string();
  ASSERT_EQ(outcomes.value().size(), all.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto& outcome = outcomes.value()[k];
    EXPECT_EQ(outcome.ok(), k != 7) << all[k] << " " << outcome.status().to_string();
  }
  EXPECT_EQ(outcomes.value()[7].status().detail(), 6001u);
  auto locks = client::granted(std::move(outcomes).value());
  const auto released = client::Session::release_many(locks);
  ASSERT_TRUE(released.ok()) << released.status().to_string();
  for (const client::Status& each : released.value()) {
    EXPECT_TRUE(each.ok()) << each.to_string();
  }
  EXPECT_EQ(take(other, {all[0], all[kBatch - 1]}).size(), 2u);
}

TEST_P(BothTurnsTest, S4TheEndOfAHugeSessionGivesBackAllThatItHeld) {
  client::Client client = connect(1);
  client::Session session = open(client);
  const auto all = names(1000);
  std::vector<client::TokenCheck> checks;
  for (std::size_t first = 0; first < all.size(); first += kBatch) {
    const std::vector<std::string> some(all.begin() + static_cast<std::ptrdiff_t>(first),
                                        all.begin() + static_cast<std::ptrdiff_t>(first + kBatch));
    for (client::Lock& lock : take(session, some)) {
      checks.push_back({lock.name(), lock.fence()});
      lock.detach();
    }
  }
  const client::Status closed = session.close();
  ASSERT_TRUE(closed.ok()) << closed.to_string();
  const auto verdicts = client.check_batch(checks);
  ASSERT_TRUE(verdicts.ok()) << verdicts.status().to_string();
  ASSERT_EQ(verdicts.value().size(), all.size());
  EXPECT_EQ(std::ranges::count(verdicts.value(), client::Verdict::Valid), 0);
}

// Its client is gone; the leader of its shard dies, too.
TEST_P(BothTurnsTest, S7ANewLeaderEndsASessionAndNotBeforeItsTtl) {
  client::Client client = connect(1);
  const auto sent = std::chrono::steady_clock::now();
  const auto grant = ctl().json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "3s"});
  cluster_->kill(leader_of(client, "a"));
  const auto next = ctl().json({"--timeout", "60s", "lock", "acquire", "a", "--wait", "60s"});
  EXPECT_GE(std::chrono::steady_clock::now() - sent, std::chrono::seconds{3});
  EXPECT_GT(std::stoull(next["token"].get<std::string>()),
            std::stoull(grant["token"].get<std::string>()));
}

// It leads no more when it goes on, and has heard of no keep-alive for longer than the TTL.
TEST_P(BothTurnsTest, S8ALeaderThatStoodStillEndsNoSessionThatWasKeptAlive) {
  client::Client client = connect(1);
  auto session = client.open_session({.ttl = std::chrono::seconds{3}, .on_event = {}});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  auto lock = session.value().acquire("a");
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  const std::uint32_t leader = leader_of(client, "a");
  client::Client others = connect(2);
  client::Session waiting = open(others);
  const auto refused = [&](milliseconds wait) {
    const auto taken = waiting.acquire("a", {.wait = wait});
    return taken.ok() ? 0u : taken.status().detail();
  };
  cluster_->signal(leader, SIGSTOP);
  EXPECT_EQ(refused(milliseconds{4000}), 6005u);
  cluster_->signal(leader, SIGCONT);
  EXPECT_EQ(refused(milliseconds{1000}), 6005u);
  const auto verdicts = others.check_batch(
      std::vector<client::TokenCheck>{client::TokenCheck{"a", lock.value().fence()}});
  ASSERT_TRUE(verdicts.ok()) << verdicts.status().to_string();
  EXPECT_EQ(verdicts.value().front(), client::Verdict::Valid);
  EXPECT_TRUE(lock.value().release().ok());
}

// A client that does not take its events has the node wait; later it has them all, and nobody else
// has waited for it.
TEST_P(BothTurnsTest, W4AFullQueueStopsTheStreamAndNothingIsLost) {
  client::Client client = connect(1);
  auto watch = client.watch({.prefix = "name-", .queue_bytes_max = 2048});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  client::Session session = open(client);
  std::set<std::uint64_t> tokens;
  const auto hold_once = [&] {
    auto lock = session.acquire("name-1");
    ASSERT_TRUE(lock.ok()) << lock.status().to_string();
    tokens.insert(lock.value().fence());
    const client::Status released = lock.value().release();
    ASSERT_TRUE(released.ok()) << released.to_string();
  };
  const auto see = [&](milliseconds patience) {
    const auto batch = watch.value().next(patience);
    if (!batch.ok() || !batch.value().has_value()) {
      return false;
    }
    for (const client::WatchEvent& event : batch.value()->events) {
      tokens.erase(event.kind == client::EventKind::Granted ? event.token : 0);
    }
    return true;
  };
  for (int k = 0; k < 100; ++k) {  // Until the watch has begun.
    hold_once();
    if (see(milliseconds{100})) {
      break;
    }
  }
  tokens.clear();
  for (int k = 0; k < 100; ++k) {
    hold_once();
  }
  while (!tokens.empty()) {
    ASSERT_TRUE(see(kPatience)) << tokens.size() << " grants are missing";
  }
}

TEST_P(BothTurnsTest, W5EachOfAThousandWatchesHearsOfEachChange) {
  std::vector<std::string> words = {"watch", "--watches", "1000", "--runs", "1", "--seconds"};
  words.insert(words.end(), {"0.5", "--json", "--no-keep", "--directory"});
  words.push_back((directory_.path() / "bench").string());
  const std::vector<std::string> flags = turn_flags(GetParam());
  words.insert(words.end(), flags.begin(), flags.end());
  const Finished ended = run("gcoord-bench", words);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto result = nlohmann::json::parse(ended.out, nullptr, false);
  ASSERT_FALSE(result.is_discarded()) << ended.out;
  EXPECT_EQ(result["levels"].back()["watches"], 1000);
  EXPECT_GT(result["levels"].back()["changes"], 0);
}

TEST_P(BothTurnsTest, Row115ANodeThatFallsSilentIsSuspectedMoreAndMore) {
  ASSERT_TRUE(comes_true([this] { return phi(2).has_value() && phi(3).has_value(); }));
  cluster_->signal(3, SIGSTOP);
  EXPECT_TRUE(comes_true([this] { return phi(3).value_or(0) > 8000; }));
  EXPECT_LT(phi(2).value_or(8000), 8000);
  EXPECT_THAT(ctl()({"status"}).out, testing::HasSubstr("PHI"));
  cluster_->signal(3, SIGCONT);
  EXPECT_TRUE(comes_true([this] { return phi(3).value_or(8000) < 1000; }));
  cluster_->kill(3);
  EXPECT_TRUE(comes_true([this] { return phi(3).value_or(0) > 8000; }));
}

}  // namespace
}  // namespace gcoord::cli
