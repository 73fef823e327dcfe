#include "cli/terminal/check_flags.h"

#include <utility>

namespace gcoord::cli {

namespace {

// On the client's thread.
void tell(const std::string& check, std::uint32_t failures, const client::CheckReport& report) {
  if (report.failures_in_row > failures) {
    return;  // That it fails on is no news.
  }
  std::string line = check + ": ";
  if (report.passing) {
    line += "passes again";
  } else {
    line += report.evidence + " (" + std::to_string(report.failures_in_row) + " of " +
            std::to_string(failures) + ")";
    line += report.failures_in_row == failures ? "; the session is no longer kept alive" : "";
  }
  talk(line);
}

}  // namespace

void add_check_flags(Command& app, CheckFlags& flags) {
  app.add_option("--check",
                 flags.checks,
                 "end the session when this fails; tcp:HOST:PORT, http://HOST:PORT/PATH or "
                 "command:LINE; may be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("CHECK");
  app.add_option("--check-interval", flags.interval, "time between checks (default 10s)")
      ->type_name("TIME");
  app.add_option(
         "--check-timeout", flags.timeout, "a check that takes longer has failed (default 5s)")
      ->type_name("TIME");
  app.add_option("--check-failures",
                 flags.failures,
                 "failures in a row that make the session unhealthy (default 3)")
      ->in_range(1, 1000)
      ->type_name("N");
}

void add_check_close_flag(Command& app, CheckFlags& flags) {
  app.add_flag("--check-close",
               flags.close,
               "close the session when it is unhealthy, without lock-delay, instead of letting its "
               "TTL run out");
}

std::optional<client::SessionHealth> health_of(Context& context, const CheckFlags& flags) {
  const auto interval = context.duration("--check-interval", flags.interval);
  const auto timeout = context.duration("--check-timeout", flags.timeout);
  if (!interval.has_value() || !timeout.has_value()) {
    return std::nullopt;
  }
  client::SessionHealth health;
  for (const std::string& text : flags.checks) {
    auto check = client::parse_health_check(text);
    if (!check.ok()) {
      context.refuse(to_status(check.status()));
      return std::nullopt;
    }
    check.value().interval = *interval;
    check.value().timeout = *timeout;
    check.value().failures = flags.failures;
    health.checks.push_back(std::move(check).value());
  }
  health.on_unhealthy =
      flags.close ? client::UnhealthyAction::Close : client::UnhealthyAction::Starve;
  health.on_report = [checks = flags.checks,
                      failures = flags.failures](const client::CheckReport& report) {
    tell(checks[report.check], failures, report);
  };
  return health;
}

}  // namespace gcoord::cli
