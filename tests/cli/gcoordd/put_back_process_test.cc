// All directories of a cluster put back to one old moment: the nodes cannot know, a client that was
// there can.
#include "tests/cli/process_cluster.h"

#include <filesystem>
#include <string>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kDetailAnswerBehind = 6307;
constexpr auto kWhole = std::filesystem::copy_options::recursive;

class PutBackTest : public ProcessCluster {
 protected:
  PutBackTest() : ProcessCluster(1) {}

  std::filesystem::path copy_of(std::uint32_t node) const {
    return directory_.path() / ("copy-" + std::to_string(node));
  }

  void save_all() {
    ASSERT_EQ(cluster_->stop_all(kPatience), kNodes);
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      std::filesystem::copy(cluster_->data_directory(node), copy_of(node), kWhole);
    }
    ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  }

  void put_back_all() {
    ASSERT_EQ(cluster_->stop_all(kPatience), kNodes);
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      std::filesystem::remove_all(cluster_->data_directory(node));
      std::filesystem::copy(copy_of(node), cluster_->data_directory(node), kWhole);
    }
    ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  }

  static void take(client::Session& session, const std::string& name) {
    auto lock = session.acquire(name);
    ASSERT_TRUE(lock.ok()) << lock.status().to_string();
    ASSERT_TRUE(lock.value().release().ok());
  }
};

// Every name was granted again under tokens that were not above acknowledged ones, unnoticed.
TEST_F(PutBackTest, AClientThatSawMoreRefusesEveryGrantAndOneThatDidNotCannotKnow) {
  client::Client client = connect(1);
  client::Session session = open(client);
  take(session, "before");
  save_all();
  for (int round = 0; round < 50; ++round) {
    take(session, "name-" + std::to_string(round));
  }
  put_back_all();
  client::Session again = open(client);
  for (int round = 0; round < 5; ++round) {
    const auto lock = again.acquire("name-" + std::to_string(round));
    EXPECT_EQ(lock.status().detail(), kDetailAnswerBehind) << lock.status().to_string();
  }
  client::Client other = connect(2);
  client::Session later = open(other);
  take(later, "name-49");
}

}  // namespace
}  // namespace gcoord::cli
