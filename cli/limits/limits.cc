#include "cli/limits/limits.h"

#include "cli/terminal/command.h"
#include "common/text/duration.h"
#include "common/text/utc_text.h"
#include "protocol/error_codes.h"
#include "security/limits/facts.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace gcoord::cli {

namespace {

using client::Denial;
using client::DenialScope;
using client::Limit;
using client::LimitsAction;
using client::LimitScope;
using client::LimitsReport;

std::string scope_name(LimitScope scope) {
  return std::string{security::limit_scope_name(static_cast<security::LimitScope>(scope))};
}

std::string scope_name(DenialScope scope) {
  return std::string{security::denial_scope_name(static_cast<security::DenialScope>(scope))};
}

void set_subject(const LimitSubjectFlags& flags, Limit& limit) {
  if (!flags.prefix.empty()) {
    limit.scope = LimitScope::Prefix;
    limit.name = flags.prefix;
  } else if (!flags.network.empty()) {
    limit.scope = LimitScope::Network;
    limit.name = flags.network;
  } else {
    limit.name = flags.principal;
  }
}

void set_subject(const LimitSubjectFlags& flags, Denial& denial) {
  if (!flags.serial.empty()) {
    denial.scope = DenialScope::Serial;
    denial.name = flags.serial;
  } else if (!flags.name.empty()) {
    denial.scope = DenialScope::CertificateName;
    denial.name = flags.name;
  } else if (!flags.network.empty()) {
    denial.scope = DenialScope::Network;
    denial.name = flags.network;
  } else {
    denial.name = flags.principal;
  }
}

Json state_json(const LimitsReport& report) {
  return {{"epoch", std::to_string(report.epoch)},
          {"limits", report.limit_count},
          {"denials", report.denial_count}};
}

Json json_of(const Limit& limit) {
  return {{"scope", scope_name(limit.scope)},
          {"name", limit.name},
          {"rate", limit.rate},
          {"burst", limit.burst},
          {"connections", limit.connections},
          {"sessions", limit.sessions},
          {"locks", limit.locks},
          {"waiters", limit.waiters},
          {"watches", limit.watches},
          {"bytes", std::to_string(limit.bytes)},
          {"session_ttl_ms_max", limit.session_ttl_ms_max}};
}

Json json_of(const Denial& denial) {
  return {{"scope", scope_name(denial.scope)},
          {"name", denial.name},
          {"until_ms", std::to_string(denial.until_ms)},
          {"until", utc_text(denial.until_ms)},
          {"reason", denial.reason}};
}

std::string number_text(std::uint64_t number) {
  return number == 0 ? "-" : std::to_string(number);
}

Table table_of(const std::vector<Limit>& limits) {
  Table table{{"SCOPE",
               "NAME",
               "RATE",
               "BURST",
               "CONNECTIONS",
               "SESSIONS",
               "LOCKS",
               "WAITERS",
               "WATCHES",
               "BYTES",
               "SESSION TTL MAX"},
              {},
              {},
              {}};
  for (const Limit& limit : limits) {
    table.rows.push_back(
        {scope_name(limit.scope),
         limit.name,
         number_text(limit.rate),
         number_text(limit.burst),
         number_text(limit.connections),
         number_text(limit.sessions),
         number_text(limit.locks),
         number_text(limit.waiters),
         number_text(limit.watches),
         number_text(limit.bytes),
         limit.session_ttl_ms_max == 0 ? "-" : std::to_string(limit.session_ttl_ms_max) + " ms"});
  }
  return table;
}

Table table_of(const std::vector<Denial>& denials) {
  Table table{{"SCOPE", "NAME", "UNTIL", "REASON"}, {}, {}, {}};
  for (const Denial& denial : denials) {
    table.rows.push_back(
        {scope_name(denial.scope), denial.name, utc_text(denial.until_ms), denial.reason});
  }
  return table;
}

// All pages; nothing, and the error is printed, where the cluster did not answer.
std::optional<LimitsReport> ask(Context& context, bool denials) {
  auto client = context.connect();
  if (!client) {
    return std::nullopt;
  }
  LimitsReport whole;
  client::LimitsQuery query;
  query.denials = denials;
  do {
    auto page = client->limits(query);
    if (!page.ok()) {
      context.refuse(*client, page.status());
      return std::nullopt;
    }
    const LimitsReport& said = page.value();
    whole.epoch = said.epoch;
    whole.more = said.more && !(denials ? said.denials.empty() : said.limits.empty());
    whole.limits.insert(whole.limits.end(), said.limits.begin(), said.limits.end());
    whole.denials.insert(whole.denials.end(), said.denials.begin(), said.denials.end());
    if (whole.more) {
      query.after_scope =
          static_cast<std::uint8_t>(denials ? static_cast<unsigned>(whole.denials.back().scope)
                                            : static_cast<unsigned>(whole.limits.back().scope));
      query.after_name = denials ? whole.denials.back().name : whole.limits.back().name;
    }
  } while (whole.more);
  return whole;
}

template <typename Rows>
Json list_json(const LimitsReport& report, const char* name, const Rows& rows) {
  Json json = {{"epoch", std::to_string(report.epoch)}, {name, Json::array()}};
  for (const auto& row : rows) {
    json[name].push_back(json_of(row));
  }
  return json;
}

}  // namespace

int list_limits(Context& context, const LimitListFlags& flags) {
  const auto report = ask(context, flags.denials);
  if (!report) {
    return context.exit_code();
  }
  if (flags.denials) {
    context.output().print(list_json(*report, "denials", report->denials),
                           table_of(report->denials));
  } else {
    context.output().print(list_json(*report, "limits", report->limits), table_of(report->limits));
  }
  return 0;
}

namespace {

// As nodes take it (security/limits): far longer than any other time of a verb.
constexpr std::uint64_t kDenialMsMax = std::uint64_t{30} * 24 * 60 * 60 * 1000;

// 0 where nothing is said. Nothing: the error has been printed.
std::optional<std::uint64_t> denial_ms(Context& context, const std::string& text) {
  const auto ms = text.empty() ? std::optional<std::uint64_t>{0} : parse_milliseconds(text);
  if (ms && *ms <= kDenialMsMax) {
    return ms;
  }
  context.refuse(protocol::make_error(
      protocol::ErrorCode::OptionInvalid,
      "--for '" + text + "' is not a time up to 30 days; write 90s, 1h30m, 48h or 30d"));
  return std::nullopt;
}

// 0 where nothing is said. Nothing: the error has been printed.
std::optional<std::uint32_t> session_ttl_ms(Context& context, const std::string& text) {
  const auto ms = text.empty() ? std::optional<std::uint64_t>{0} : parse_milliseconds(text);
  const bool fits =
      ms &&
      (text.empty() || (*ms >= security::kSessionTtlMsMin && *ms <= security::kSessionTtlMsMax));
  if (fits) {
    return static_cast<std::uint32_t>(*ms);
  }
  context.refuse(protocol::make_error(
      protocol::ErrorCode::OptionInvalid,
      "--session-ttl-max '" + text + "' is not a time from 100ms to 24h; write 30s or 5m"));
  return std::nullopt;
}

}  // namespace

int change_limits(Context& context, const LimitFlags& flags) {
  client::LimitsChange change;
  change.action = flags.action;
  change.limit = flags.limit;
  change.denial.reason = flags.reason;
  set_subject(flags.subject, change.limit);
  set_subject(flags.subject, change.denial);
  if (change.limit.rate != 0 && change.limit.burst == 0) {
    change.limit.burst = change.limit.rate;  // What comes in within a second.
  }
  const auto duration_ms = denial_ms(context, flags.duration);
  if (!duration_ms) {
    return context.exit_code();
  }
  const auto ttl_ms = session_ttl_ms(context, flags.session_ttl_max);
  if (!ttl_ms) {
    return context.exit_code();
  }
  change.duration_ms = *duration_ms;
  change.limit.session_ttl_ms_max = *ttl_ms;
  flags.change.fill(change);
  auto client = context.connect();
  if (!client) {
    return context.exit_code();
  }
  return ChangeEnd{context, *client, flags.change}.print(client->change_limits(change),
                                                         &state_json);
}

}  // namespace gcoord::cli
