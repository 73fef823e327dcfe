#include "server/platform/operator_log.h"

#include "common/text/printable.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include <string>
#include <string_view>

namespace gcoord::server {

namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Plain:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
    case LogLevel::Off:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void log_at(LogOrigin origin, fmt::string_view format, fmt::format_args arguments) {
  const std::string text = shown(fmt::vformat(format, arguments));
  const std::string_view name = log_component_name(origin.component);
  const spdlog::details::log_msg line({name.data(), name.size()}, level_of(origin.level), text);
  for (const spdlog::sink_ptr& sink : spdlog::default_logger_raw()->sinks()) {
    sink->log(line);
    sink->flush();
  }
}

}  // namespace gcoord::server
