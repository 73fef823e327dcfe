#include "server/platform/operator_log.h"

#include <spdlog/spdlog.h>

namespace gcoord::server {

namespace {

spdlog::level::level_enum level_of(SayLevel level) {
  switch (level) {
    case SayLevel::Plain:
      return spdlog::level::info;
    case SayLevel::Warning:
      return spdlog::level::warn;
    case SayLevel::Error:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void say_at(SayLevel level, fmt::string_view format, fmt::format_args arguments) {
  spdlog::logger* logger = spdlog::default_logger_raw();
  if (logger->should_log(level_of(level))) {
    logger->log(level_of(level), fmt::vformat(format, arguments));
  }
}

}  // namespace gcoord::server
