// Looks at folders of peers, of which one hangs, as on NFS whose server is gone.
#include "server/resident/links/folder_probes.h"

#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>

namespace gcoord::server {
namespace {

using std::chrono::milliseconds;

constexpr NodeId kLiar{1};
constexpr NodeId kHonest{2};

SocketFolder named(const std::string& path) {
  return {.path = path, .device = 1, .inode = 2, .owner = 3};
}

// Kept by the threads that outlive the test's looks.
struct Disk {
  std::latch server{1};  // Of the path that hangs.
  std::atomic<int> looks{0};
};

class FolderProbesTest : public testing::Test {
 protected:
  ~FolderProbesTest() override { come_back(); }

  void come_back() {
    if (!disk_->server.try_wait()) {
      disk_->server.count_down();
    }
  }

  FolderProbes probes(const FolderProbes::Timeouts& timeouts) const {
    return {[disk = disk_](const SocketFolder& folder) {
              ++disk->looks;
              if (folder.path == "/hangs") {
                disk->server.wait();
              }
              return folder.path != "/absent";
            },
            timeouts};
  }

  const std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
};

TEST_F(FolderProbesTest, AFolderIsReachedOrNot) {
  FolderProbes probes = this->probes({.wait = std::chrono::minutes{1}});
  EXPECT_EQ(probes.reaches(kHonest, named("/there")), true);
  EXPECT_EQ(probes.reaches(kHonest, named("/absent")), false);
  EXPECT_EQ(probes.reaches(kHonest, named("/there")), true) << "it may have come";
}

TEST_F(FolderProbesTest, RealFoldersAreOpened) {
  const ScratchFolder folder;
  auto found = find_socket_folder(folder.path().string());
  ASSERT_TRUE(found.ok());
  FolderProbes probes;
  std::optional<bool> reached;
  while (!reached.has_value()) {  // Its thread may take its time where others compute.
    reached = probes.reaches(kHonest, found.value());
  }
  EXPECT_TRUE(*reached);
}

// The loop of the node hung with it.
TEST_F(FolderProbesTest, OneThatHangsDelaysNeitherItsCallerNorOtherPeersAndIsNoInTheEnd) {
  {
    FolderProbes probes = this->probes({.wait = milliseconds{1}, .give_up = std::chrono::hours{1}});
    EXPECT_EQ(probes.reaches(kLiar, named("/hangs")), std::nullopt);
    EXPECT_EQ(probes.reaches(kLiar, named("/hangs")), std::nullopt);
    // It does not begin one for each path that it names.
    EXPECT_EQ(probes.reaches(kLiar, named("/there")), std::nullopt);
    std::optional<bool> reached;
    while (!reached.has_value()) {
      reached = probes.reaches(kHonest, named("/there"));
    }
    EXPECT_TRUE(*reached);
    while (disk_->looks < 2) {  // The thread of the first may not have come so far.
      std::this_thread::yield();
    }
    EXPECT_EQ(disk_->looks, 2);
  }  // Its end does not wait either.
  FolderProbes probes = this->probes({.wait = milliseconds{1}, .give_up = milliseconds{0}});
  EXPECT_EQ(probes.reaches(kLiar, named("/hangs")), false);
  EXPECT_EQ(probes.reaches(kLiar, named("/there")), false);
}

TEST_F(FolderProbesTest, AfterOneThatHungTheNextFolderIsLookedAt) {
  FolderProbes probes = this->probes({.wait = milliseconds{1}, .give_up = std::chrono::hours{1}});
  EXPECT_EQ(probes.reaches(kLiar, named("/hangs")), std::nullopt);
  come_back();
  std::optional<bool> reached;
  while (!reached.has_value()) {
    reached = probes.reaches(kLiar, named("/there"));
  }
  EXPECT_TRUE(*reached);
}

}  // namespace
}  // namespace gcoord::server
