#include "cli/environment/unknown_variables.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const Lines& environment, Strictness strictness = Strictness::All) {
  std::vector<const char*> words;
  for (const std::string& each : environment) {
    words.push_back(each.c_str());
  }
  words.push_back(nullptr);
  const Lines known{client_variables().begin(), client_variables().end()};
  return unknown_variables(words.data(), known, strictness);
}

TEST(UnknownVariables, AMistypedNameIsShownWithTheNearestAndWithoutItsValue) {
  EXPECT_EQ(lines_of({"GCOORD_CACRT=/secret", "HOME=/root", "GCOORD_USER=ann"}),
            Lines{"the variable GCOORD_CACRT means nothing here; the nearest is GCOORD_CACERT"});
  EXPECT_EQ(lines_of({"GCOORD_FOO=1"}), Lines{"the variable GCOORD_FOO means nothing here"});
  EXPECT_EQ(lines_of({"GCOORD_FOO=1"}, Strictness::Near), Lines{});
  EXPECT_EQ(lines_of({"GCOORD_CACRT=x"}, Strictness::Near).size(), 1u);
}

TEST(UnknownVariables, ThoseOfAKubernetesServiceAreNotMistakes) {
  EXPECT_EQ(lines_of({"GCOORD_SERVICE_HOST=10.0.0.1",
                      "GCOORD_SERVICE_PORT_CLIENT=7400",
                      "GCOORD_PORT=tcp://10.0.0.1:7400",
                      "GCOORD_PORT_7400_TCP_ADDR=10.0.0.1"}),
            Lines{});
}

TEST(UnknownVariables, AFullEnvironmentMakesFewLines) {
  Lines environment;
  for (int k = 0; k < 1000; ++k) {
    environment.push_back("GCOORD_X" + std::to_string(k) + std::string(1000, 'y') + "=1");
  }
  const Lines lines = lines_of(environment);
  ASSERT_EQ(lines.size(), kUnknownShownMax + 1);
  EXPECT_EQ(lines.back(), "and 992 more variables GCOORD_...");
  EXPECT_LT(lines.front().size(), 120u);
}

}  // namespace
}  // namespace gcoord::cli
