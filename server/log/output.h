// The destination of a node's log lines: spdlog's default logger, which operator_log.h writes to.
//
// start_log once, before the node opens; the rest afterwards, from any thread. A file is opened to
// append, created with mode 0600, and opened anew on request, as rotation needs it: logrotate
// renames the file and sends SIGHUP.
#pragma once

#include "common/status.h"
#include "server/options/options.h"

namespace gcoord::server {

// By log_levels, log_format and log_file; its lines name the node. OptionInvalid (GC1001): the file
// cannot be opened; the default logger is as before then.
Status start_log(const NodeOptions& options);

// A file is opened again by its name; without one nothing happens. Fails like start_log, and then
// the lines go on into the file that was open.
Status reopen_log();

// Of lines from now on; their levels are set_log_levels() (server/log_levels/present.h).
void set_log_format(const NodeOptions& options);

// The same, and all lines from now on name this node, whatever options a later set_log_format has:
// a node that joined knows its number from its directory only.
void set_log_node(const NodeOptions& options);

// The newest lines, at most 1 MiB of them, as they were written elsewhere. Kept from start_log on.
std::string recent_log();

}  // namespace gcoord::server
