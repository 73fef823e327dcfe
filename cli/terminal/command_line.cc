#include "cli/terminal/command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <system_error>
#include <utility>

namespace gcoord::cli {

namespace {

// Subcommands pass what they do not know to their parents, so that -o json may stand anywhere.
void fall_through(CLI::App& app) {
  for (CLI::App* each : app.get_subcommands({})) {
    each->fallthrough();
    fall_through(*each);
  }
}

// What names one object of one command. No variable stands for these: `lock run` exports variables
// of its own, and GCOORD_TO or GCOORD_ID would change what a command is done to. GCOORD_KEY is the
// file of a private key (cli/contexts), which the --key of ledger verbs is not.
constexpr std::array kOnlyTyped = {"id",
                                   "node",
                                   "to",
                                   "count",
                                   "session",
                                   "token",
                                   "version",
                                   "name",
                                   "label",
                                   "view",
                                   "after",
                                   "key",
                                   "role",
                                   "include"};

// --some-name is also read from GCOORD_SOME_NAME, unless it stands on the command line. Not so what
// excludes another option: a variable must not forbid what the user typed.
void read_environment(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() || option == app.get_help_ptr() ||
        !option->get_excludes().empty() ||
        std::ranges::find(kOnlyTyped, option->get_lnames().front()) != kOnlyTyped.end()) {
      continue;
    }
    std::string variable = "GCOORD_" + option->get_lnames().front();
    std::ranges::transform(variable, variable.begin(), [](char letter) {
      return letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
    });
    option->envname(variable);
  }
  for (CLI::App* each : app.get_subcommands({})) {
    read_environment(*each);
  }
}

// Ids, tokens and counts have no sign; the parser would take -1 for the highest number of all.
void refuse_signs(CLI::App& app) {
  const CLI::Validator unsigned_number(
      [](const std::string& text) {
        return text.starts_with('-') ? text + " is below zero" : std::string{};
      },
      "");
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool number = type == "T" || type == "S" || type == "E" || type == "ID" ||
                        type.starts_with("N") || type.starts_with("UINT");
    if (number && !type.starts_with("NAME")) {
      option->check(unsigned_number);
    }
  }
  for (CLI::App* each : app.get_subcommands({})) {
    refuse_signs(*each);
  }
}

// CLI11 takes "[x,y]" for a list of two wherever an option has many values. A mark behind the
// bracket hides it from the parser; options take the mark off again before they look at the value.
constexpr char kBracketMark = '\x01';

std::string hide_brackets(std::string argument) {
  const bool may_be_list = argument.size() > 1 && argument.front() == '[' &&
                           (argument.back() == ']' || argument.back() == kBracketMark);
  return may_be_list ? argument + kBracketMark : argument;
}

std::string show_brackets(std::string& value) {
  if (value.size() > 1 && value.front() == '[' && value.back() == kBracketMark) {
    value.pop_back();
  }
  return {};
}

void take_brackets(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    option->transform(CLI::Validator(show_brackets, ""));
  }
  for (CLI::App* each : app.get_subcommands({})) {
    take_brackets(*each);
  }
}

// Of verbs, not of their groups.
void add_examples_below(CLI::App& group,
                        const std::string& words,
                        const std::function<std::string(const std::string&)>& example_of) {
  for (CLI::App* each : group.get_subcommands({})) {
    const std::string verb = words + (words.empty() ? "" : " ") + each->get_name();
    const std::string example = example_of(verb);
    if (!example.empty()) {
      each->footer("Example: " + example + "\n\n" + each->get_footer());
    }
    add_examples_below(*each, verb, example_of);
  }
}

// With their dashes; none of a positional argument.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  return names;
}

// CLI11 takes a number that is too large for the largest one.
std::string within_64_bits(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc::result_out_of_range ? text + " is above 18446744073709551615" : "";
}

}  // namespace

Option* Option::required() {
  parsed_->required();
  return this;
}

Option* Option::type_name(const std::string& name) {
  parsed_->type_name(name);
  return this;
}

Option* Option::delimiter(char between) {
  parsed_->delimiter(between);
  return this;
}

Option* Option::expected(int count) {
  parsed_->expected(count);
  return this;
}

Option* Option::take_all() {
  parsed_->take_all();
  return this;
}

Option* Option::allow_extra_args(bool allowed) {
  parsed_->allow_extra_args(allowed);
  return this;
}

Option* Option::excludes(Option* other) {
  parsed_->excludes(other->parsed_);
  return this;
}

Option* Option::needs(Option* other) {
  parsed_->needs(other->parsed_);
  return this;
}

Option* Option::in_range(std::uint32_t least, std::uint32_t most) {
  parsed_->check(CLI::Range(least, most));
  return this;
}

OptionFacts Option::facts() const {
  OptionFacts facts{.names = names_of(*parsed_)};
  facts.value_name = facts.names.empty() ? parsed_->get_name(true) : parsed_->get_type_name();
  facts.choices = choices_;
  facts.names_of = names_of_;
  facts.takes_value = parsed_->get_items_expected_max() > 0;
  facts.many = facts.names.empty() && parsed_->get_items_expected_max() > 1;
  return facts;
}

Option* Option::one_of(const std::vector<std::string>& words) {
  choices_ = words;
  parsed_->check(CLI::IsMember(words));
  return this;
}

Option* Option::proposes(const std::vector<std::string>& words) {
  choices_ = words;
  return this;
}

Option* Option::names(NamesOf what) {
  names_of_ = what;
  return this;
}

Option* Command::keep(CLI::Option* parsed) {
  options_.push_back(std::make_unique<Option>(*parsed));
  return options_.back().get();
}

template <typename Value>
Option* Command::bind(const std::string& name, Value& value, const std::string& help) {
  return keep(parsed_->add_option(name, value, help));
}

Option* Command::add_option(const std::string& name, std::string& value, const std::string& help) {
  return bind(name, value, help);
}

Option* Command::add_option(const std::string& name,
                            std::uint32_t& value,
                            const std::string& help) {
  return bind(name, value, help);
}

Option* Command::add_option(const std::string& name,
                            std::uint64_t& value,
                            const std::string& help) {
  return keep(parsed_->add_option(name, value, help)->check(within_64_bits, ""));
}

Option* Command::add_option(const std::string& name,
                            std::optional<std::string>& value,
                            const std::string& help) {
  return bind(name, value, help);
}

Option* Command::add_option(const std::string& name,
                            std::optional<std::uint32_t>& value,
                            const std::string& help) {
  return bind(name, value, help);
}

Option* Command::add_option(const std::string& name,
                            std::optional<std::uint64_t>& value,
                            const std::string& help) {
  return keep(parsed_->add_option(name, value, help)->check(within_64_bits, ""));
}

Option* Command::add_option(const std::string& name,
                            std::vector<std::string>& value,
                            const std::string& help) {
  return bind(name, value, help);
}

Option* Command::add_option(const std::string& name,
                            std::vector<std::uint32_t>& value,
                            const std::string& help) {
  return bind(name, value, help);
}

Option* Command::add_flag(const std::string& name, bool& value, const std::string& help) {
  return keep(parsed_->add_flag(name, value, help));
}

Option* Command::get_option(const std::string& name) {
  CLI::Option* const parsed = parsed_->get_option(name);
  const auto known =
      std::ranges::find_if(options_, [parsed](const auto& each) { return each->wraps(*parsed); });
  return known == options_.end() ? keep(parsed) : known->get();
}

Command* Command::add_subcommand(const std::string& name, const std::string& help) {
  subcommands_.push_back(std::make_unique<Command>(*parsed_->add_subcommand(name, help)));
  return subcommands_.back().get();
}

Command* Command::find_subcommand(const std::string& name) const {
  for (const auto& each : subcommands_) {
    if (each->name() == name) {
      return each.get();
    }
  }
  return nullptr;
}

Command* Command::require_subcommand(int count) {
  parsed_->require_subcommand(count);
  return this;
}

Command* Command::callback(std::function<void()> body) {
  parsed_->callback(std::move(body));
  return this;
}

Command* Command::footer(const std::string& text) {
  parsed_->footer(text);
  return this;
}

Command* Command::alias(const std::string& name) {
  parsed_->alias(name);
  return this;
}

std::size_t Command::count(const std::string& name) const {
  return parsed_->count(name);
}

bool Command::typed(const std::string& name) const {
  const auto& order = parsed_->parse_order();
  return std::ranges::find(order, parsed_->get_option_no_throw(name)) != order.end();
}

const std::string& Command::name() const {
  return parsed_->get_name();
}

const std::vector<std::string>& Command::aliases() const {
  return parsed_->get_aliases();
}

bool Command::check_name(const std::string& word) const {
  return parsed_->check_name(word);
}

std::vector<const Command*> Command::subcommands() const {
  std::vector<const Command*> all;
  for (const auto& each : subcommands_) {
    all.push_back(each.get());
  }
  return all;
}

std::vector<OptionFacts> Command::options() const {
  std::vector<OptionFacts> all;
  for (const auto& each : options_) {
    all.push_back(each->facts());
  }
  const CLI::App& parsed = *parsed_;
  for (const CLI::Option* own : {parsed.get_help_ptr(), parsed.get_version_ptr()}) {
    if (own != nullptr) {
      all.push_back({.names = names_of(*own), .takes_value = false});
    }
  }
  return all;
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : parsed_(std::make_unique<CLI::App>(description, name)),
      program_(std::make_unique<Command>(*parsed_)) {}

CommandLine::~CommandLine() = default;

void CommandLine::add_examples(
    const std::function<std::string(const std::string& verb)>& example_of) {
  add_examples_below(*parsed_, "", example_of);
}

void CommandLine::version(const std::string& text) {
  parsed_->set_version_flag("--version", text, "print the version");
}

void CommandLine::settle() {
  fall_through(*parsed_);
  read_environment(*parsed_);
  refuse_signs(*parsed_);
  take_brackets(*parsed_);
}

ParseOutcome CommandLine::parse(const std::vector<std::string>& arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  std::ranges::transform(reversed, reversed.begin(), hide_brackets);
  try {
    parsed_->parse(reversed);
  } catch (const CLI::Success& help) {
    parsed_->exit(help);
    return ParseOutcome::Helped;
  } catch (const CLI::ParseError& error) {
    error_ = error.what();
    std::erase(error_, kBracketMark);
    const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
    const bool lacking =
        code == CLI::ExitCodes::RequiredError || code == CLI::ExitCodes::RequiresError;
    return lacking ? ParseOutcome::Lacking : ParseOutcome::Refused;
  }
  return ParseOutcome::Chosen;
}

}  // namespace gcoord::cli
