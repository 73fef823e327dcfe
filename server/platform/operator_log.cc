#include "server/platform/operator_log.h"

#include "common/text/printable.h"

#include <spdlog/spdlog.h>

namespace gcoord::server {

namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::Plain:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void log_at(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  spdlog::logger* logger = spdlog::default_logger_raw();
  if (logger->should_log(level_of(level))) {
    logger->log(level_of(level), shown(fmt::vformat(format, arguments)));
  }
}

}  // namespace gcoord::server
