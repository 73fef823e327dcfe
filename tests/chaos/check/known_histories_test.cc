// Histories with known verdicts, each named after what it shows (tests/chaos/histories).
//
// The folder is the verdict; an illegal one names after two underscores the invariants that must be
// called broken, no more and no fewer.
#include "chaos/check/checks.h"
#include "tests/source_dir.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::chaos {
namespace {

std::vector<std::filesystem::path> files_of(const std::string& verdict) {
  const auto folder = std::filesystem::path{in_sources("tests/chaos/histories")} / verdict;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

CheckSummary judge(const std::filesystem::path& file) {
  History history;
  EXPECT_TRUE(read_history(file, history).ok());
  return check_run(history, {}, {});
}

// "register_x__I9_I11" -> {"I9", "I11"}.
std::set<std::string> promised(const std::filesystem::path& file) {
  const std::string stem = file.stem();
  std::istringstream names(stem.substr(stem.find("__") + 2));
  std::set<std::string> invariants;
  for (std::string name; std::getline(names, name, '_');) {
    invariants.insert(name);
  }
  return invariants;
}

std::set<std::string> broken(const CheckSummary& summary) {
  std::set<std::string> invariants;
  for (const CheckReport& report : summary.reports) {
    for (const Finding& finding : report.findings) {
      // A guarded store's order is I9 and I11, a lease's I9 and I12.
      std::istringstream names(finding.invariant);
      for (std::string name; names >> name;) {
        invariants.insert(name);
      }
    }
  }
  return invariants;
}

TEST(KnownHistories, AreManyAndOfAllKinds) {
  EXPECT_GE(files_of("legal").size(), 20u);
  EXPECT_GE(files_of("illegal").size(), 20u);
  EXPECT_GE(files_of("undecided").size(), 2u);
}

TEST(KnownHistories, TheLegalOnesAreOk) {
  for (const auto& file : files_of("legal")) {
    const CheckSummary summary = judge(file);
    EXPECT_EQ(summary.verdict, Verdict::Ok) << file << "\n" << to_text(summary);
  }
}

TEST(KnownHistories, TheIllegalOnesBreakTheInvariantsThatTheyName) {
  for (const auto& file : files_of("illegal")) {
    const CheckSummary summary = judge(file);
    EXPECT_EQ(summary.verdict, Verdict::Violation) << file;
    EXPECT_EQ(broken(summary), promised(file)) << file << "\n" << to_text(summary);
  }
}

TEST(KnownHistories, TheOthersAreUndecided) {
  for (const auto& file : files_of("undecided")) {
    EXPECT_EQ(judge(file).verdict, Verdict::Undecided) << file;
  }
}

}  // namespace
}  // namespace gcoord::chaos
