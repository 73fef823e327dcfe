// The options that count, as text: every option has a value or none, and changes are named.
#include "server/options/effective_options.h"

#include "server/options/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Invocation read(const std::vector<std::string>& arguments) {
  auto invocation =
      parse_invocation(arguments, [](const std::string&) { return std::optional<std::string>{}; });
  EXPECT_TRUE(invocation.ok()) << invocation.status().to_string();
  return std::move(invocation).value();
}

TEST(EffectiveOptionsTest, EveryOptionOfTheTableIsShown) {
  const auto options = effective_options(read({"--data-dir", "d"}));
  ASSERT_EQ(options.size(), option_table().size());
  for (const EffectiveOption& option : options) {
    EXPECT_TRUE(option.list || option.texts.size() == 1) << option.name;
    EXPECT_EQ(option.source, option.name == "data-dir" ? "--data-dir" : "default");
  }
}

TEST(EffectiveOptionsTest, PortsThatFollowTheClientPortAreShownAsTheyCameOut) {
  const std::string toml =
      effective_toml(read({"--data-dir", "d", "--listen-client", "127.0.0.1:7410"}));
  EXPECT_THAT(toml, HasSubstr("listen_peer = \"127.0.0.1:7510\"  # default\n"));
}

TEST(EffectiveOptionsTest, AValueCannotEndItsStringOrItsLine) {
  EXPECT_THAT(effective_toml(read({"--data-dir", "a\"\n\\"})),
              HasSubstr("data_dir = \"a\\\"\\u000A\\\\\"  # --data-dir\n"));
}

TEST(EffectiveOptionsTest, ChangesAreNamed) {
  const Invocation before = read({"--data-dir", "d", "--checkpoint-interval", "30s"});
  EXPECT_THAT(changed_options(before, read({"--data-dir", "d"})), ElementsAre());
  EXPECT_THAT(changed_options(before,
                              read({"--data-dir",
                                    "d",
                                    "--log-level",
                                    "debug",
                                    "--peer",
                                    "2=127.0.0.1:7501",
                                    "--device",
                                    "twin"})),
              ElementsAre("peer", "device", "log-level"));
}

}  // namespace
}  // namespace gcoord::server
