#include "cli/credentials/user_text.h"

#include <gtest/gtest.h>

namespace gcoord::cli {
namespace {

TEST(UserText, AColonOfTheNameIsWrittenWithABackslash) {
  EXPECT_EQ(written_name("ann:secret"), "ann");
  EXPECT_EQ(written_name("ann"), "ann");
  EXPECT_EQ(written_name(R"(ann\:b:secret)"), R"(ann\:b)");
  EXPECT_EQ(written_name(R"(spiffe\://a\:1/b)"), R"(spiffe\://a\:1/b)");
  EXPECT_EQ(written_name(":secret"), "");
  EXPECT_EQ(written_name(""), "");
  EXPECT_EQ(name_of_written(R"(ann\:b)"), "ann:b");
  EXPECT_EQ(name_of_written(R"(ann\b\)"), R"(ann\b\)");
}

}  // namespace
}  // namespace gcoord::cli
