// The flags of --force-new-cluster: with what they go, and what is refused.
#include "protocol/error_codes.h"
#include "server/options/options.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

Result<Invocation> parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--data-dir", "d"});
  return parse_invocation(arguments,
                          [](const std::string&) { return std::optional<std::string>{}; });
}

TEST(ForceFlags, TheyAreAPurposeOfTheirOwn) {
  const auto plain = parse({"--force-new-cluster"});
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  EXPECT_EQ(plain.value().purpose, Purpose::ForceNewCluster);
  EXPECT_FALSE(plain.value().force.dry_run);
  EXPECT_FALSE(plain.value().force.confirm.has_value());
  const auto both = parse({"--force-new-cluster", "--dry-run", "--confirm", "12"});
  ASSERT_TRUE(both.ok()) << both.status().to_string();
  EXPECT_TRUE(both.value().force.dry_run);
  EXPECT_EQ(both.value().force.confirm, "12");
  EXPECT_EQ(parse({}).value().purpose, Purpose::Serve);
}

TEST(ForceFlags, SwitchingRightsOffIsAPurposeToo) {
  const auto parsed = parse({"--auth-recover", "--confirm", "12"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed.value().purpose, Purpose::AuthRecover);
  EXPECT_EQ(parsed.value().force.confirm, "12");
}

TEST(ForceFlags, NoneGoesAloneOrWithWhatEndsAtOnce) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--confirm", "12"},
                                                {"--dry-run"},
                                                {"--force-new-cluster", "--check-config"},
                                                {"--force-new-cluster", "--print-config"},
                                                {"--force-new-cluster", "dev"},
                                                {"--auth-recover", "dev"},
                                                {"--auth-recover", "--force-new-cluster"},
                                                {"--auth-recover", "--dry-run"},
                                                {"--force-new-cluster", "--confirm"}}) {
    const auto parsed = parse(wrong);
    EXPECT_EQ(parsed.status().detail(),
              static_cast<std::uint32_t>(protocol::ErrorCode::OptionInvalid))
        << wrong.back();
  }
}

}  // namespace
}  // namespace gcoord::server
