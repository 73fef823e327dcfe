#include "cli/top/keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::cli::top {
namespace {

std::vector<KeyPress> keys_of(std::string typed, bool settled = false) {
  return take_keys(typed, settled);
}

TEST(Keys, EachPlainKeyIsItsAction) {
  EXPECT_EQ(keys_of("jk\r\n\t <>r+-?q\x7f"),
            (std::vector<KeyPress>{{Action::Down},
                                   {Action::Up},
                                   {Action::Open},
                                   {Action::Open},
                                   {Action::OtherTable},
                                   {Action::Pause},
                                   {Action::SortLeft},
                                   {Action::SortRight},
                                   {Action::Reverse},
                                   {Action::Slower},
                                   {Action::Faster},
                                   {Action::Help},
                                   {Action::Quit},
                                   {Action::Back}}));
}

TEST(Keys, CapitalsSortByAColumn) {
  EXPECT_EQ(keys_of("PX"), (std::vector<KeyPress>{{Action::SortBy, 'P'}, {Action::SortBy, 'X'}}));
}

TEST(Keys, ArrowsAndPagesComeAsSequences) {
  EXPECT_EQ(keys_of("\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[4~"),
            (std::vector<KeyPress>{{Action::Up},
                                   {Action::Down},
                                   {Action::PageUp},
                                   {Action::PageDown},
                                   {Action::First},
                                   {Action::Last}}));
}

TEST(Keys, ASequenceMayComeInPieces) {
  std::string typed = "j\x1b";
  EXPECT_EQ(take_keys(typed, false), std::vector<KeyPress>{{Action::Down}});
  EXPECT_EQ(typed, "\x1b");
  typed += "[";
  EXPECT_TRUE(take_keys(typed, false).empty());
  typed += "Bq";
  EXPECT_EQ(take_keys(typed, false), (std::vector<KeyPress>{{Action::Down}, {Action::Quit}}));
  EXPECT_TRUE(typed.empty());
}

TEST(Keys, AnEscapeThatNothingFollowsGoesBack) {
  EXPECT_EQ(keys_of("\x1b", true), std::vector<KeyPress>{{Action::Back}});
  EXPECT_EQ(keys_of("\x1bq"), (std::vector<KeyPress>{{Action::Back}, {Action::Quit}}));
}

TEST(Keys, ASequenceWithoutAnEndIsCut) {
  std::string typed = "\x1b[" + std::string(1'000, '1');
  EXPECT_FALSE(take_keys(typed, false).empty());
  EXPECT_LT(typed.size(), 100u);
}

TEST(Keys, WhatHasNoMeaningIsOneKeyWithoutOne) {
  EXPECT_EQ(keys_of("\x1b[1;5Cz\x1b[200~"),
            (std::vector<KeyPress>{{Action::Other}, {Action::Other}, {Action::Other}}));
  EXPECT_EQ(keys_of("\x1b[12", true), std::vector<KeyPress>{{Action::Other}});
}

}  // namespace
}  // namespace gcoord::cli::top
