// Views of a group as gcoordctl shows them: a table, an object, or a line.
//
// Pure functions; thread-safe.
#pragma once

#include "cli/terminal/output.h"
#include "common/json/value.h"
#include "gcoord/group.h"

#include <string>
#include <string_view>

namespace gcoord::cli {

Json view_json(std::string_view name, const client::GroupView& view);

Table view_table(std::string_view name, const client::GroupView& view);

// "epoch=7 members=2 0:a 1:b". What would control a terminal is escaped.
std::string view_line(const client::GroupView& view);

}  // namespace gcoord::cli
