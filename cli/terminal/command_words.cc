#include "cli/terminal/command_words.h"

#include "common/text/near_names.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <ranges>
#include <string_view>

namespace gcoord::cli {

namespace {

// A mistyped name has at most so many wrong letters.
constexpr std::size_t kMistakesMax = 2;

std::optional<OptionFacts> own_option(const Command& command, const std::string& name) {
  for (OptionFacts& facts : command.options()) {
    if (std::ranges::find(facts.names, name) != facts.names.end()) {
      return std::move(facts);
    }
  }
  return std::nullopt;
}

// "--name" of "--name=value", "-o" of "-ojson".
std::string name_in(const std::string& word) {
  return word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

const Command* verb_of(const Command& group, const std::string& word) {
  const auto verbs = group.subcommands();
  const auto named =
      std::ranges::find_if(verbs, [&word](const Command* each) { return each->check_name(word); });
  return named == verbs.end() ? nullptr : *named;
}

// False when the word has no meaning.
bool take_option(const std::string& word, CommandWords& read) {
  const std::string name = name_in(word);
  const auto option = option_of(read, name);
  if (!option.has_value()) {
    read.unknown_option = name;
    return false;
  }
  if (option->takes_value && word == name) {
    read.open = option;
  }
  return true;
}

bool take_word(const std::string& word, CommandWords& read) {
  if (read.command().subcommands().empty()) {
    ++read.positionals;
    return true;
  }
  const Command* verb = verb_of(read.command(), word);
  if (verb == nullptr) {
    read.unknown_verb = word;
    return false;
  }
  read.chain.push_back(verb);
  return true;
}

// The nearest long name; empty when none is near.
std::string nearest_option(const CommandWords& words) {
  std::string nearest;
  std::size_t least = kMistakesMax + 1;
  for (const Command* command : words.chain | std::views::reverse) {
    for (const OptionFacts& option : command->options()) {
      for (const std::string& name : option.names) {
        const std::size_t mistakes = letters_apart(words.unknown_option, name);
        if (name.starts_with("--") && mistakes < least) {
          nearest = name;
          least = mistakes;
        }
      }
    }
  }
  return nearest;
}

// Of one of the verbs of a group, which then was not named before it.
bool belongs_to_verb(const Command& group, const std::string& name) {
  return std::ranges::any_of(group.subcommands(), [&name](const Command* verb) {
    return own_option(*verb, name).has_value() || belongs_to_verb(*verb, name);
  });
}

Status said(protocol::ErrorCode code, std::string message) {
  const auto number = static_cast<std::uint32_t>(code);
  return {protocol::find_error(number)->status, std::move(message), number};
}

}  // namespace

CommandWords read_words(const Command& program, std::span<const std::string> words) {
  CommandWords read;
  read.chain.push_back(&program);
  for (const std::string& word : words) {
    if (read.open.has_value()) {
      read.open.reset();
    } else if (read.after_dashes) {
      ++read.positionals;
    } else if (word == "--") {
      read.after_dashes = true;
    } else if (!(word.size() > 1 && word.starts_with('-') ? take_option(word, read)
                                                          : take_word(word, read))) {
      break;
    }
  }
  return read;
}

std::string path_of(const CommandWords& words) {
  std::string path;
  for (const Command* each : words.chain) {
    path += (path.empty() ? "" : " ") + each->name();
  }
  return path;
}

std::optional<OptionFacts> option_of(const CommandWords& words, const std::string& name) {
  for (const Command* command : words.chain | std::views::reverse) {
    if (auto own = own_option(*command, name)) {
      return own;
    }
  }
  return std::nullopt;
}

Status no_such_verb(const CommandWords& words) {
  std::string verbs;
  for (const Command* each : words.command().subcommands()) {
    verbs += (verbs.empty() ? "" : ", ") + each->name();
  }
  const std::string path = path_of(words);
  return words.unknown_verb.empty()
             ? said(protocol::ErrorCode::OptionMissing, path + " needs a verb: " + verbs + ".")
             : said(protocol::ErrorCode::CommandUnknown,
                    path + " has no verb '" + words.unknown_verb + "', but " + verbs + ".");
}

Status no_such_option(const CommandWords& words) {
  const std::string& name = words.unknown_option;
  std::string message = path_of(words) + " has no option " + name;
  const std::string nearest = nearest_option(words);
  if (belongs_to_verb(words.command(), name)) {
    message += "; it belongs to a verb: write it behind the verb.";
  } else if (!nearest.empty()) {
    message += "; the nearest is " + nearest + ".";
  } else {
    message += "; --help lists the options.";
  }
  return said(protocol::ErrorCode::OptionInvalid, std::move(message));
}

}  // namespace gcoord::cli
