#include "cli/contexts/contexts.h"

#include "cli/contexts/file.h"
#include "protocol/error_codes.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace gcoord::cli {
namespace {

namespace fs = std::filesystem;

std::uint32_t number(protocol::ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

Contexts three() {
  return {.current = "dev",
          .by_name = {{"dev", {{"endpoints", "dev:1"}}},
                      {"test", {{"endpoints", "test:1"}, {"timeout", "3s"}}},
                      {"prod", {{"endpoints", "prod:1"}, {"output", "json"}}}}};
}

std::string endpoints_of(const GivenValues& given) {
  const auto chosen = choose_values(given, three());
  EXPECT_TRUE(chosen.ok());
  return chosen.value().by_option.at("endpoints").text;
}

TEST(Contexts, FlagsWinOverTheEnvironmentAndThatOverTheContextInUse) {
  EXPECT_EQ(endpoints_of({}), "dev:1");
  EXPECT_EQ(endpoints_of({.context_environment = "test"}), "test:1");
  EXPECT_EQ(endpoints_of({.environment = {{"endpoints", "env:1"}}}), "env:1");
  EXPECT_EQ(endpoints_of({.environment = {{"endpoints", "env:1"}}, .context_environment = "test"}),
            "env:1");
  EXPECT_EQ(endpoints_of({.environment = {{"endpoints", "env:1"}}, .context_typed = "prod"}),
            "prod:1")
      << "who types a context means it";
  EXPECT_EQ(endpoints_of({.context_typed = "prod", .context_environment = "test"}), "prod:1");
  EXPECT_EQ(endpoints_of({.typed = {{"endpoints", "typed:1"}},
                          .environment = {{"endpoints", "env:1"}},
                          .context_typed = "prod"}),
            "typed:1");
}

TEST(Contexts, EachOptionIsChosenByItself) {
  const auto chosen =
      choose_values({.environment = {{"timeout", "9s"}}, .context_typed = "prod"}, three()).value();
  EXPECT_EQ(chosen.context, "prod");
  EXPECT_EQ(chosen.by_option.at("endpoints").source, ValueSource::Context);
  EXPECT_EQ(chosen.by_option.at("timeout").source, ValueSource::Environment);
  EXPECT_EQ(chosen.by_option.at("output").text, "json");
  EXPECT_TRUE(choose_values({}, {}).value().by_option.empty());
}

TEST(Contexts, OneThatIsNotThereIsRefusedWithThoseThatAre) {
  const auto chosen = choose_values({.context_typed = "stage"}, three());
  EXPECT_EQ(chosen.status().detail(), number(protocol::ErrorCode::OptionInvalid));
  EXPECT_NE(chosen.status().message().find("dev, prod, test"), std::string::npos);
}

TEST(ContextsFile, LiesInTheFolderForSettings) {
  const auto path = [](std::map<std::string, std::string> variables) {
    return contexts_path([&](const std::string& name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional{found->second};
    });
  };
  EXPECT_EQ(path({{"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}}), "/x/gcoord/contexts.json");
  EXPECT_EQ(path({{"XDG_CONFIG_HOME", "x"}, {"HOME", "/h"}}), "/h/.config/gcoord/contexts.json");
  EXPECT_EQ(path({}), "");
  EXPECT_TRUE(read_contexts("").value().by_name.empty());
  EXPECT_FALSE(change_contexts("", [](Contexts&) { return Status{}; }).ok());
}

TEST(ContextsFile, WhatIsChangedIsReadAgainAndIsTheUsersAlone) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "settings" / "gcoord" / "contexts.json";
  EXPECT_TRUE(read_contexts(path).value().by_name.empty());
  ASSERT_TRUE(change_contexts(path, [](Contexts& contexts) {
                contexts = three();
                return Status{};
              }).ok());
  const Contexts read = read_contexts(path).value();
  EXPECT_EQ(read.current, "dev");
  EXPECT_EQ(read.by_name, three().by_name);

  struct stat facts {};

  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(path.parent_path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);

  EXPECT_FALSE(change_contexts(path, [](Contexts& contexts) {
                 contexts = {};
                 return Status{StatusCode::InvalidArgument, "no"};
               }).ok());
  EXPECT_EQ(read_contexts(path).value().by_name, three().by_name);
  EXPECT_FALSE(fs::exists(path.string() + ".part"));
}

TEST(ContextsFile, ALinkOfTheUsersStaysOne) {
  const ScratchFolder folder;
  std::ofstream(folder.path() / "kept.json") << "{}";
  fs::create_symlink(folder.path() / "kept.json", folder.path() / "contexts.json");
  ASSERT_TRUE(change_contexts(folder.path() / "contexts.json", [](Contexts& contexts) {
                contexts = three();
                return Status{};
              }).ok());
  EXPECT_TRUE(fs::is_symlink(folder.path() / "contexts.json"));
  EXPECT_EQ(read_contexts(folder.path() / "kept.json").value().current, "dev");
}

TEST(ContextsFile, OneThatIsNoneIsRefusedWithItsName) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "contexts.json";
  const auto detail = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_contexts(path).status().detail();
  };
  for (const char* text : {"",
                           "[]",
                           "nonsense",
                           R"({"current": 1})",
                           R"({"contexts": []})",
                           R"({"contexts": {"a b": {}}})",
                           R"({"contexts": {"a": 1}})",
                           R"({"contexts": {"a": {"endpoint": "x:1"}}})",
                           R"({"contexts": {"a": {"endpoints": 1}}})",
                           R"({"contexts": {}, "contexts": {}})"}) {
    EXPECT_EQ(detail(text), number(protocol::ErrorCode::ConfigInvalid)) << text;
  }
  EXPECT_EQ(detail(std::string((1 << 20) + 1, ' ')), number(protocol::ErrorCode::ConfigUnreadable));
  EXPECT_EQ(detail(R"({"contexts": {"a": {}}})"), 0u);
  ASSERT_EQ(::chmod(path.c_str(), 0620), 0);
  EXPECT_EQ(read_contexts(path).status().detail(), number(protocol::ErrorCode::ConfigUnreadable));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(read_contexts(path).status().detail(), number(protocol::ErrorCode::ConfigUnreadable));
}

}  // namespace
}  // namespace gcoord::cli
