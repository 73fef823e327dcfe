#include "consensus/scenario/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace gcoord::consensus::scenario {
namespace {

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

Result<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return invalid(fmt::format("'{}' is not a number", text));
  }
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

// "2" or "2*3".
Result<Voter> parse_voter(const std::string& text) {
  const std::vector<std::string> parts = split(text, '*');
  GCOORD_TRY(const std::uint64_t node, parse_number(parts.empty() ? text : parts[0]));
  if (parts.size() < 2) {
    return Voter{NodeId{static_cast<std::uint32_t>(node)}, 1};
  }
  GCOORD_TRY(const std::uint64_t weight, parse_number(parts[1]));
  return Voter{NodeId{static_cast<std::uint32_t>(node)}, static_cast<std::uint8_t>(weight)};
}

}  // namespace

Result<std::string> CommandLine::word(std::size_t place) const {
  if (place >= words.size()) {
    return invalid(fmt::format("{} wants at least {} words behind it", name, place + 1));
  }
  return words[place];
}

Result<std::uint64_t> CommandLine::number(std::size_t place) const {
  GCOORD_TRY(const std::string text, word(place));
  return parse_number(text);
}

Result<std::uint64_t> CommandLine::option(const std::string& option_name,
                                          std::uint64_t otherwise) const {
  const auto found = options.find(option_name);
  if (found == options.end()) {
    return otherwise;
  }
  return parse_number(found->second);
}

bool CommandLine::has_word(std::string_view wanted) const {
  return std::find(words.begin(), words.end(), wanted) != words.end();
}

Result<Members> CommandLine::members() const {
  Members members;
  const auto voters = options.find("voters");
  const auto learners = options.find("learners");
  for (const std::string& text :
       voters == options.end() ? std::vector<std::string>() : split(voters->second, ',')) {
    GCOORD_TRY(const Voter voter, parse_voter(text));
    members.voters.push_back(voter);
  }
  for (const std::string& text :
       learners == options.end() ? std::vector<std::string>() : split(learners->second, ',')) {
    GCOORD_TRY(const std::uint64_t node, parse_number(text));
    members.learners.emplace_back(static_cast<std::uint32_t>(node));
  }
  return members;
}

Result<CommandLine> parse_command(std::string_view line) {
  CommandLine command;
  std::istringstream stream{std::string(line)};
  if (!(stream >> command.name)) {
    return invalid("an empty line is no command");
  }
  for (std::string word; stream >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      command.words.push_back(word);
    } else {
      command.options[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return command;
}

}  // namespace gcoord::consensus::scenario
