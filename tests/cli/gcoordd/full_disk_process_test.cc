// Nodes whose disks are full, and a cluster that has no majority without them.
#include "chaos/live/shim/shim_control.h"
#include "chaos/live/shim_page.h"
#include "chaos/process/local_cluster.h"
#include "chaos/process/own_path.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
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

  const ScratchFolder directory_;
  std::vector<std::unique_ptr<chaos::ShimPage>> disks_;
  std::unique_ptr<chaos::LocalCluster> cluster_;
};

// It was told as a lost session, GC6007 with exit code 1.
TEST_F(FullDiskTest, AnAcquireThatAMajorityOfFullDisksCannotDecideLacksAQuorum) {
  const Ctl ctl{comma_list(cluster_->endpoints())};
  ctl.json({"--timeout", "60s", "lock", "acquire", "first", "--ttl", "600s"});
  disks_[1]->control().space_is_gone.store(1);
  disks_[2]->control().space_is_gone.store(1);
  // Files that have their space already may take some more.
  Finished refused;
  int round = 0;
  for (const auto end = std::chrono::steady_clock::now() + kPatience;
       refused.code <= 0 && std::chrono::steady_clock::now() < end;) {
    refused = ctl({"--timeout",
                   "3s",
                   "-o",
                   "json",
                   "lock",
                   "acquire",
                   "name-" + std::to_string(++round),
                   "--try",
                   "--ttl",
                   "3s"});
  }
  EXPECT_EQ(refused.code, 5) << refused.out << refused.err;
  EXPECT_EQ(refused.error_code(), "GC5001") << refused.out;
}

}  // namespace
}  // namespace gcoord::cli
