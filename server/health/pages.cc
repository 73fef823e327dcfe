#include "server/health/pages.h"

#include <string>

namespace gcoord::server {
namespace {

HttpAnswer page(bool ok, const HealthReport& report, const HttpRequest& request) {
  HttpAnswer answer{.status = ok ? 200 : 503};
  if (request.has("verbose")) {
    answer.content_type = "application/json";
    answer.body = health_json(report).dump() + "\n";
    return answer;
  }
  if (ok) {
    answer.body = "ok\n";
    return answer;
  }
  for (const HealthCheck& check : report.checks) {
    if (!check.ok && check.required) {
      answer.body += check.name + ": " + check.detail + "\n";
    }
  }
  if (answer.body.empty()) {
    answer.body = "starting\n";
  }
  return answer;
}

}  // namespace

HttpAnswer livez_page(const HealthReport& report, const HttpRequest& request) {
  return page(report.live, report, request);
}

HttpAnswer readyz_page(const HealthReport& report, const HttpRequest& request) {
  return page(report.ready, report, request);
}

Json health_json(const HealthReport& report) {
  Json checks = Json::array();
  for (const HealthCheck& check : report.checks) {
    checks.push_back({{"name", check.name},
                      {"ok", check.ok},
                      {"required", check.required},
                      {"detail", check.detail}});
  }
  return {{"live", report.live}, {"ready", report.ready}, {"checks", checks}};
}

}  // namespace gcoord::server
