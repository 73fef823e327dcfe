#include "security/certificates/folder.h"

#include "security/certificates/check.h"
#include "security/certificates/error_details.h"
#include "tests/scratch_folder.h"
#include "tests/security/certificates/lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace gcoord::certificates {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat facts {};

  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777u : 0;
}

class FolderTest : public testing::Test {
 protected:
  Authority found() { return folder_.found({.cluster = kCluster, .now_s = kToday}).value(); }

  ScratchFolder scratch_;
  AuthorityFolder folder_{scratch_.path() / "ca"};
  PairPaths paths_ = pair_paths(scratch_.path() / "node-1");
};

TEST_F(FolderTest, KeysAreForTheirOwnerAlone) {
  static_cast<void>(found());
  ASSERT_TRUE(folder_.issue(node_wishes(), KeyAlgorithm::Ed25519, paths_).ok());
  EXPECT_EQ(mode_of(scratch_.path() / "ca"), 0700u);
  EXPECT_EQ(mode_of(folder_.key_path()), 0600u);
  EXPECT_EQ(mode_of(paths_.key), 0600u);
  EXPECT_EQ(mode_of(paths_.certificate), 0644u);
}

TEST_F(FolderTest, ACaIsLoadedAsItWasMade) {
  const Authority authority = found();
  const auto loaded = folder_.load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_EQ(loaded.value().facts().fingerprint, authority.facts().fingerprint);
  EXPECT_TRUE(read_revocations(read_public_file(folder_.revocations_path()).value()).ok());
}

TEST_F(FolderTest, NothingIsWrittenOver) {
  static_cast<void>(found());
  const std::string before = read_public_file(folder_.certificate_path()).value();
  EXPECT_EQ(folder_.found({.cluster = 18, .now_s = kToday}).status().detail(),
            kCertificateInTheWay);
  EXPECT_EQ(read_public_file(folder_.certificate_path()).value(), before);
  ASSERT_TRUE(folder_.issue(node_wishes(), KeyAlgorithm::P256, paths_).ok());
  EXPECT_EQ(folder_.issue(node_wishes(), KeyAlgorithm::P256, paths_).status().detail(),
            kCertificateInTheWay);
  fs::remove(paths_.certificate);
  EXPECT_EQ(folder_.issue(node_wishes(), KeyAlgorithm::P256, paths_).status().detail(),
            kCertificateInTheWay);
}

TEST_F(FolderTest, AKeyThatOthersMayReadIsRefused) {
  static_cast<void>(found());
  ASSERT_EQ(::chmod(folder_.key_path().c_str(), 0640), 0);
  const auto loaded = folder_.load();
  EXPECT_EQ(loaded.status().detail(), kKeyUnreadable);
  EXPECT_THAT(loaded.status().message(), testing::HasSubstr("ca.key"));
  ASSERT_EQ(::chmod(folder_.key_path().c_str(), 0600), 0);
  EXPECT_TRUE(folder_.load().ok());
}

TEST_F(FolderTest, WhatIsNoKeyHasItsNumber) {
  const fs::path path = scratch_.path() / "x.key";
  EXPECT_EQ(PrivateKey::read(path.string()).status().detail(), kKeyUnreadable);
  std::ofstream(path) << "no key";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(PrivateKey::read(path.string()).status().detail(), kKeyMalformed);
  std::ofstream(path) << std::string(20'000, 'x');
  EXPECT_EQ(PrivateKey::read(path.string()).status().detail(), kKeyMalformed);
}

TEST_F(FolderTest, ARenewalReplacesTheFile) {
  const Authority authority = found();
  ASSERT_TRUE(folder_.issue(node_wishes(), KeyAlgorithm::P256, paths_).ok());
  const std::string before = read_public_file(paths_.certificate).value();
  const std::string key_before = read_public_file(paths_.key).value();
  ASSERT_TRUE(folder_.renew({.now_s = kToday + kDay}, std::nullopt, paths_).ok());
  EXPECT_NE(read_public_file(paths_.certificate).value(), before);
  EXPECT_EQ(read_public_file(paths_.key).value(), key_before);
  ASSERT_TRUE(folder_.renew({.now_s = kToday + kDay}, KeyAlgorithm::Ed25519, paths_).ok());
  EXPECT_NE(read_public_file(paths_.key).value(), key_before);
  EXPECT_EQ(mode_of(paths_.key), 0600u);
  const PrivateKey key = PrivateKey::read(paths_.key.string()).value();
  const std::string pem = read_public_file(paths_.certificate).value();
  const std::string ca = authority.pem().value();
  CheckWishes wishes = check_of(pem, ca);
  wishes.now_s = kToday + kDay;
  wishes.key = &key;
  EXPECT_TRUE(check_certificate(wishes).ok());
}

TEST_F(FolderTest, ARevokedCertificateIsNotRenewed) {
  static_cast<void>(found());
  const auto issued = folder_.issue(node_wishes(), KeyAlgorithm::P256, paths_);
  ASSERT_TRUE(issued.ok());
  EXPECT_TRUE(fs::exists(scratch_.path() / "ca" / "issued" / (issued.value().serial + ".crt")));
  const auto list = folder_.revoke({issued.value().serial}, kToday);
  ASSERT_TRUE(list.ok()) << list.status().to_string();
  EXPECT_THAT(list.value().serials, testing::ElementsAre(issued.value().serial));
  EXPECT_EQ(folder_.renew({.now_s = kToday}, std::nullopt, paths_).status().detail(),
            kCertificateRevoked);
}

TEST_F(FolderTest, AFailedIssueLeavesNothing) {
  static_cast<void>(found());
  IssueWishes wishes = node_wishes();
  wishes.hosts = {"a b"};
  EXPECT_EQ(folder_.issue(wishes, KeyAlgorithm::P256, paths_).status().detail(), kHostInvalid);
  EXPECT_FALSE(fs::exists(paths_.key));
  const PairPaths nowhere = pair_paths(scratch_.path() / "absent" / "node-1");
  EXPECT_EQ(folder_.issue(node_wishes(), KeyAlgorithm::P256, nowhere).status().detail(),
            kCertificateUnwritten);
}

}  // namespace
}  // namespace gcoord::certificates
