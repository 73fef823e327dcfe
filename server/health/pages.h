// /livez and /readyz of a node, and its health as JSON.
//
//   /livez            200 "ok", or 503 with why the process is to be started anew
//   /readyz           200 "ok", or 503 with the required checks that fail, one a line
//   ?verbose          the same status with the JSON of health_json() as the body
//
// docs/reference/http_endpoints.md promises these. Thread-safe.
#pragma once

#include "common/json/value.h"
#include "server/health/board.h"
#include "server/http/message.h"

namespace gcoord::server {

HttpAnswer livez_page(const HealthReport& report, const HttpRequest& request);
HttpAnswer readyz_page(const HealthReport& report, const HttpRequest& request);

// {"live": bool, "ready": bool, "checks": [{"name", "ok", "required", "detail"}]}
Json health_json(const HealthReport& report);

}  // namespace gcoord::server
