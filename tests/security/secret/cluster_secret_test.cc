#include "security/secret/cluster_secret.h"

#include "security/secret/errors.h"
#include "security/secret/file.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::security {
namespace {

constexpr std::string_view kLine = "hmac-sha256 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";

std::string text_of(std::string_view lines) {
  return "gcoord cluster secret 1\n" + std::string{lines};
}

TEST(ClusterSecret, IsReadAsItWasWritten) {
  const ClusterSecret made = ClusterSecret::generate();
  const auto read = ClusterSecret::parse(made.to_text().text());
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read.value().current(), made.current());
  EXPECT_EQ(read.value().previous(), nullptr);
  EXPECT_EQ(read.value().id(), made.id());
  EXPECT_EQ(made.id().size(), 16u);
  EXPECT_EQ(made.previous_id(), "");
}

TEST(ClusterSecret, KeepsThePreviousOneWhenItIsRotated) {
  const ClusterSecret first = ClusterSecret::generate();
  const ClusterSecret second = first.rotated();
  const ClusterSecret third = ClusterSecret::parse(second.rotated().to_text().text()).value();
  ASSERT_NE(second.previous(), nullptr);
  EXPECT_EQ(*second.previous(), first.current());
  EXPECT_EQ(second.previous_id(), first.id());
  ASSERT_NE(third.previous(), nullptr);
  EXPECT_EQ(*third.previous(), second.current());
  EXPECT_FALSE(third.current() == second.current());
  EXPECT_EQ(third.clone().previous_id(), second.id());
}

TEST(ClusterSecret, DerivesAKeyForEachPurpose) {
  const ClusterSecret first = ClusterSecret::parse(text_of(kLine)).value();
  EXPECT_EQ(first.derive("one", 32), first.derive("one", 32));
  EXPECT_FALSE(first.derive("one", 32) == first.derive("two", 32));
  EXPECT_FALSE(first.derive_previous("one", 32).has_value());
  const ClusterSecret second = first.rotated();
  EXPECT_FALSE(second.derive("one", 32) == first.derive("one", 32));
  EXPECT_EQ(second.derive_previous("one", 32).value(), first.derive("one", 32));
}

// Nodes of all releases must derive the same: this never changes.
TEST(ClusterSecret, OfKnownBytesHasAKnownId) {
  EXPECT_EQ(ClusterSecret::parse(text_of(kLine)).value().id(), "a095e353379f931b");
}

TEST(ClusterSecret, IsRefusedWhenItsTextIsAnother) {
  const std::string line{kLine};
  for (const std::string& text :
       {std::string{},
        std::string{"gcoord cluster secret 1\n"},
        "gcoord cluster secret 2\n" + line,
        text_of(line + line + line),
        text_of(line + "\n"),
        text_of("hmac-md5 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"),
        text_of("hmac-sha256 AAECAwQFBgcICQ==\n"),
        text_of("hmac-sha256 ?\n"),
        text_of(line + std::string(2000, ' '))}) {
    EXPECT_EQ(ClusterSecret::parse(text).status().detail(), kSecretMalformed) << text;
  }
}

TEST(ClusterSecret, InAFileSaysWhichFileIsWrong) {
  const ScratchFolder folder;
  const std::string path = folder.path("cluster.secret");
  const ClusterSecret made = ClusterSecret::generate();
  ASSERT_TRUE(write_secret_file(path, made.to_text().bytes()).ok());
  EXPECT_EQ(ClusterSecret::read(path).value().id(), made.id());
  ASSERT_TRUE(write_secret_file(path, {}).ok());
  const Status failure = ClusterSecret::read(path).status();
  EXPECT_EQ(failure.detail(), kSecretMalformed);
  EXPECT_NE(failure.message().find(path), std::string::npos);
}

}  // namespace
}  // namespace gcoord::security
