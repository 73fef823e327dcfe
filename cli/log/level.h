// Rows of gcoordctl log level: what each node answered, and the first failure.
//
// A node sends JSON (protocol/logs/level_messages.h); what is not an object of levels is a failure
// of that node. One thread.
#pragma once

#include "cli/terminal/output.h"
#include "common/json/value.h"
#include "gcoord/status.h"

#include <cstdint>
#include <string>

namespace gcoord::cli {

// "info,peers=debug" of {"peers":"debug",...}: the most frequent level, then what differs.
std::string levels_text(const Json& levels);

struct LevelRows {
  Json json = Json::array();
  Table table{{"NODE", "LEVELS", "ERROR"}, {}, {}, {}};
  client::Status failure;

  void add(std::uint32_t node, const client::Result<std::string>& answer);
};

}  // namespace gcoord::cli
