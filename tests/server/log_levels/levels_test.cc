// Levels by component: their text, and what is wrong with one.
#include "server/log_levels/levels.h"

#include "server/log_levels/present.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace gcoord::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const LogLevels kPlain = LogLevels::all(LogLevel::Plain);

LogLevels read(std::string_view text, const LogLevels& before = kPlain) {
  const auto levels = parse_log_levels(text, before);
  EXPECT_TRUE(levels.ok()) << text << ": " << levels.status().to_string();
  return levels.ok() ? levels.value() : LogLevels{};
}

std::string refusal(std::string_view text) {
  const auto levels = parse_log_levels(text, kPlain);
  EXPECT_FALSE(levels.ok()) << text;
  return levels.status().message();
}

TEST(LogLevelsTest, OneLevelIsThatOfEveryComponent) {
  for (const LogLevel level :
       {LogLevel::Debug, LogLevel::Plain, LogLevel::Warning, LogLevel::Error, LogLevel::Off}) {
    EXPECT_EQ(read(log_level_name(level)), LogLevels::all(level));
  }
}

TEST(LogLevelsTest, AComponentIsNamedBesideTheLevelOfTheRest) {
  LogLevels wanted = LogLevels::all(LogLevel::Warning);
  wanted.set(LogComponent::Peers, LogLevel::Debug);
  EXPECT_EQ(read("warn,peers=debug"), wanted);
  EXPECT_EQ(read("peers=debug,warn"), wanted);
}

TEST(LogLevelsTest, WithoutALevelOfTheRestTheRestStays) {
  LogLevels wanted = LogLevels::all(LogLevel::Error);
  wanted.set(LogComponent::Disk, LogLevel::Off);
  EXPECT_EQ(read("disk=off", LogLevels::all(LogLevel::Error)), wanted);
}

TEST(LogLevelsTest, WhatIsWrongIsNamedWithWhatThereIs) {
  EXPECT_EQ(refusal("loud"), "'loud' is none of off, error, warn, info, debug");
  EXPECT_EQ(refusal(""), "'' is none of off, error, warn, info, debug");
  EXPECT_EQ(refusal("info,"), "'' is none of off, error, warn, info, debug");
  EXPECT_EQ(refusal("peers="), "'' is none of off, error, warn, info, debug");
  EXPECT_THAT(refusal("info,peer=debug"),
              AllOf(HasSubstr("'peer' is no component of the log"), HasSubstr("peers, consensus")));
  EXPECT_EQ(refusal("info,warn"), "a level without a component is given twice");
  EXPECT_EQ(refusal("gpu=info,gpu=info"), "gpu is given twice");
  EXPECT_THAT(refusal(std::string(kLogLevelsBytesMax + 1, 'x')), HasSubstr("more than 512 bytes"));
}

TEST(LogLevelsTest, TextIsReadBack) {
  LogLevels levels = LogLevels::all(LogLevel::Plain);
  EXPECT_EQ(log_levels_text(levels), "info");
  levels.set(LogComponent::Node, LogLevel::Off);
  levels.set(LogComponent::Links, LogLevel::Debug);
  EXPECT_EQ(log_levels_text(levels), "info,node=off,links=debug");
  EXPECT_EQ(read(log_levels_text(levels), LogLevels::all(LogLevel::Error)), levels);
}

TEST(LogLevelsTest, ALineIsWrittenAtItsComponentsLevelOrAbove) {
  const LogLevels before = log_levels();
  set_log_levels(read("warn,peers=debug,http=off"));
  EXPECT_TRUE(log_enabled(LogComponent::Peers, LogLevel::Debug));
  EXPECT_FALSE(log_enabled(LogComponent::Node, LogLevel::Plain));
  EXPECT_TRUE(log_enabled(LogComponent::Node, LogLevel::Warning));
  EXPECT_TRUE(log_enabled(LogComponent::Node, LogLevel::Error));
  EXPECT_FALSE(log_enabled(LogComponent::Http, LogLevel::Error));
  EXPECT_EQ(log_levels(), read("warn,peers=debug,http=off"));
  set_log_levels(before);
}

}  // namespace
}  // namespace gcoord::server
