#include "security/secret/file.h"

#include "security/secret/errors.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace gcoord::security {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

class SecretFileTest : public testing::Test {
 protected:
  std::uint32_t failure_of_reading() const { return read_secret_file(path_, 64).status().detail(); }

  const ScratchFolder folder_;
  const std::string path_ = folder_.path("secret");
};

TEST_F(SecretFileTest, IsWrittenForItsOwnerAlone) {
  ASSERT_TRUE(write_secret_file(path_, bytes_of("one")).ok());
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms{0600});
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
  const auto read = read_secret_file(path_, 3);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read.value().text(), "one");
}

TEST_F(SecretFileTest, IsReplacedWholly) {
  ASSERT_TRUE(write_secret_file(path_, bytes_of("one")).ok());
  ASSERT_TRUE(write_secret_file(path_, bytes_of("another")).ok());
  EXPECT_EQ(read_secret_file(path_, 64).value().text(), "another");
}

TEST_F(SecretFileTest, IsNotWrittenOverByANewOne) {
  ASSERT_TRUE(write_new_secret_file(path_, bytes_of("one")).ok());
  EXPECT_EQ(write_new_secret_file(path_, bytes_of("two")).detail(), kSecretFileExists);
  EXPECT_EQ(read_secret_file(path_, 64).value().text(), "one");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
}

TEST_F(SecretFileTest, IsRefusedWhenOthersMayReadIt) {
  ASSERT_TRUE(write_secret_file(path_, bytes_of("one")).ok());
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610, 0601}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    EXPECT_EQ(failure_of_reading(), kSecretFileUnsafe) << mode;
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0400), 0);
  EXPECT_TRUE(read_secret_file(path_, 64).ok());
}

// As systemd leaves a credential of a service where it uses access control lists.
TEST_F(SecretFileTest, MayBeOneThatSystemdHandsToTheService) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can make a file of root's";
  }
  ASSERT_TRUE(write_secret_file(path_, bytes_of("one")).ok());
  ASSERT_EQ(::chmod(path_.c_str(), 0440), 0);
  const std::string folder = std::filesystem::path{path_}.parent_path();
  EXPECT_EQ(failure_of_reading(), kSecretFileUnsafe);
  ASSERT_EQ(::setenv("CREDENTIALS_DIRECTORY", folder.c_str(), 1), 0);
  EXPECT_EQ(failure_of_reading(), 0u);
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  EXPECT_EQ(failure_of_reading(), kSecretFileUnsafe) << "everybody may read it";
  ASSERT_EQ(::chmod(path_.c_str(), 0460), 0);
  EXPECT_EQ(failure_of_reading(), kSecretFileUnsafe) << "a group may change it";
  ASSERT_EQ(::chmod(path_.c_str(), 0440), 0);
  ASSERT_EQ(::chown(path_.c_str(), 0, 65534), 0);
  EXPECT_EQ(failure_of_reading(), kSecretFileUnsafe) << "a group may read it";
  ASSERT_EQ(::chown(path_.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_EQ(failure_of_reading(), kSecretFileUnsafe) << "others may change the folder";
  ASSERT_EQ(::setenv("CREDENTIALS_DIRECTORY", "/run/credentials/other", 1), 0);
  EXPECT_EQ(failure_of_reading(), kSecretFileUnsafe);
  ::unsetenv("CREDENTIALS_DIRECTORY");
}

TEST_F(SecretFileTest, IsRefusedWhenItIsALinkOrNoFile) {
  ASSERT_TRUE(write_secret_file(folder_.path("real"), bytes_of("one")).ok());
  std::filesystem::create_symlink(folder_.path("real"), path_);
  EXPECT_EQ(failure_of_reading(), kSecretFileUnsafe);
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(failure_of_reading(), kSecretFileUnsafe);
}

TEST_F(SecretFileTest, IsRefusedWhenItIsAbsentOrTooLong) {
  EXPECT_EQ(failure_of_reading(), kSecretFileUnreadable);
  ASSERT_TRUE(write_secret_file(path_, bytes_of(std::string(65, 'x'))).ok());
  EXPECT_EQ(failure_of_reading(), kSecretMalformed);
}

TEST_F(SecretFileTest, SaysThatItCouldNotBeWritten) {
  EXPECT_EQ(write_secret_file(folder_.path("none/secret"), bytes_of("one")).detail(),
            kSecretFileUnwritten);
}

}  // namespace
}  // namespace gcoord::security
