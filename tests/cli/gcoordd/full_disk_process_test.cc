// Nodes whose disks are full or stand still, and a cluster that has no majority without them.
#include "chaos/live/shim/shim_control.h"
#include "chaos/live/shim_page.h"
#include "chaos/process/local_cluster.h"
#include "chaos/process/own_path.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kNodes = 3;

class FullDiskTest : public testing::Test {
 protected:
  void SetUp() override {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.node_count = kNodes;
    options.shards = 16;
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      auto page = chaos::ShimPage::make(directory_.path(), "node-" + std::to_string(node));
      ASSERT_TRUE(page.ok()) << page.status().to_string();
      disks_.push_back(std::move(page).value());
      options.environment_of_node.push_back(
          disks_.back()->environment(chaos::program_beside("../lib/libgcoord_chaos_shim.so")));
    }
    auto cluster = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(cluster.ok()) << cluster.status().to_string();
    cluster_ = std::make_unique<chaos::LocalCluster>(std::move(cluster).value());
    ASSERT_TRUE(cluster_->start_all(kPatience).ok());
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      ASSERT_EQ(cluster_->data_directory(node), disks_[node - 1]->disk());
    }
  }

  // Of the node's files now.
  std::uint64_t used_bytes(std::uint32_t node) const {
    std::uint64_t sum = 0;
    std::error_code gone;  // Files come and go.
    for (std::filesystem::recursive_directory_iterator file{cluster_->data_directory(node), gone},
         end;
         file != end;
         file.increment(gone)) {
      std::error_code error;
      const std::uint64_t bytes = file->is_regular_file(error) ? file->file_size(error) : 0;
      sum += error ? 0 : bytes;
    }
    return sum;
  }

  // The node's disk is so large that `mib` are left beside its files.
  void leave(std::uint32_t node, std::uint64_t mib) {
    disks_[node - 1]->control().capacity_bytes.store(used_bytes(node) + (mib << 20));
  }

  nlohmann::json status(std::uint32_t node) const {
    const Ctl ctl{cluster_->endpoints()[node - 1]};
    const Finished told = ctl({"--timeout", "60s", "-o", "json", "status"});
    const nlohmann::json all = nlohmann::json::parse(told.out, nullptr, false);
    if (!all.contains("nodes")) {
      return {};  // It has ended.
    }
    for (const nlohmann::json& each : all["nodes"]) {
      if (each.value("node", 0u) == node) {
        return each;
      }
    }
    return {};
  }

  // Until the node's status says so; false: it has not for a long time.
  template <typename Says>
  bool until(std::uint32_t node, Says says) const {
    for (const auto end = std::chrono::steady_clock::now() + kPatience;
         std::chrono::steady_clock::now() < end;) {
      if (const nlohmann::json now = status(node); now.contains("disk") && says(now)) {
        return true;
      }
    }
    return false;
  }

  // A new node writes down that all others have met it, and then votes and leads.
  void until_all_vote() const {
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      EXPECT_TRUE(until(node, [](const nlohmann::json& now) { return now["leaders"] != 0; }));
    }
  }

  Finished acquire(const std::string& name, const std::string& timeout) const {
    const Ctl ctl{comma_list(cluster_->endpoints())};
    return ctl(
        {"--timeout", timeout, "-o", "json", "lock", "acquire", name, "--try", "--ttl", "600s"});
  }

  // Releases the lock "held", which an acquire answered so.
  void expect_released(const nlohmann::json& held) const {
    const Ctl ctl{comma_list(cluster_->endpoints())};
    const Finished released = ctl({"--timeout",
                                   "60s",
                                   "lock",
                                   "release",
                                   "held",
                                   "--token",
                                   held["token"].get<std::string>(),
                                   "--session",
                                   held["session"].get<std::string>()});
    EXPECT_EQ(released.code, 0) << released.out << released.err;
  }

  const ScratchFolder directory_;
  std::vector<std::unique_ptr<chaos::ShimPage>> disks_;
  std::unique_ptr<chaos::LocalCluster> cluster_;
};

// It was told as a lost session, GC6007 with exit code 1.
TEST_F(FullDiskTest, AnAcquireThatAMajorityOfDisksThatStandStillCannotDecideLacksAQuorum) {
  const Ctl ctl{comma_list(cluster_->endpoints())};
  ctl.json({"--timeout", "60s", "lock", "acquire", "first", "--ttl", "600s"});
  disks_[1]->control().sync_delay_us.store(120'000'000);
  disks_[2]->control().sync_delay_us.store(120'000'000);
  // Until no try is on its way when the time is over.
  Finished refused;
  int round = 0;
  for (const auto end = std::chrono::steady_clock::now() + kPatience;
       refused.error_code() != "GC5001" && std::chrono::steady_clock::now() < end;) {
    refused = acquire("name-" + std::to_string(++round), "3s");
  }
  EXPECT_EQ(refused.code, 5) << refused.out << refused.err;
  EXPECT_EQ(refused.error_code(), "GC5001") << refused.out;
}

bool is_low(const nlohmann::json& status) {
  return status["disk"]["low"].get<bool>();
}

std::uint64_t uptime_ms(const nlohmann::json& status) {
  return status.is_object() ? std::stoull(status.value("uptime_ms", "0")) : 0;
}

bool has_reserve(const nlohmann::json& status) {
  return status["disk"]["reserve_bytes"] != "0";
}

TEST_F(FullDiskTest, ANodeWithAFullDiskHandsItsShardsToThoseThatHaveSpace) {
  leave(1, 60);
  EXPECT_TRUE(until(1, [](const nlohmann::json& now) {
    return is_low(now) && now["leaders"] == 0;
  })) << file_text(cluster_->log_file(1));
  for (int k = 0; k < 8; ++k) {
    const Finished granted = acquire("name-" + std::to_string(k), "60s");
    EXPECT_EQ(granted.code, 0) << granted.out << granted.err;
  }
  EXPECT_TRUE(cluster_->running(1));
}

// Clients waited for a majority that did not come, two nodes ended and one was aborted.
TEST_F(FullDiskTest, AClusterOfFullDisksRefusesNewLocksAndGoesOnWithAllElse) {
  const Ctl ctl{comma_list(cluster_->endpoints())};
  const nlohmann::json held =
      ctl.json({"--timeout", "60s", "lock", "acquire", "held", "--ttl", "600s"});
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    leave(node, 20);
  }
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    EXPECT_TRUE(
        until(node, [](const nlohmann::json& now) { return is_low(now) && !has_reserve(now); }));
    EXPECT_FALSE(std::filesystem::exists(cluster_->data_directory(node) / "reserve"));
  }
  Finished refused;
  do {  // Until no try is on its way when the time is over.
    refused = acquire("new", "2s");
  } while (refused.error_code() == "GC4009");
  EXPECT_EQ(refused.code, 5) << refused.out << refused.err;
  EXPECT_EQ(refused.error_code(), "GC2106") << refused.out;
  EXPECT_EQ(ctl({"lock", "get", "held"}).code, 0);
  EXPECT_EQ(ctl({"lock", "list"}).code, 0);
  expect_released(held);
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    EXPECT_TRUE(cluster_->running(node)) << file_text(cluster_->log_file(node));
    EXPECT_NE(file_text(cluster_->log_file(node)).find("GC2106"), std::string::npos);
    disks_[node - 1]->heal();
  }
  const Finished granted = acquire("new", "60s");
  EXPECT_EQ(granted.code, 0) << granted.out << granted.err;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    EXPECT_TRUE(
        until(node, [](const nlohmann::json& now) { return !is_low(now) && has_reserve(now); }));
  }
}

// Another program takes what the reserve gave out, to the last byte: what could not be written
// ended the node.
TEST_F(FullDiskTest, NodesWithoutASingleByteWaitAndGoOnWhenThereIsSpace) {
  until_all_vote();
  const Ctl ctl{comma_list(cluster_->endpoints())};
  const nlohmann::json held =
      ctl.json({"--timeout", "60s", "lock", "acquire", "held", "--ttl", "600s"});
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    leave(node, 0);
    EXPECT_TRUE(until(node, [](const nlohmann::json& now) { return !has_reserve(now); }));
    leave(node, 0);
  }
  expect_released(held);
  // Long enough for a checkpoint to be due, a signature under the ledger, and lines of RocksDB's.
  const std::uint64_t seen_ms = uptime_ms(status(1));
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    EXPECT_TRUE(until(node, [seen_ms](const nlohmann::json& now) {
      return is_low(now) && uptime_ms(now) > seen_ms + 6500;
    })) << file_text(cluster_->log_file(node));
  }
  for (const auto& disk : disks_) {
    disk->heal();
  }
  const Finished granted = acquire("new", "60s");
  EXPECT_EQ(granted.code, 0) << granted.out << granted.err;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    EXPECT_TRUE(cluster_->running(node)) << file_text(cluster_->log_file(node));
    EXPECT_TRUE(
        until(node, [](const nlohmann::json& now) { return !is_low(now) && has_reserve(now); }));
  }
}

// The file system tells of space and gives none. The first file that needed some ended the node.
TEST_F(FullDiskTest, NodesWhoseQuotaIsUsedUpGoOn) {
  until_all_vote();
  disks_[1]->control().space_is_gone.store(1);
  disks_[2]->control().space_is_gone.store(1);
  int round = 0;
  const auto grant = [&] {
    const Finished granted = acquire("name-" + std::to_string(++round), "60s");
    EXPECT_EQ(granted.code, 0) << granted.out << granted.err;
  };
  for (const std::uint32_t node : {2u, 3u}) {
    EXPECT_TRUE(until(node, [&](const nlohmann::json& now) {
      grant();
      return is_low(now) && !has_reserve(now) && now["leaders"] == 0;
    })) << file_text(cluster_->log_file(node));
  }
  grant();
  for (const std::uint32_t node : {2u, 3u}) {
    EXPECT_TRUE(cluster_->running(node)) << file_text(cluster_->log_file(node));
    disks_[node - 1]->heal();
    EXPECT_TRUE(
        until(node, [](const nlohmann::json& now) { return !is_low(now) && has_reserve(now); }));
  }
}

TEST_F(FullDiskTest, ANodeThatWaitsForSpaceEndsInOrder) {
  acquire("held", "60s");
  leave(1, 0);
  EXPECT_TRUE(until(1, [](const nlohmann::json& now) { return !has_reserve(now); }));
  leave(1, 0);
  const std::uint64_t seen_ms = uptime_ms(status(1));
  EXPECT_TRUE(until(1, [seen_ms](const nlohmann::json& now) {  // By then a checkpoint waits.
    return is_low(now) && uptime_ms(now) > seen_ms + 1500;
  }));
  cluster_->signal(1, SIGTERM);
  EXPECT_EQ(cluster_->wait_exit(1, kPatience), 0) << file_text(cluster_->log_file(1));
}

}  // namespace
}  // namespace gcoord::cli
