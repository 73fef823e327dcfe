// The examples in the help of gcoordctl's verbs: each verb has one, and gcoordctl takes its words.
#include "tests/cli/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// A verb that has no verbs below it, and its help.
struct Verb {
  std::string words;
  std::string help;
};

std::string help_of(const std::vector<std::string>& words) {
  std::vector<std::string> arguments = words;
  arguments.emplace_back("--help");
  return run("gcoordctl", arguments).out;
}

// The first words of the lines below a heading.
std::vector<std::string> listed_in(const std::string& help, const std::string& heading) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (inside && line.starts_with("  ")) {
      names.push_back(line.substr(2, line.find_first_of(" ,", 2) - 2));
    }
    inside = line == heading || (inside && line.starts_with("  "));
  }
  return names;
}

void collect(const std::vector<std::string>& words, std::vector<Verb>& verbs) {
  const std::string help = help_of(words);
  const std::vector<std::string> below = listed_in(help, "Subcommands:");
  if (below.empty()) {
    Verb verb{.words = {}, .help = help};
    for (const std::string& word : words) {
      verb.words += (verb.words.empty() ? "" : " ") + word;
    }
    verbs.push_back(std::move(verb));
  }
  for (const std::string& name : below) {
    std::vector<std::string> next = words;
    next.push_back(name);
    collect(next, verbs);
  }
}

// As somebody types it, where nobody serves.
Finished typed(const std::string& line) {
  const ScratchFolder folder;
  ChildOptions options;
  options.arguments = {"/bin/sh", "-c", "cd \"$0\" && " + line, folder.path()};
  options.capture_output = true;
  options.error_file = (folder.path() / "stderr").string();
  const std::string programs = chaos::program_beside("gcoordctl").parent_path().string();
  options.environment = {{"PATH", programs + ":" + std::getenv("PATH")},
                         {"GCOORD_ENDPOINTS", "127.0.0.1:1"},
                         {"GCOORD_CONTEXT", ""},
                         {"GCOORD_TIMEOUT", "200ms"},
                         {"XDG_CONFIG_HOME", folder.path()}};
  auto child = ChildProcess::start(options);
  EXPECT_TRUE(child.ok()) << child.status().to_string();
  Finished finished;
  finished.out = child.value().read_all(kPatience);
  finished.code = child.value().wait_for(kPatience).value_or(-1);
  finished.err = file_text(options.error_file);
  return finished;
}

TEST(Examples, EveryVerbHasOneThatGcoordctlTakes) {
  std::vector<Verb> verbs;
  collect({}, verbs);
  EXPECT_GT(verbs.size(), 50u);
  for (const Verb& verb : verbs) {
    const std::string mark = "\nExample: ";
    const std::size_t at = verb.help.find(mark);
    ASSERT_NE(at, std::string::npos) << "no example in the help of " << verb.words;
    const std::string line =
        verb.help.substr(at + mark.size(), verb.help.find('\n', at + 1) - at - mark.size());
    EXPECT_TRUE(line.starts_with("gcoordctl " + verb.words)) << line;
    const Finished finished = typed(line);
    for (const char* wrong : {"GC1002", "GC1006", "(GC1001)"}) {
      // There is no context yet that could be used, shown or forgotten.
      if (!verb.words.starts_with("context ")) {
        EXPECT_THAT(finished.err + finished.out, Not(HasSubstr(wrong))) << line;
      }
    }
  }
}

}  // namespace
}  // namespace gcoord::cli
