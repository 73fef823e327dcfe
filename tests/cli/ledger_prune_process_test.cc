// Three nodes let go of old entries on request: what is gone has a number of its own, what is kept
// proves against checkpoints from before and after.
#include "chaos/process/free_ports.h"
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::uint64_t kBelow = 512;  // Two whole tiles.

class LedgerPruneProcessTest : public testing::Test {
 protected:
  LedgerPruneProcessTest() {
    const auto ports = chaos::free_ports(3);
    EXPECT_TRUE(ports.ok());
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 1;
    options.node_arguments = {"--election-ms", "1000", "--checkpoint-interval", "1s"};
    for (const std::uint16_t port : ports.value()) {
      ledgers_.push_back("127.0.0.1:" + std::to_string(port));
      options.arguments_of_node.push_back({"--listen-ledger", ledgers_.back()});
    }
    auto planned = chaos::LocalCluster::plan(options);
    EXPECT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    const Status started = cluster_->start_all(kPatience);
    EXPECT_TRUE(started.ok()) << started.to_string();
    ctl_.emplace(comma_list(cluster_->endpoints()));
  }

  ~LedgerPruneProcessTest() override { cluster_->stop_all(kPatience); }

  std::string file(const std::string& name) const { return (directory_.path() / name).string(); }

  // `ledger VERB ...` at a node, from 0 on.
  Finished at_node(std::size_t node, Words words) const {
    words.insert(words.begin(), {"-o", "json", "ledger"});
    words.insert(words.end(), {"--ledger", "http://" + ledgers_[node]});
    return (*ctl_)(words);
  }

  // Of shard 0, as a node shows it; 0: not yet.
  std::uint64_t size_at(std::size_t node) const {
    const Finished head = at_node(node, {"head", "--shard", "0"});
    return head.code == 0 ? std::stoull(head.json().value("size", "0")) : 0;
  }

  // Locks and unlocks until each node shows so many entries under a checkpoint.
  void grow_to(std::uint64_t size) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (size_at(0) < size || size_at(1) < size || size_at(2) < size) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "entries are not published";
      ctl_->json({"bench", "lock", "--clients", "8", "--pipeline", "16", "--seconds", "1"});
    }
  }

  // Until a node has let go of them: recovery may need them until two more checkpoints.
  void prune(std::size_t node) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    const Words order = {"ledger",
                         "prune",
                         "--shard",
                         "0",
                         "--below",
                         std::to_string(kBelow),
                         "--node",
                         std::to_string(node + 1)};
    Finished last;
    do {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << last.out << last.err;
      ctl_->json({"bench", "lock", "--clients", "1", "--seconds", "1"});
      const auto answer = ctl_->json(order);
      ASSERT_FALSE(answer.contains("error")) << answer;
      last = at_node(node, {"get", "--shard", "0", std::to_string(kBelow - 1)});
    } while (last.error_code() != "GC8101");
  }

  Finished prove(std::size_t node, std::uint64_t index, const std::string& out) const {
    return at_node(node, {"prove", "--shard", "0", std::to_string(index), "--out", out});
  }

  void expect_valid(const std::string& proof, const std::string& what) const {
    Words words = {"-o", "json", "ledger", "verify", proof};
    const auto shown = at_node(0, {"keys"}).json();
    for (const auto& key : shown.value("keys", nlohmann::json::array())) {
      words.insert(words.end(), {"--key", key["key"]});
    }
    const Finished verified = run("gcoordctl", words);
    EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
    EXPECT_EQ(verified.json().value("proves", ""), what);
  }

  const ScratchFolder directory_;
  std::vector<std::string> ledgers_;
  std::optional<chaos::LocalCluster> cluster_;
  std::optional<Ctl> ctl_;
};

TEST_F(LedgerPruneProcessTest, WhatIsKeptProvesAgainstOldAndNewCheckpointsAndWhatIsGoneIsSaidToBe) {
  grow_to(kBelow + 300);
  // Who was brought up by a snapshot has not the beginning: at least the first leader has it.
  std::vector<std::size_t> whole;
  for (std::size_t node = 0; node < 3; ++node) {
    if (at_node(node, {"get", "--shard", "0", "0"}).code == 0) {
      whole.push_back(node);
    }
  }
  ASSERT_FALSE(whole.empty());
  // From before: a proof of an entry that will be gone, and a checkpoint.
  ASSERT_EQ(prove(whole.front(), 0, file("gone")).code, 0);
  ASSERT_EQ(at_node(whole.front(), {"export", file("old")}).code, 0);
  const std::string then = file("old") + "/checkpoint";
  ASSERT_FALSE(file_text(then).empty());
  const std::uint64_t size_then = size_at(whole.front());
  grow_to(size_then + 512);
  for (const std::size_t node : whole) {
    SCOPED_TRACE("node " + std::to_string(node + 1));
    prune(node);
    // Below the horizon: a number of its own, and no file.
    for (const std::uint64_t index : {std::uint64_t{0}, kBelow - 1}) {
      const Finished refused = prove(node, index, file("none"));
      EXPECT_EQ(refused.code, 1) << refused.out << refused.err;
      EXPECT_EQ(refused.error_code(), "GC8101") << refused.out << refused.err;
      EXPECT_FALSE(std::filesystem::exists(file("none")));
    }
    // At and above it: up to the newest checkpoint, which continues the one from before.
    for (const std::uint64_t index : {kBelow, size_then - 1}) {
      const std::string proof = file("kept-" + std::to_string(node) + "-" + std::to_string(index));
      const Finished made = prove(node, index, proof);
      ASSERT_EQ(made.code, 0) << made.out << made.err;
      expect_valid(proof, "entry");
    }
    const std::string growth = file("growth-" + std::to_string(node));
    const Finished grown = at_node(node, {"prove", "--older", then, "--out", growth});
    ASSERT_EQ(grown.code, 0) << grown.out << grown.err;
    expect_valid(growth, "growth");
  }
  // Whoever has a proof needs nobody.
  expect_valid(file("gone"), "entry");
}

}  // namespace
}  // namespace gcoord::cli
