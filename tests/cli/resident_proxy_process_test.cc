// gcoordd --turn resident where nodes do not map each other's memory: three twins by proxy over TCP
// and UCX, a mixed cluster, a node killed, stopped and resumed, and flags that contradict each
// other.
#include "consensus/device/stepper_cuda.h"
#include "tests/cli/resident_cluster.h"

#include <gmock/gmock.h>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::vector<std::string> kByProxy = {"--resident-peers", "proxy"};

class ResidentProxyTest : public ResidentProcessTest {
 protected:
  explicit ResidentProxyTest(const std::string& durability = "memory")
      : ResidentProcessTest({.durability = durability, .more = kByProxy}) {}
};

TEST_F(ResidentProxyTest, ThreeTwinsServeLocksAndSayTheWayAndWhy) {
  const auto grant = acquire("a");
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
  acquire(std::string(1024, 'n'));
  EXPECT_EQ(ctl_->json({"lock", "ls"})["locks"].size(), 2u);
  for (std::uint32_t node = 1; node <= 3; ++node) {
    const std::uint32_t peer = node % 3 + 1;
    EXPECT_THAT(link(node, peer), StartsWith("proxy: "));
    EXPECT_THAT(link(node, peer), HasSubstr("--resident-peers proxy"));
  }
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

TEST_F(ResidentProxyTest, ANodeThatWasKilledIsTakenBackAndCounts) {
  kill_each_in_turn();
}

TEST_F(ResidentProxyTest, ANodeThatWasStoppedAndResumedServesAgain) {
  stop_and_resume();
}

class ResidentDurableProxyTest : public ResidentProxyTest {
 protected:
  ResidentDurableProxyTest() : ResidentProxyTest("durable") {}
};

TEST_F(ResidentDurableProxyTest, AllNodesAreKilledAtOnceAndNothingAcknowledgedIsLost) {
  std::vector<nlohmann::json> grants;
  for (int i = 0; i < 8; ++i) {
    grants.push_back(acquire("lock" + std::to_string(i)));
  }
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_->kill(node);
  }
  for (std::uint32_t node = 1; node <= 3; ++node) {
    restart(node);
  }
  for (std::size_t i = 0; i < grants.size(); ++i) {
    EXPECT_EQ(verdict("lock" + std::to_string(i), grants[i])["verdict"], "VALID") << i;
  }
}

class ResidentUcxProxyTest : public ResidentProcessTest {
 protected:
  ResidentUcxProxyTest()
      : ResidentProcessTest({.more = {"--resident-peers", "proxy", "--peer-transport", "ucx"}}) {}
};

TEST_F(ResidentUcxProxyTest, ANodeThatWasKilledIsTakenBackAndCounts) {
  kill_each_in_turn();
}

// 1 and 2 map each other's memory, 3 is reached by proxy.
class ResidentMixedTest : public ResidentProcessTest {
 protected:
  ResidentMixedTest() : ResidentProcessTest({.of_node = {{}, {}, kByProxy}}) {}
};

TEST_F(ResidentMixedTest, EachPairTakesItsOwnWayAndBothEndsTheSame) {
  const auto grant = acquire("a");
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
  EXPECT_THAT(link(1, 2), StartsWith("shared memory"));
  EXPECT_THAT(link(2, 1), StartsWith("shared memory"));
  for (std::uint32_t node = 1; node <= 2; ++node) {
    EXPECT_THAT(link(node, 3), HasSubstr("node 3 was started with --resident-peers proxy"));
    EXPECT_THAT(link(3, node), HasSubstr("node 3 was started with --resident-peers proxy"));
  }
}

TEST_F(ResidentMixedTest, ANodeThatWasKilledIsTakenBackAndCounts) {
  kill_each_in_turn();
}

// What was said to a life that ended binds no other.
TEST_F(ResidentMixedTest, ANodeComesBackByAnotherWay) {
  const auto grant = acquire("a");
  cluster_->kill(1);
  ASSERT_TRUE(cluster_->spawn(1, {"--resident-peers", "proxy"}).ok());
  ASSERT_TRUE(cluster_->wait_ready(1, kPatience).ok());
  wait_until_whole();
  wait_for([this] { return link(2, 1).find("proxy: ") == 0; });
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
}

// 1 and 2 could map each other's memory, but 1 cannot wait for 2: a folder of files has the name of
// its socket.
class ResidentUnmetTest : public ResidentProcessTest {
 protected:
  ResidentUnmetTest() : ResidentProcessTest({.starts = false}) {
    std::filesystem::create_directories(in_the_way_ / "no socket");
    std::filesystem::permissions(cluster_->data_directory(1), std::filesystem::perms::owner_all);
  }

  const std::filesystem::path in_the_way_ = cluster_->data_directory(1) / "turn-2.sock";
};

TEST_F(ResidentUnmetTest, NodesThatDoNotMeetTakeTheProxyAndSayWhy) {
  start();
  const auto grant = acquire("a");
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
  for (const auto& [node, peer] : {std::pair{1u, 2u}, std::pair{2u, 1u}}) {
    EXPECT_THAT(link(node, peer), StartsWith("proxy: "));
    EXPECT_THAT(link(node, peer), HasSubstr("tried to map the other's memory"));
    EXPECT_THAT(link(node, 3), StartsWith("shared memory"));
  }
  // What one life could not, another one may.
  std::filesystem::remove_all(in_the_way_);
  cluster_->kill(1);
  restart(1);
  wait_until_whole();
  wait_for([this] { return link(1, 2).find("shared memory") == 0; });
  wait_for([this] { return link(2, 1).find("shared memory") == 0; });
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
}

class ResidentContradictionTest : public ResidentProcessTest {
 protected:
  ResidentContradictionTest()
      : ResidentProcessTest(
            {.of_node = {{"--resident-peers", "mapped"}, {}, kByProxy}, .starts = false}) {}
};

TEST_F(ResidentContradictionTest, EndsWhoeverHearsOfItAndSaysBothFlags) {
  for (std::uint32_t node = 1; node <= 3; ++node) {
    ASSERT_TRUE(cluster_->spawn(node).ok());
  }
  static constexpr std::chrono::milliseconds kLook{10};
  wait_for([this] {
    return cluster_->wait_exit(1, kLook).value_or(0) != 0 ||
           cluster_->wait_exit(3, kLook).value_or(0) != 0;
  });
  const std::string log = file_text(cluster_->log_file(1)) + file_text(cluster_->log_file(3));
  EXPECT_THAT(log, HasSubstr("GC3009"));
  EXPECT_THAT(log, HasSubstr("node 1 was started with --resident-peers mapped"));
  EXPECT_THAT(log, HasSubstr("node 3 was started with --resident-peers proxy"));
}

class ResidentGpuProxyTest : public ResidentProcessTest {
 protected:
  ResidentGpuProxyTest()
      : ResidentProcessTest({.of_node = {{"--device", "cuda:0"}, {}, {}}, .starts = false}) {}

  // False: there is no GPU to start it on.
  bool start_on_gpu() {
    const bool there = consensus::cuda_device_count() != 0;
    if (there) {
      start();
    }
    return there;
  }
};

TEST_F(ResidentGpuProxyTest, AGpuNodeAndTwoTwinsServeLocksAndSayTheWayAndWhy) {
  if (!start_on_gpu()) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  EXPECT_EQ(verdict("a", acquire("a"))["verdict"], "VALID");
  for (int i = 0; i < 32; ++i) {
    acquire("lock" + std::to_string(i));
  }
  for (std::uint32_t peer = 2; peer <= 3; ++peer) {
    EXPECT_THAT(link(1, peer), StartsWith("proxy: "));
    EXPECT_THAT(link(peer, 1), HasSubstr("one of the nodes runs on a GPU"));
  }
  EXPECT_THAT(link(2, 3), StartsWith("shared memory"));
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

TEST_F(ResidentGpuProxyTest, ANodeThatWasKilledIsTakenBackAndCounts) {
  if (!start_on_gpu()) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  kill_each_in_turn();
}

TEST_F(ResidentGpuProxyTest, ANodeThatWasStoppedAndResumedServesAgain) {
  if (!start_on_gpu()) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  stop_and_resume();
}

}  // namespace
}  // namespace gcoord::cli
