// Two of five real nodes whose disks rot in different places come back from the other three.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "ledger/wal/format.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <functional>
#include <thread>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kShards = 256;

void flip_bit(const std::filesystem::path& file, std::uint64_t offset) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(static_cast<std::streamoff>(offset));
  const int before = bytes.get();
  ASSERT_NE(before, EOF) << file << " is shorter than " << offset;
  bytes.seekp(static_cast<std::streamoff>(offset));
  bytes.put(static_cast<char>(before ^ 4));
  ASSERT_TRUE(bytes.flush().good());
}

std::filesystem::path chosen_file(
    const std::filesystem::path& folder,
    const std::function<bool(const std::filesystem::path&, const std::filesystem::path&)>& before) {
  std::filesystem::path chosen;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file() && (chosen.empty() || before(entry.path(), chosen))) {
      chosen = entry.path();
    }
  }
  return chosen;
}

// The oldest segment of the log of record.
std::filesystem::path oldest_segment(const std::filesystem::path& data_directory) {
  return chosen_file(data_directory / "wal", [](const auto& a, const auto& b) { return a < b; });
}

// A table of the checkpoint store. Its own log is no good for this: what is cut off there is still
// in the log of record, so the node would not even notice.
std::filesystem::path any_table(const std::filesystem::path& data_directory) {
  return chosen_file(data_directory / "checkpoint", [](const auto& a, const auto& b) {
    return a.extension() == ".sst" && b.extension() != ".sst";
  });
}

class RejoinProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.node_count = 5;
    options.shards = kShards;
    options.node_arguments = {"--election-ms", "1000", "--checkpoint-interval", "1s"};
    auto planned = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    const Status started = cluster_->start_all(kPatience);
    ASSERT_TRUE(started.ok()) << started.to_string();
    ctl_.emplace(comma_list(cluster_->endpoints()));
  }

  void acquire(const std::string& name) {
    const auto grant =
        ctl_->json({"--timeout", "30s", "lock", "acquire", name, "--ttl", "1h", "--try"});
    tokens_[name] = grant.value("token", "");
  }

  void acquire_some(const std::string& prefix) {
    for (int k = 0; k < 8; ++k) {
      acquire(prefix + std::to_string(k));
    }
  }

  void expect_all_kept() {
    for (const auto& [name, token] : tokens_) {
      const auto verdict =
          ctl_->json({"--timeout", "30s", "lock", "check", name, "--token", token});
      EXPECT_EQ(verdict["verdict"], "VALID") << name;
    }
  }

  nlohmann::json status_of(std::uint32_t node) {
    const Finished asked = (*ctl_)({"-o", "json", "status"});
    for (const auto& each : asked.json().value("nodes", nlohmann::json::array())) {
      if (each.value("node", 0u) == node) {
        return each;
      }
    }
    return nlohmann::json::object();
  }

  // Waits until the node votes in every shard and its mark is gone.
  void await_whole(std::uint32_t node) {
    const auto deadline = std::chrono::steady_clock::now() + 2 * kPatience;
    nlohmann::json memory;
    while (std::chrono::steady_clock::now() < deadline) {
      memory = status_of(node).value("memory", nlohmann::json::object());
      if (memory.value("voting", 0u) == kShards && !memory.value("rejoining", true)) {
        return;
      }
      std::this_thread::yield();
    }
    FAIL() << "node " << node << " did not come back: " << memory.dump()
           << file_text(cluster_->log_file(node));
  }

  // A node whose data directory rotted refuses to start, and says what to do.
  void expect_refused(std::uint32_t node, const std::string& number) {
    ASSERT_TRUE(cluster_->spawn(node).ok());
    EXPECT_FALSE(cluster_->wait_ready(node, kPatience).ok());
    EXPECT_THAT(file_text(cluster_->log_file(node)), HasSubstr(number));
    EXPECT_THAT(file_text(cluster_->log_file(node)), HasSubstr("--rejoin"));
    cluster_->kill(node);
  }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
  std::optional<Ctl> ctl_;
  std::map<std::string, std::string> tokens_;
};

TEST_F(RejoinProcessTest, TwoOfFiveThatRotInDifferentPlacesAreRepairedFromTheirPeers) {
  acquire_some("before");
  cluster_->kill(5);  // A store that is opened again makes tables of its log.
  ASSERT_TRUE(cluster_->spawn(5).ok());
  ASSERT_TRUE(cluster_->wait_ready(5, kPatience).ok());
  ChildProcess load = ctl_->start({"bench", "lock", "--clients", "8", "--seconds", "6"});
  EXPECT_FALSE(load.wait_for(std::chrono::milliseconds{2500}).has_value()) << "it ended early";
  cluster_->kill(4);
  cluster_->kill(5);
  flip_bit(oldest_segment(cluster_->data_directory(4)), ledger::kRecordsOffset + 100);
  const auto table = any_table(cluster_->data_directory(5));
  ASSERT_EQ(table.extension(), ".sst");
  flip_bit(table, std::filesystem::file_size(table) / 3);
  expect_refused(4, "GC2201");
  expect_refused(5, "GC2301");
  acquire_some("without");

  const auto began = std::chrono::steady_clock::now();
  for (const std::uint32_t node : {4u, 5u}) {
    ASSERT_TRUE(cluster_->spawn(node, {"--rejoin"}).ok());
    const Status ready = cluster_->wait_ready(node, kPatience);
    ASSERT_TRUE(ready.ok()) << ready.to_string();
  }
  await_whole(4);
  await_whole(5);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  RecordProperty("repair_seconds", std::to_string(took.count()));
  EXPECT_TRUE(std::filesystem::exists(cluster_->data_directory(4).string() + ".damaged/wal"));
  EXPECT_TRUE(load.wait_for(kPatience).has_value());
  acquire_some("after");

  // The majority that is left consists of one old node and the two that came back.
  cluster_->kill(1);
  cluster_->kill(2);
  expect_all_kept();
  acquire_some("last");
  // Once whole, a restart is one like any other.
  cluster_->kill(4);
  ASSERT_TRUE(cluster_->spawn(4).ok());
  ASSERT_TRUE(cluster_->wait_ready(4, kPatience).ok());
  expect_all_kept();
}

TEST_F(RejoinProcessTest, AnEmptyDirectoryIsRefusedUntilTheOperatorSaysThatItMayRejoin) {
  acquire_some("before");
  cluster_->kill(3);
  std::filesystem::remove_all(cluster_->data_directory(3));
  ASSERT_TRUE(cluster_->spawn(3).ok());
  EXPECT_FALSE(cluster_->wait_ready(3, kPatience).ok());
  EXPECT_EQ(cluster_->wait_exit(3, kPatience), 2);
  EXPECT_THAT(file_text(cluster_->log_file(3)), HasSubstr("GC3008"));
  cluster_->kill(3);
  ASSERT_TRUE(cluster_->spawn(3, {"--rejoin"}).ok());
  ASSERT_TRUE(cluster_->wait_ready(3, kPatience).ok());
  await_whole(3);
  expect_all_kept();
}

}  // namespace
}  // namespace gcoord::cli
