#include "cli/terminal/command_words.h"

#include "protocol/error_codes.h"

#include <gmock/gmock.h>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

// A program with one group of two verbs.
class CommandWordsTest : public testing::Test {
 protected:
  CommandWordsTest() {
    Command& app = line_.program();
    app.require_subcommand(1);
    app.add_option("-o,--output", value_, "format")->one_of({"table", "json"});
    Command* lock = app.add_subcommand("lock", "locks");
    lock->require_subcommand(1);
    Command* acquire = lock->add_subcommand("acquire", "take one");
    acquire->add_option("NAME", value_, "name")->required();
    acquire->add_option("--ttl", value_, "time to live");
    acquire->add_flag("--try", flag_, "do not wait");
    lock->add_subcommand("list", "all")->alias("ls");
    line_.settle();
  }

  CommandWords read(const Words& words) { return read_words(line_.program(), words); }

  std::string value_;
  bool flag_ = false;
  CommandLine line_{"a program", "program"};
};

TEST_F(CommandWordsTest, VerbsAndAliasesAreFoundBehindOptions) {
  EXPECT_EQ(path_of(read({"-o", "json", "lock", "ls"})), "program lock list");
  EXPECT_EQ(path_of(read({"-ojson", "lock", "acquire", "lock"})), "program lock acquire");
  EXPECT_EQ(read({"lock", "acquire", "list", "--try", "x"}).positionals, 2u);
}

TEST_F(CommandWordsTest, AnOptionWithoutItsValueIsOpen) {
  EXPECT_EQ(read({"lock", "acquire", "--ttl"}).open->names, Words{"--ttl"});
  EXPECT_FALSE(read({"lock", "acquire", "--ttl", "5s"}).open.has_value());
  EXPECT_FALSE(read({"lock", "acquire", "--ttl=5s"}).open.has_value());
  EXPECT_FALSE(read({"lock", "acquire", "--try"}).open.has_value());
  EXPECT_EQ(read({"-o"}).open->choices, (Words{"table", "json"}));
}

TEST_F(CommandWordsTest, AMistypedOptionIsNamedWithTheNearest) {
  const Status told = no_such_option(read({"lock", "acquire", "a", "--tttl", "5s"}));
  EXPECT_EQ(told.message(), "program lock acquire has no option --tttl; the nearest is --ttl.");
  EXPECT_EQ(told.detail(), static_cast<std::uint32_t>(protocol::ErrorCode::OptionInvalid));
  EXPECT_THAT(no_such_option(read({"lock", "ls", "--outptu=json"})).message(),
              HasSubstr("--outptu; the nearest is --output"));
  EXPECT_THAT(no_such_option(read({"lock", "ls", "--colour"})).message(),
              HasSubstr("--help lists"));
  EXPECT_THAT(no_such_option(read({"lock", "--ttl", "5s", "acquire", "a"})).message(),
              HasSubstr("write it behind the verb"));
}

TEST_F(CommandWordsTest, AVerbThatIsMissingOrUnknownIsToldWithThoseThereAre) {
  const Status missing = no_such_verb(read({"lock"}));
  EXPECT_EQ(missing.message(), "program lock needs a verb: acquire, list.");
  EXPECT_EQ(missing.detail(), static_cast<std::uint32_t>(protocol::ErrorCode::OptionMissing));
  const Status unknown = no_such_verb(read({"lock", "txn", "--help"}));
  EXPECT_EQ(unknown.message(), "program lock has no verb 'txn', but acquire, list.");
  EXPECT_EQ(unknown.detail(), static_cast<std::uint32_t>(protocol::ErrorCode::CommandUnknown));
}

}  // namespace
}  // namespace gcoord::cli
