// docs/reference/rights.md shows the table of demands as it is.
#include "protocol/request.h"
#include "server/rights/demand_table.h"
#include "server/rights/page_table.h"
#include "tests/source_dir.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace gcoord::server {
namespace {

constexpr std::string_view kBegin = "<!-- rights:begin -->\n";
constexpr std::string_view kEnd = "<!-- rights:end -->\n";

std::string right_text(const DemandRow& row) {
  const bool none = row.scope == DemandScope::Anyone || row.scope == DemandScope::Identified;
  return none ? "-" : "`" + std::string{security::right_name(row.right)} + "`";
}

std::string table_text() {
  std::stringstream table;
  table << "| request | number | when | right | over |\n|---|---|---|---|---|\n";
  for (const DemandRow& row : demand_table()) {
    table << "| " << protocol::request_kind_name(row.kind) << " | "
          << static_cast<unsigned>(row.kind) << " | " << demand_case_text(row.when) << " | "
          << right_text(row) << " | " << demand_scope_text(row.scope) << " |\n";
  }
  return table.str();
}

TEST(RightsPageTest, ThePageShowsTheTable) {
  std::ifstream file{in_sources("docs/reference/rights.md")};
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(page.substr(begin + kBegin.size(), end - begin - kBegin.size()), table_text());
}

std::string pages_text() {
  std::stringstream table;
  table << "| port | page | right |\n|---|---|---|\n";
  for (const PageRow& row : page_table()) {
    const bool metrics = row.port == HttpPort::Metrics;
    table << "| `" << (metrics ? "--listen-metrics" : "--listen-ledger") << "` | "
          << (row.path == "*" ? "all others" : "`" + std::string{row.path} + "`") << " | "
          << (row.right ? "`" + std::string{security::right_name(*row.right)} + "`" : "-")
          << " |\n";
  }
  return table.str();
}

TEST(RightsPageTest, ThePageShowsTheTableOfPages) {
  std::ifstream file{in_sources("docs/reference/rights.md")};
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(pages_text()), std::string::npos) << pages_text();
}

TEST(RightsPageTest, ThePageNamesEachRight) {
  std::ifstream file{in_sources("docs/reference/rights.md")};
  std::stringstream text;
  text << file.rdbuf();
  for (const security::RightRow& row : security::right_rows()) {
    EXPECT_NE(text.str().find("`" + std::string{row.name} + "`"), std::string::npos) << row.name;
  }
}

}  // namespace
}  // namespace gcoord::server
