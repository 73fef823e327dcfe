// Lines of the node's log, for people; printable, whoever's words are in them.
//
// The text is made in say.cc and goes to spdlog's default logger, which gcoordd sets up. spdlog's
// own functions would have every file that says something instantiate the formatter and the logger,
// which takes a compiler longer than the rest of most of them. Callable from any thread.
#pragma once

#include <fmt/core.h>

#include <cstdint>

namespace gcoord::server {

enum class LogLevel : std::uint8_t { Plain, Warning, Error };

void log_at(LogLevel level, fmt::string_view format, fmt::format_args arguments);

template <typename... Arguments>
void log_info(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  log_at(LogLevel::Plain, format, fmt::make_format_args(arguments...));
}

template <typename... Arguments>
void log_warning(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  log_at(LogLevel::Warning, format, fmt::make_format_args(arguments...));
}

template <typename... Arguments>
void log_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  log_at(LogLevel::Error, format, fmt::make_format_args(arguments...));
}

}  // namespace gcoord::server
