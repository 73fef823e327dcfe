#include "cli/completion/candidates.h"

#include <gmock/gmock.h>

namespace gcoord::cli {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

// A program as gcoordctl is one.
class CandidatesTest : public testing::Test {
 protected:
  CandidatesTest() {
    Command& app = line_.program();
    app.add_option("--endpoints", value_, "nodes");
    app.add_option("-o,--output", value_, "format")->one_of({"table", "json"})->type_name("FORMAT");
    Command* lock = app.add_subcommand("lock", "locks");
    Command* acquire = lock->add_subcommand("acquire", "take some");
    acquire->add_option("NAME", names_, "names")->required()->names_locks();
    acquire->add_option("--ttl", value_, "time to live")->type_name("TIME");
    Command* list = lock->add_subcommand("list", "all")->alias("ls");
    list->add_option("PREFIX", value_, "beginning")->names_locks();
    Command* run = lock->add_subcommand("run", "run a command");
    run->add_option("NAME", value_, "name")->names_locks();
    app.add_option("--context", value_, "of another kind")->type_name("NAME");
    Command* drain = app.add_subcommand("drain", "a node");
    drain->add_option("NODE", value_, "node")->required()->names_nodes();
    Command* bench = app.add_subcommand("bench", "measure");
    bench->add_option("--history", value_, "file")->type_name("FILE");
    app.add_subcommand("completion", "print a script")
        ->add_option("SHELL", value_, "which")
        ->one_of({"bash", "zsh", "fish"});
    line_.settle();
  }

  Candidates after(const Words& words) { return candidates_of(line_.program(), words); }

  std::string value_;
  std::vector<std::string> names_;
  CommandLine line_{"a program", "program"};
};

TEST_F(CandidatesTest, VerbsFollowGroupsAndTheirOptions) {
  EXPECT_THAT(after({""}).words, UnorderedElementsAre("lock", "drain", "bench", "completion"));
  EXPECT_THAT(after({"-o", "json", ""}).words,
              UnorderedElementsAre("lock", "drain", "bench", "completion"));
  EXPECT_THAT(after({"-o", "json", "lock", "a"}).words, UnorderedElementsAre("acquire"));
  EXPECT_THAT(after({"lock", "l"}).words, UnorderedElementsAre("list", "ls"));
}

TEST_F(CandidatesTest, OptionsAreThoseOfTheVerbAndAllAboveIt) {
  EXPECT_THAT(after({"lock", "acquire", "a", "--"}).words,
              UnorderedElementsAre("--ttl", "--help", "--endpoints", "--output", "--context"));
  EXPECT_THAT(after({"lock", "ls", "x", "--o"}).words, UnorderedElementsAre("--output"));
  EXPECT_THAT(after({"lock", "ls", "x", ""}).words, Contains("--output"))
      << "nothing else can follow";
}

TEST_F(CandidatesTest, ValuesFollowTheOptionThatStandsOpen) {
  EXPECT_THAT(after({"lock", "-o", ""}).words, UnorderedElementsAre("table", "json"));
  EXPECT_THAT(after({"--output=j"}).words, UnorderedElementsAre("--output=json"));
  EXPECT_THAT(after({"completion", "z"}).words, UnorderedElementsAre("zsh"));
  EXPECT_THAT(after({"lock", "acquire", "--ttl", ""}).words, IsEmpty());
  EXPECT_TRUE(after({"bench", "--history", "x"}).files);
  EXPECT_TRUE(after({"bench", "--history=x"}).files);
  EXPECT_EQ(after({"bench", "--history=x"}).before, "--history=");
}

TEST_F(CandidatesTest, NamesOfLocksFollowWhereALockIsNamed) {
  EXPECT_EQ(after({"lock", "acquire", ""}).names_of, NamesOf::Locks);
  EXPECT_EQ(after({"lock", "acquire", "a", "jo"}).names_of, NamesOf::Locks) << "it takes several";
  EXPECT_EQ(after({"lock", "acquire", "a", "jo"}).beginning, "jo");
  EXPECT_EQ(after({"lock", "ls", ""}).names_of, NamesOf::Locks);
  EXPECT_NE(after({"lock", "ls", "a", ""}).names_of, NamesOf::Locks);
  EXPECT_NE(after({"lock", ""}).names_of, NamesOf::Locks);
  EXPECT_NE(after({"--context", ""}).names_of, NamesOf::Locks) << "a name of something else";
  EXPECT_EQ(after({"drain", "no"}).names_of, NamesOf::Nodes);
  EXPECT_NE(after({"drain", "no"}).names_of, NamesOf::Locks);
  EXPECT_NE(after({"drain", "node-1", ""}).names_of, NamesOf::Nodes);
  EXPECT_NE(after({"lock", "acquire", ""}).names_of, NamesOf::Nodes);
}

TEST_F(CandidatesTest, ACommandFollowsTheDashesOfLockRun) {
  EXPECT_TRUE(after({"lock", "run", "a", "--", ""}).commands);
  EXPECT_FALSE(after({"lock", "run", "a", ""}).commands);
}

TEST_F(CandidatesTest, NothingFollowsWhatHasNoMeaning) {
  EXPECT_THAT(after({"txn", ""}).words, IsEmpty());
  EXPECT_THAT(after({"lock", "ls", "--nope", ""}).words, IsEmpty());
}

TEST_F(CandidatesTest, TheEndpointsOfTheLineAreFound) {
  EXPECT_EQ(given_value(Words{"--endpoints", "a:1", "lock"}, "--endpoints"), "a:1");
  EXPECT_EQ(given_value(Words{"lock", "--endpoints=b:2"}, "--endpoints"), "b:2");
  EXPECT_EQ(given_value(Words{"lock", "--endpoints"}, "--endpoints"), "");
}

}  // namespace
}  // namespace gcoord::cli
