#include "common/host/exclusive_file.h"

#include "tests/scratch_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gcoord {
namespace {

using testing::HasSubstr;

class ExclusiveFileTest : public testing::Test {
 protected:
  const ScratchFolder folder_;
  const std::string path_ = folder_.path("file.part");
};

TEST_F(ExclusiveFileTest, IsEmptyAndHasItsMode) {
  const auto file = create_exclusive_file(path_, 0600);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_EQ(std::filesystem::file_size(path_), 0u);
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms{0600});
  ::close(file.value());
}

TEST_F(ExclusiveFileTest, TakesThePlaceOfWhatAnInterruptedWriterLeft) {
  std::ofstream(path_) << "half of something";
  const auto file = create_exclusive_file(path_, 0600);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_EQ(std::filesystem::file_size(path_), 0u);
  ::close(file.value());
}

TEST_F(ExclusiveFileTest, ALinkIsNotFollowed) {
  const std::string target = folder_.path("target");
  std::ofstream(target) << "precious";
  for (const std::string& to : {target, folder_.path("absent")}) {
    std::filesystem::create_symlink(to, path_);
    const auto file = create_exclusive_file(path_, 0600);
    EXPECT_THAT(file.status().message(), HasSubstr("is a link, which is not followed"));
    EXPECT_TRUE(std::filesystem::is_symlink(path_));
    std::filesystem::remove(path_);
  }
  EXPECT_EQ(std::filesystem::file_size(target), 8u);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("absent")));
}

TEST_F(ExclusiveFileTest, AFileWithAnotherNameStaysAsItIs) {
  const std::string other = folder_.path("other");
  std::ofstream(other) << "precious";
  std::filesystem::create_hard_link(other, path_);
  EXPECT_THAT(create_exclusive_file(path_, 0600).status().message(), HasSubstr("remove it"));
  EXPECT_EQ(std::filesystem::file_size(other), 8u);
}

TEST_F(ExclusiveFileTest, APipeDoesNotHoldItUp) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(create_exclusive_file(path_, 0600).ok());
}

TEST_F(ExclusiveFileTest, IsOneWritersAtATime) {
  const auto first = create_exclusive_file(path_, 0600);
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(create_exclusive_file(path_, 0600).status().message(),
              HasSubstr("another process writes"));
  ::close(first.value());
}

}  // namespace
}  // namespace gcoord
