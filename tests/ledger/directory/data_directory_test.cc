#include "ledger/directory/data_directory.h"

#include "ledger/base/error_details.h"
#include "tests/scratch_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gcoord::ledger {
namespace {

DataDirectoryOptions options_for(const ScratchFolder& directory) {
  return {directory.path("node"), {ClusterId{7}, NodeId{2}, 64}, 991};
}

TEST(DataDirectory, IsCreatedPrivateAndKnowsThatItIsNew) {
  const ScratchFolder parent;
  const auto directory = DataDirectory::open(options_for(parent)).value();
  EXPECT_TRUE(directory->created());
  EXPECT_EQ(directory->wal_absence(), WalAbsence::Create);

  struct stat attributes {};

  ASSERT_EQ(::stat(parent.path("node").c_str(), &attributes), 0);
  EXPECT_EQ(attributes.st_mode & 0777u, 0700u);
}

TEST(DataDirectory, ASecondDaemonIsRefusedAndToldWhoHoldsIt) {
  const ScratchFolder parent;
  const auto first = DataDirectory::open(options_for(parent)).value();
  const auto second = DataDirectory::open(options_for(parent));
  EXPECT_EQ(second.status().code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(second.status().detail(), kDirectoryLocked);
  EXPECT_NE(second.status().message().find(std::to_string(::getpid())), std::string::npos);
  EXPECT_NE(second.status().message().find(parent.path("node")), std::string::npos);
}

TEST(DataDirectory, MayBeOpenedAgainOnceReleased) {
  const ScratchFolder parent;
  ASSERT_TRUE(DataDirectory::open(options_for(parent)).ok());
  const auto again = DataDirectory::open(options_for(parent)).value();
  EXPECT_EQ(again->incarnation(), Incarnation{2});
}

TEST(DataDirectory, AStartThatIsRefusedUsesUpNoIncarnation) {
  const ScratchFolder parent;
  ASSERT_TRUE(DataDirectory::open(options_for(parent)).ok());
  DataDirectoryOptions refused = options_for(parent);
  refused.before_start = [] { return Status{StatusCode::FailedPrecondition, "a port is taken"}; };
  EXPECT_EQ(DataDirectory::open(refused).status().message(), "a port is taken");
  const auto again = DataDirectory::open(options_for(parent)).value();
  EXPECT_EQ(again->incarnation(), Incarnation{2});
}

TEST(DataDirectory, OneOpenToOthersIsRefused) {
  const ScratchFolder parent;
  ASSERT_TRUE(DataDirectory::open(options_for(parent)).ok());
  ASSERT_EQ(::chmod(parent.path("node").c_str(), 0750), 0);
  EXPECT_EQ(DataDirectory::open(options_for(parent)).status().detail(), kDirectoryPermissions);
}

TEST(DataDirectory, OneThatLostItsIdentityIsRefused) {
  const ScratchFolder parent;
  ASSERT_TRUE(DataDirectory::open(options_for(parent)).ok());
  ASSERT_EQ(::unlink(parent.path("node/identity").c_str()), 0);
  const auto again = DataDirectory::open(options_for(parent));
  EXPECT_EQ(again.status().code(), StatusCode::DataLoss);
  EXPECT_EQ(again.status().detail(), kDirectoryIdentity);
}

TEST(DataDirectory, AMissingParentIsNamed) {
  DataDirectoryOptions options;
  options.path = "/nonexistent/gcoord/node";
  options.identity = {ClusterId{7}, NodeId{2}, 64};
  options.random_id = 1;
  const auto opened = DataDirectory::open(options);
  EXPECT_EQ(opened.status().detail(), kDirectoryUnusable);
  EXPECT_NE(opened.status().message().find(options.path), std::string::npos);
}

// It was a failure of the disk, with the advice to look at the kernel's log.
TEST(DataDirectory, AFileInItsPlaceIsAMistakeInTheOption) {
  const ScratchFolder parent;
  ASSERT_EQ(::close(::open(parent.path("node").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
  const auto opened = DataDirectory::open(options_for(parent));
  EXPECT_EQ(opened.status().detail(), kDirectoryUnusable) << opened.status().to_string();
}

TEST(DataDirectory, AnEmptyLogIsRefusedOnceItWasInUse) {
  const ScratchFolder parent;
  ASSERT_TRUE(DataDirectory::open(options_for(parent)).value()->mark_in_use().ok());
  const auto again = DataDirectory::open(options_for(parent)).value();
  EXPECT_FALSE(again->created());
  EXPECT_EQ(again->wal_absence(), WalAbsence::Refuse);
}

}  // namespace
}  // namespace gcoord::ledger
