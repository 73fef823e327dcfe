#include "ledger/directory/real_directory.h"

#include "ledger/base/error_details.h"
#include "ledger/directory/data_directory.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace gcoord::ledger {
namespace {

class RealDirectoryTest : public testing::Test {
 protected:
  const ScratchFolder folder_;
  const std::string target_ = folder_.path("target");
  const std::string link_ = folder_.path("link");
};

TEST_F(RealDirectoryTest, APathThatIsNoLinkStaysAsItIs) {
  EXPECT_EQ(real_directory(target_).value(), target_);
  std::filesystem::create_directory(target_);
  EXPECT_EQ(real_directory(target_).value(), target_);
  EXPECT_EQ(real_directory(target_ + "/").value(), target_ + "/");
}

TEST_F(RealDirectoryTest, ALinkIsWhatItLeadsTo) {
  std::filesystem::create_directory(target_);
  std::filesystem::create_directory_symlink(target_, link_);
  std::filesystem::create_directory_symlink(link_, folder_.path("second"));
  const std::string real = std::filesystem::canonical(target_);
  EXPECT_EQ(real_directory(link_).value(), real);
  EXPECT_EQ(real_directory(link_ + "/").value(), real);
  EXPECT_EQ(real_directory(folder_.path("second")).value(), real);
}

TEST_F(RealDirectoryTest, ALinkThatLeadsNowhereIsRefused) {
  std::filesystem::create_directory_symlink(target_, link_);
  EXPECT_EQ(real_directory(link_).status().detail(), kDirectoryUnusable);
  EXPECT_NE(real_directory(link_).status().message().find(link_), std::string::npos);
}

TEST_F(RealDirectoryTest, ADataDirectoryIsNotOpenedThroughALink) {
  std::filesystem::create_directory(target_);
  std::filesystem::permissions(target_, std::filesystem::perms{0700});
  std::filesystem::create_directory_symlink(target_, link_);
  const NodeIdentity identity{ClusterId{7}, NodeId{2}, 64};
  const auto opened = DataDirectory::open({link_, identity, 991});
  EXPECT_EQ(opened.status().detail(), kDirectoryUnusable) << opened.status().to_string();
  EXPECT_TRUE(std::filesystem::is_empty(target_));
  EXPECT_TRUE(DataDirectory::open({real_directory(link_).value(), identity, 991}).ok());
}

}  // namespace
}  // namespace gcoord::ledger
