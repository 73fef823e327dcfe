#include "common/host/hidden_secrets.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace gcoord {
namespace {

// Arguments as a process has them.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {
    for (std::string& word : words_) {
      pointers_.push_back(word.data());
    }
  }

  std::span<char*> all() { return pointers_; }

  // Up to the first zero, as others see it.
  std::string shown(std::size_t index) const { return pointers_[index]; }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

TEST(HiddenSecretsTest, APasswordBehindAColonIsTakenOutAndTheNameStays) {
  Arguments arguments({"--user", "ann:open sesame", "--user=bob:x", "--user", "eve"});
  hide_argument(arguments.all(), "--user", SecretPart::AfterColon);
  EXPECT_EQ(arguments.shown(1), "ann");
  EXPECT_EQ(arguments.shown(2), "--user=bob");
  EXPECT_EQ(arguments.shown(4), "eve");
}

TEST(HiddenSecretsTest, AWholeValueIsTakenOutAndOtherOptionsStay) {
  Arguments arguments({"--join-token", "00ff", "--join-token-file", "a:b", "--join-token=11"});
  hide_argument(arguments.all(), "--join-token", SecretPart::Whole);
  EXPECT_EQ(arguments.shown(1), "");
  EXPECT_EQ(arguments.shown(3), "a:b");
  EXPECT_EQ(arguments.shown(4), "--join-token=");
}

TEST(HiddenSecretsTest, WordsOfAnotherCommandAreItsOwn) {
  Arguments arguments({"lock", "run", "a", "--", "psql", "--user", "ann:x"});
  hide_argument(arguments.all(), "--user", SecretPart::AfterColon);
  EXPECT_EQ(arguments.shown(6), "ann:x");
}

TEST(HiddenSecretsTest, AnOptionWithoutAValueHidesNothing) {
  Arguments arguments({"--user"});
  hide_argument(arguments.all(), "--user", SecretPart::Whole);
  EXPECT_EQ(arguments.shown(0), "--user");
}

TEST(HiddenSecretsTest, AVariableKeepsItsName) {
  ::setenv("GCOORD_HIDDEN_SECRETS_TEST", "ann:open sesame", 1);
  hide_variable("GCOORD_HIDDEN_SECRETS_TEST", SecretPart::AfterColon);
  EXPECT_STREQ(std::getenv("GCOORD_HIDDEN_SECRETS_TEST"), "ann");
  hide_variable("GCOORD_HIDDEN_SECRETS_TEST", SecretPart::Whole);
  EXPECT_STREQ(std::getenv("GCOORD_HIDDEN_SECRETS_TEST"), "");
  ::unsetenv("GCOORD_HIDDEN_SECRETS_TEST");
  hide_variable("GCOORD_HIDDEN_SECRETS_TEST", SecretPart::Whole);
  EXPECT_EQ(std::getenv("GCOORD_HIDDEN_SECRETS_TEST"), nullptr);
}

}  // namespace
}  // namespace gcoord
