#include "consensus/scenario/script.h"

#include "consensus/scenario/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace gcoord::consensus::scenario {
namespace {

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

// nullptr when there is none of this name.
const CommandRow* find_command(std::string_view name) {
  for (const auto rows :
       {life_commands(), link_commands(), replica_commands(), report_commands()}) {
    const auto found = std::ranges::find(rows, name, &CommandRow::name);
    if (found != rows.end()) {
      return &*found;
    }
  }
  return nullptr;
}

}  // namespace

Status Script::run(std::string_view text) {
  constexpr std::string_view kQuiet = "quiet ";  // The command's trace is of no interest.
  if (text.substr(0, kQuiet.size()) == kQuiet) {
    GCOORD_TRY_STATUS(run(text.substr(kQuiet.size())));
    scene_.cluster().trace().take();
    return {};
  }
  constexpr std::string_view kRepeat = "repeat ";
  if (text.substr(0, kRepeat.size()) == kRepeat) {
    return repeat(text.substr(kRepeat.size()));
  }
  GCOORD_TRY(const CommandLine line, parse_command(text));
  const CommandRow* const command = find_command(line.name);
  if (command == nullptr) {
    return invalid(fmt::format("there is no command '{}'", line.name));
  }
  if (!scene_.built() && line.name != "cluster") {
    return invalid("the first command is `cluster`");
  }
  GCOORD_TRY_STATUS(command->run(scene_, line));
  scene_.cluster().settle();
  return {};
}

// "12 stop 1; start 1": the commands behind the number, so many times.
Status Script::repeat(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::uint32_t times = 0;
  std::string commands;
  if (!(stream >> times) || !std::getline(stream, commands)) {
    return invalid("repeat wants a number and commands, with semicolons between them");
  }
  for (std::uint32_t k = 0; k < times; ++k) {
    std::istringstream list(commands);
    for (std::string command; std::getline(list, command, ';');) {
      const std::size_t start = command.find_first_not_of(' ');
      GCOORD_TRY_STATUS(run(start == std::string::npos ? command : command.substr(start)));
    }
  }
  return {};
}

}  // namespace gcoord::consensus::scenario
