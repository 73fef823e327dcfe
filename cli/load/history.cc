#include "cli/load/history.h"

#include "common/json/text.h"
#include "common/json/value.h"
#include "protocol/error_codes.h"

#include <cerrno>
#include <cstring>

namespace gcoord::cli {

Result<std::unique_ptr<History>> History::open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                "--history " + path + ": " + std::strerror(errno));
  }
  return std::unique_ptr<History>(new History(file));
}

History::~History() {
  std::fclose(file_);
}

void History::write(const HistoryEntry& entry) {
  const Json json = {{"process", entry.process},
                     {"op", entry.op},
                     {"key", entry.key},
                     {"args", entry.args.empty() ? Json::object() : parse_json(entry.args)},
                     {"call", std::to_string(entry.call_ns)},
                     {"return", std::to_string(entry.return_ns)},
                     {"outcome", entry.outcome},
                     {"token", std::to_string(entry.token)}};
  const std::string line = json.dump() + "\n";
  const std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), file_);
}

const char* outcome_of(const client::Status& status) {
  switch (status.code()) {
    case client::StatusCode::Ok:
      return "ok";
    // The answer was lost or never came: it may have happened.
    case client::StatusCode::Unknown:
    case client::StatusCode::DeadlineExceeded:
    case client::StatusCode::Unavailable:
    case client::StatusCode::Cancelled:
    case client::StatusCode::Internal:
      return "unknown";
    default:
      return "fail";
  }
}

}  // namespace gcoord::cli
