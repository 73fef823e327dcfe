#include "security/secret/bytes.h"

#include "common/wipe.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

namespace gcoord::security {
namespace {

TEST(SecretBytes, AreCopiedOnlyByName) {
  static_assert(!std::is_copy_constructible_v<SecretBytes>);
  static_assert(!std::is_copy_assignable_v<SecretBytes>);
  const SecretBytes one = SecretBytes::copy_of("key");
  const SecretBytes two = one.clone();
  EXPECT_EQ(one, two);
  EXPECT_NE(one.bytes().data(), two.bytes().data());
}

TEST(SecretBytes, LeaveNothingBehindWhenTheyMove) {
  SecretBytes one = SecretBytes::copy_of("key");
  SecretBytes two = std::move(one);
  EXPECT_TRUE(one.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(two.text(), "key");
  SecretBytes three = SecretBytes::copy_of("another");
  three = std::move(two);
  EXPECT_TRUE(two.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(three.text(), "key");
}

TEST(SecretBytes, AreEqualByAllOfTheirBytes) {
  EXPECT_EQ(SecretBytes::copy_of("abc"), SecretBytes::copy_of("abc"));
  EXPECT_FALSE(SecretBytes::copy_of("abc") == SecretBytes::copy_of("abd"));
  EXPECT_FALSE(SecretBytes::copy_of("abc") == SecretBytes::copy_of("abcd"));
  EXPECT_EQ(SecretBytes{}, SecretBytes{});
}

TEST(WipedMemory, IsZero) {
  std::byte bytes[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  gcoord::wipe(bytes);
  for (const std::byte each : bytes) {
    EXPECT_EQ(each, std::byte{0});
  }
}

}  // namespace
}  // namespace gcoord::security
