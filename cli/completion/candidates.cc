#include "cli/completion/candidates.h"

#include "cli/terminal/command_words.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

namespace gcoord::cli {

namespace {

constexpr std::array kFileValues = {"FILE", "DIR", "http://HOST:PORT|DIR"};

template <typename Names>
bool among(const Names& names, std::string_view value) {
  return std::ranges::find(names, value) != names.end();
}

void add(Candidates& found, const std::string& word) {
  if (word.starts_with(found.before + found.beginning) && !among(found.words, word)) {
    found.words.push_back(word);
  }
}

// The values of an option or of a positional argument.
void add_values(const OptionFacts& option, Candidates& found) {
  for (const std::string& choice : option.choices) {
    add(found, found.before + choice);
  }
  found.names_of = option.names_of;
  found.files = among(kFileValues, option.value_name);
}

void add_options(const CommandWords& read, Candidates& found) {
  for (const Command* command : read.chain | std::views::reverse) {
    for (const OptionFacts& option : command->options()) {
      for (const std::string& name : option.names) {
        if (name.starts_with("--")) {
          add(found, name);
        }
      }
    }
  }
}

void add_verbs(const Command& group, Candidates& found) {
  for (const Command* verb : group.subcommands()) {
    add(found, verb->name());
    for (const std::string& alias : verb->aliases()) {
      add(found, alias);
    }
  }
}

// Nothing when all that there are have been given.
std::optional<OptionFacts> next_positional(const CommandWords& read) {
  std::size_t place = 0;
  for (OptionFacts& option : read.command().options()) {
    if (option.names.empty() && (option.many || place++ == read.positionals)) {
      return std::move(option);
    }
  }
  return std::nullopt;
}

// "--output=js"; false when there is no such option.
bool add_joined(const CommandWords& read, const std::string& word, Candidates& found) {
  const std::size_t equals = word.find('=');
  const auto option = equals == word.npos ? std::nullopt : option_of(read, word.substr(0, equals));
  if (option.has_value()) {
    found.before = word.substr(0, equals + 1);
    found.beginning = word.substr(equals + 1);
    add_values(*option, found);
  }
  return option.has_value();
}

}  // namespace

Candidates candidates_of(const Command& program, std::span<const std::string> words) {
  Candidates found;
  const std::string last = words.empty() ? "" : words.back();
  found.beginning = last;
  const CommandWords read =
      read_words(program, words.empty() ? words : words.first(words.size() - 1));
  if (!read.unknown_verb.empty() || !read.unknown_option.empty()) {
    return found;
  }
  if (read.open.has_value()) {
    add_values(*read.open, found);
  } else if (read.after_dashes) {
    found.commands = true;
  } else if (last.starts_with('-')) {
    if (!add_joined(read, last, found)) {
      add_options(read, found);
    }
  } else if (!read.command().subcommands().empty()) {
    add_verbs(read.command(), found);
  } else if (const auto positional = next_positional(read)) {
    add_values(*positional, found);
  } else {
    add_options(read, found);
  }
  return found;
}

std::string given_value(std::span<const std::string> words, const std::string& option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) {
      return words[i + 1];
    }
    if (words[i].starts_with(option + "=")) {
      return words[i].substr(option.size() + 1);
    }
  }
  return "";
}

}  // namespace gcoord::cli
