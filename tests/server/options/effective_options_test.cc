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
using testing::Not;

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

// Of an option that takes no value, and says in its refusal what it was given.
Status refuse(const std::string& text, NodeOptions&) {
  return {StatusCode::InvalidArgument, "'" + text + "' is no key"};
}

// The table, and behind it an option with a secret value, a list of such and a plain one.
std::vector<OptionRow> with_planted_secrets() {
  std::vector<OptionRow> table(option_table().begin(), option_table().end());
  table.push_back(
      {.name = "planted-password", .shape = OptionShape::Value, .apply = &refuse, .secret = true});
  table.push_back(
      {.name = "planted-keys", .shape = OptionShape::List, .apply = &refuse, .secret = true});
  table.push_back({.name = "planted-path", .shape = OptionShape::Value, .apply = &refuse});
  return table;
}

TEST(PublishedOptionsTest, ASecretIsReplacedAndItsSourceIsNot) {
  Invocation invocation = read({"--data-dir", "d"});
  invocation.given.push_back({"planted-password", "hunter2", "GCOORD_PLANTED_PASSWORD"});
  invocation.given.push_back({"planted-keys", "hunter3", "--planted-keys"});
  invocation.given.push_back({"planted-keys", "hunter4", "--planted-keys"});
  invocation.given.push_back({"planted-path", "a/path", "--planted-path"});
  const std::string toml = published_toml(invocation, with_planted_secrets());
  EXPECT_THAT(toml, Not(HasSubstr("hunter")));
  EXPECT_THAT(toml, HasSubstr("planted_password = \"(secret)\"  # GCOORD_PLANTED_PASSWORD\n"));
  EXPECT_THAT(toml, HasSubstr("planted_keys = [\"(secret)\", \"(secret)\"]  # --planted-keys\n"));
  EXPECT_THAT(toml, HasSubstr("planted_path = \"a/path\"  # --planted-path\n"));
  EXPECT_TRUE(toml.starts_with(published_toml(read({"--data-dir", "d"}))));
}

TEST(PublishedOptionsTest, WhatIsNotSecretIsAsTheOperatorHasIt) {
  const Invocation invocation = read({"--data-dir", "d", "--peer", "2=127.0.0.1:7501"});
  EXPECT_EQ(published_toml(invocation), effective_toml(invocation));
}

TEST(PublishedOptionsTest, AFailureHasNothingOfASecretValue) {
  NodeOptions options;
  const std::vector<OptionRow> table = with_planted_secrets();
  const OptionRow& plain = table.back();
  const OptionRow& secret = table[table.size() - 2];
  EXPECT_THAT(apply_option(plain, "hunter2", options).message(), HasSubstr("hunter2"));
  EXPECT_FALSE(apply_option(secret, "hunter2", options).ok());
  EXPECT_THAT(apply_option(secret, "hunter2", options).message(), Not(HasSubstr("hunter2")));
}

TEST(PublishedOptionsTest, AnOptionThatIsNamedLikeASecretIsOne) {
  for (const OptionRow& row : option_table()) {
    for (const char* word : {"password", "passphrase", "secret", "token", "credential"}) {
      // Where a file is may be shown, and how long something holds.
      const bool is_about = row.placeholder == "FILE" || row.placeholder == "TIME";
      EXPECT_TRUE(row.secret || is_about || row.name.find(word) == row.name.npos) << row.name;
    }
  }
}

}  // namespace
}  // namespace gcoord::server
