// The verbs of a program and the options that they take: what gcoordctl uses of CLI11.
//
// CLI11 is header only and takes a compiler longer than anything that a verb does with it, so one
// file includes it, command_line.cc, and the files of verbs see this. The names are CLI11's, and so
// are the texts and the exit codes; what has no function here is not used yet. Commands and options
// live as long as their CommandLine. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gcoord::cli {

// Names that only the cluster knows, which a value is one of, or the beginning of one.
enum class NamesOf : std::uint8_t {
  Nothing,
  Locks,  // Elections and groups, too.
  Nodes,
  Users,
  Roles,
  Principals,  // Users, and principals that have a limit.
  // Of limits, and of denials that have not ended.
  LimitPrincipals,
  LimitPrefixes,
  LimitNetworks,
  DeniedPrincipals,
  DeniedSerials,
  DeniedNames,
  DeniedNetworks,
};

// What an option or a positional argument accepts.
struct OptionFacts {
  std::vector<std::string> names;  // "-o", "--output"; none of a positional argument.
  std::string value_name;          // "FORMAT"; of a positional argument its own name.
  std::vector<std::string>
      choices;  // The only values, or those that are proposed, if they were named.
  bool takes_value = true;
  NamesOf names_of = NamesOf::Nothing;
  bool many = false;  // A positional argument that takes all further ones.
};

// One option or positional argument of a command. What changes it returns it.
class Option {
 public:
  explicit Option(CLI::Option& parsed) : parsed_(&parsed) {}

  OptionFacts facts() const;

  bool wraps(const CLI::Option& parsed) const { return parsed_ == &parsed; }

  Option* required();
  Option* type_name(const std::string& name);
  Option* delimiter(char between);
  Option* expected(int count);
  Option* take_all();
  Option* allow_extra_args(bool allowed);
  Option* excludes(Option* other);
  Option* needs(Option* other);

  // Both bounds are allowed.
  Option* in_range(std::uint32_t least, std::uint32_t most);
  Option* one_of(const std::vector<std::string>& words);

  // For completion: OptionFacts::choices, of which a value need not be one, and names_of.
  Option* proposes(const std::vector<std::string>& words);
  Option* names(NamesOf what);

  Option* names_locks() { return names(NamesOf::Locks); }

  Option* names_nodes() { return names(NamesOf::Nodes); }

 private:
  CLI::Option* parsed_;
  std::vector<std::string> choices_;
  NamesOf names_of_ = NamesOf::Nothing;
};

// A verb, a group of verbs, or the program itself.
class Command {
 public:
  explicit Command(CLI::App& parsed) : parsed_(&parsed) {}

  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_subcommand(const std::string& name, const std::string& help);

  // nullptr: none of this name was added.
  Command* find_subcommand(const std::string& name) const;

  // The value is written when the command line is parsed. Its type says what is accepted; one
  // function per type, so that no verb instantiates a parser.
  Option* add_option(const std::string& name, std::string& value, const std::string& help);
  Option* add_option(const std::string& name, std::uint32_t& value, const std::string& help);
  Option* add_option(const std::string& name, std::uint64_t& value, const std::string& help);
  Option* add_option(const std::string& name,
                     std::optional<std::string>& value,
                     const std::string& help);
  Option* add_option(const std::string& name,
                     std::optional<std::uint32_t>& value,
                     const std::string& help);
  Option* add_option(const std::string& name,
                     std::optional<std::uint64_t>& value,
                     const std::string& help);
  Option* add_option(const std::string& name,
                     std::vector<std::string>& value,
                     const std::string& help);
  Option* add_option(const std::string& name,
                     std::vector<std::uint32_t>& value,
                     const std::string& help);
  Option* add_flag(const std::string& name, bool& value, const std::string& help);

  // The option that was added under this name, which there must be.
  Option* get_option(const std::string& name);

  Command* require_subcommand(int count);
  Command* callback(std::function<void()> body);
  Command* footer(const std::string& text);
  Command* alias(const std::string& name);

  // How often the option of this name was given.
  std::size_t count(const std::string& name) const;

  // Whether it stands on the command line; a variable of the environment may have given it, too.
  bool typed(const std::string& name) const;

  const std::string& name() const;

  const std::vector<std::string>& aliases() const;

  // Whether the word is this command's name or alias.
  bool check_name(const std::string& word) const;

  std::vector<const Command*> subcommands() const;

  // Of its own, without those of the groups that it belongs to; --help is one of them.
  std::vector<OptionFacts> options() const;

 private:
  template <typename Value>
  Option* bind(const std::string& name, Value& value, const std::string& help);
  Option* keep(CLI::Option* parsed);

  CLI::App* parsed_;
  std::vector<std::unique_ptr<Command>> subcommands_;
  std::vector<std::unique_ptr<Option>> options_;
};

enum class ParseOutcome {
  Chosen,   // The callback of the verb has run.
  Helped,   // Help was asked for, and is on standard output.
  Lacking,  // Something must be given that was not: a verb, an argument, an option. error() says.
  Refused,  // What was given cannot be used; error() says why.
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name);
  ~CommandLine();

  Command& program() { return *program_; }

  // For all verbs, after the last was added: the help of each ends with its example, of which
  // `example_of` is told the verb's words ("lock get"), and then with what it ended with before.
  void add_examples(const std::function<std::string(const std::string& verb)>& example_of);

  // --version prints the text and is an answer, as --help is.
  void version(const std::string& text);

  // For all commands, after the last was added: options of a group may stand behind its verbs,
  // variables GCOORD_<NAME> stand for options that are not given, numbers have no sign.
  void settle();

  ParseOutcome parse(const std::vector<std::string>& arguments);

  const std::string& error() const { return error_; }

 private:
  std::unique_ptr<CLI::App> parsed_;
  std::unique_ptr<Command> program_;
  std::string error_;
};

}  // namespace gcoord::cli
