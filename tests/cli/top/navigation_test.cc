#include "cli/top/navigation.h"

#include "cli/top/view.h"
#include "tests/cli/top/story.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::cli::top {
namespace {

// A user who types at a screen of 80 by 24.
class NavigationTest : public testing::Test {
 protected:
  void type(std::string keys) {
    for (const KeyPress& key : take_keys(keys, true)) {
      const PageText page = page_text(model_, navigation_, {});
      navigation_.act(key, targets_of(page), body_rows(page, {}));
    }
  }

  Model model_ = story();
  Navigation navigation_{std::chrono::seconds{2}};
};

TEST_F(NavigationTest, TheSelectionMovesOverBothTablesAndStopsAtTheirEnds) {
  type("k");
  EXPECT_EQ(navigation_.here().selected.node, 1u);
  type("jj");
  EXPECT_EQ(navigation_.here().selected.node, 3u);
  type("j");
  EXPECT_EQ(navigation_.here().selected.name, "jobs/train");
  type("jjjjjj");
  EXPECT_EQ(navigation_.here().selected.name, "\u65e5\u672c\u8a9e/\u9375");
  type("\t");
  EXPECT_EQ(navigation_.here().selected.node, 1u);
}

TEST_F(NavigationTest, TheSelectedRowStaysSelectedWhereverItGoes) {
  type("jj");
  EXPECT_EQ(navigation_.selected_row(targets_of(page_text(model_, navigation_, {}))), 2u);
  type("r");
  EXPECT_EQ(navigation_.here().selected.node, 3u);
  EXPECT_EQ(navigation_.selected_row(targets_of(page_text(model_, navigation_, {}))), 0u);
}

TEST_F(NavigationTest, ARowThatIsGoneLeavesTheSelectionInItsPlace) {
  Navigation navigation{std::chrono::seconds{2}};
  navigation.act(
      {Action::Last},
      {{.kind = Target::Kind::Name, .name = "a"}, {.kind = Target::Kind::Name, .name = "b"}},
      5);
  const std::vector<Target> fewer = {{.kind = Target::Kind::Name, .name = "a"}};
  EXPECT_EQ(navigation.selected_row(fewer), 0u);
  EXPECT_EQ(navigation.selected_row({}), std::nullopt);
}

TEST_F(NavigationTest, EnterOpensANodeAndFromThereANameAndEscGoesBack) {
  type("j\r");
  EXPECT_EQ(navigation_.here().page, Page::Node);
  EXPECT_EQ(navigation_.here().node, 2u);
  type("\t\r");
  EXPECT_EQ(navigation_.here().page, Page::Name);
  EXPECT_EQ(navigation_.here().name, "leaders/scheduler");
  type("\x7f");
  EXPECT_EQ(navigation_.here().page, Page::Node);
  type("\x1b");
  EXPECT_EQ(navigation_.here().page, Page::Overview);
  EXPECT_EQ(navigation_.here().selected.node, 2u) << "the row one came from";
  type("\x1b");
  EXPECT_EQ(navigation_.here().page, Page::Overview);
}

TEST_F(NavigationTest, KeysSortTheTableOfTheSelection) {
  type("S");
  EXPECT_EQ(node_columns()[navigation_.nodes().column].id, "sessions");
  EXPECT_EQ(sorted_nodes(model_, navigation_.nodes())[0]->node, 2u);
  EXPECT_EQ(sorted_nodes(model_, navigation_.nodes())[2]->node, 3u) << "not known comes last";
  type("r");
  EXPECT_EQ(sorted_nodes(model_, navigation_.nodes())[0]->node, 1u);
  EXPECT_EQ(sorted_nodes(model_, navigation_.nodes())[2]->node, 3u) << "here, too";
  type("\tG");
  EXPECT_EQ(name_columns()[navigation_.names().column].id, "grants");
  EXPECT_EQ(node_columns()[navigation_.nodes().column].id, "sessions");
  type("<");
  EXPECT_EQ(name_columns()[navigation_.names().column].id, "changes");
  type("<");
  EXPECT_EQ(name_columns()[navigation_.names().column].id, "name");
  type(">");
  EXPECT_EQ(name_columns()[navigation_.names().column].id, "changes");
}

TEST_F(NavigationTest, EveryColumnHasAKeyOfItsOwn) {
  for (const auto columns : {node_columns(), name_columns()}) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      EXPECT_EQ(column_of_key(columns, columns[k].key), k) << columns[k].id;
      EXPECT_EQ(column_of(columns, columns[k].id), k);
    }
  }
}

TEST_F(NavigationTest, TheIntervalGoesByStepsAndStopsAtTheLast) {
  type("+");
  EXPECT_EQ(navigation_.interval().count(), 5000);
  type("--");
  EXPECT_EQ(navigation_.interval().count(), 1000);
  type("----------");
  EXPECT_EQ(navigation_.interval().count(), 100);
  type("++++++++++++");
  EXPECT_EQ(navigation_.interval().count(), 60'000);
  Navigation odd{std::chrono::milliseconds{2500}};
  odd.act({Action::Faster}, {}, 5);
  EXPECT_EQ(odd.interval().count(), 2000);
}

TEST_F(NavigationTest, HelpGoesWithTheNextKeyAndThatKeyDoesNothingElse) {
  type("?");
  EXPECT_TRUE(navigation_.help());
  type("x");
  EXPECT_FALSE(navigation_.help()) << "any key, also one without a meaning";
  type("?r");
  EXPECT_FALSE(navigation_.help());
  EXPECT_FALSE(navigation_.nodes().reverse);
  type(" ");
  EXPECT_TRUE(navigation_.paused());
  type("?q");
  EXPECT_TRUE(navigation_.quit());
}

}  // namespace
}  // namespace gcoord::cli::top
