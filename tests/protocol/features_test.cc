// docs/reference/features.md has a row for every feature bit, and for no other.
#include "protocol/hello.h"
#include "tests/source_dir.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <map>
#include <regex>
#include <string>

namespace gcoord::protocol {
namespace {

using Bits = std::map<unsigned, std::string>;  // Of features, with their names.

// Rows of the page: "| 4 | LockHolds | what | who | when | what stays |", none of them empty.
Bits documented() {
  const std::regex row{
      R"(\| (\d+) \| (\w+) \| [^|]+ \| [^|]+ \| \d{4}-\d\d-\d\d \| (nothing|entries) \|)"};
  std::ifstream page{in_sources("docs/reference/features.md")};
  Bits bits;
  std::smatch found;
  for (std::string line; std::getline(page, line);) {
    if (std::regex_match(line, found, row)) {
      const bool fresh = bits.emplace(static_cast<unsigned>(std::stoul(found[1])), found[2]).second;
      EXPECT_TRUE(fresh) << line;
    }
  }
  return bits;
}

// The enumerators of Feature as the source has them.
Bits declared() {
  const std::regex enumerator{R"(^  (\w+) = (\d+),.*)"};
  std::ifstream source{in_sources("protocol/hello.h")};
  Bits bits;
  bool inside = false;
  std::smatch found;
  for (std::string line; std::getline(source, line);) {
    inside = inside ? line != "};" : line.starts_with("enum class Feature");
    if (inside && std::regex_match(line, found, enumerator)) {
      const std::uint64_t value = std::stoull(found[2]);
      EXPECT_TRUE(std::has_single_bit(value)) << line;
      const auto bit = static_cast<unsigned>(std::countr_zero(value));
      EXPECT_TRUE(bits.emplace(bit, found[1]).second) << "taken twice: " << line;
    }
  }
  return bits;
}

TEST(Features, ThePageHasARowForEachAndNoOther) {
  EXPECT_EQ(documented(), declared());
}

TEST(Features, ABuildHasAllOfThem) {
  std::uint64_t all = 0;
  for (const auto& [bit, name] : declared()) {
    all |= std::uint64_t{1} << bit;
  }
  EXPECT_EQ(all, kFeatures);
}

}  // namespace
}  // namespace gcoord::protocol
