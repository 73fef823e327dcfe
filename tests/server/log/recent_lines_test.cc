#include "server/log/recent_lines.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::server {
namespace {

TEST(RecentLinesTest, LinesAreKeptInTheirOrder) {
  RecentLines lines(64);
  EXPECT_EQ(lines.text(), "");
  lines.add("one\n");
  lines.add("two");
  EXPECT_EQ(lines.text(), "one\ntwo\n");
}

TEST(RecentLinesTest, TheOldestGoAndWhatIsLeftOfOneIsNotShown) {
  RecentLines lines(16);
  for (const char* line : {"111", "222", "333", "444"}) {
    lines.add(line);
  }
  EXPECT_EQ(lines.text(), "111\n222\n333\n444\n") << "16 bytes";
  lines.add("5");
  EXPECT_EQ(lines.text(), "222\n333\n444\n5\n");
  lines.add("6");
  lines.add("7");
  EXPECT_EQ(lines.text(), "333\n444\n5\n6\n7\n");
}

TEST(RecentLinesTest, MemoryIsBoundedWhateverIsLogged) {
  RecentLines lines(1000);
  for (std::size_t length = 0; length < 3000; ++length) {
    lines.add(std::string(length, 'x'));
    ASSERT_LE(lines.text().size(), 1000u);
  }
  EXPECT_EQ(lines.text().size(), 3 * 251u) << "lines cut to a quarter; a part of a fourth is left";
}

}  // namespace
}  // namespace gcoord::server
