// Limits of clients, and who is denied the cluster, for C.
#include "gcoord/limits.h"

#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_limits.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

using namespace gcoord::client;

using gcoord::protocol::ErrorCode;

static_assert(GCOORD_LIMIT_PRINCIPAL == static_cast<int>(LimitScope::Principal));
static_assert(GCOORD_LIMIT_PREFIX == static_cast<int>(LimitScope::Prefix));
static_assert(GCOORD_LIMIT_NETWORK == static_cast<int>(LimitScope::Network));
static_assert(GCOORD_DENIAL_PRINCIPAL == static_cast<int>(DenialScope::Principal));
static_assert(GCOORD_DENIAL_SERIAL == static_cast<int>(DenialScope::Serial));
static_assert(GCOORD_DENIAL_CERTIFICATE_NAME == static_cast<int>(DenialScope::CertificateName));
static_assert(GCOORD_DENIAL_NETWORK == static_cast<int>(DenialScope::Network));
static_assert(GCOORD_LIMITS_SET == static_cast<int>(LimitsAction::Set));
static_assert(GCOORD_LIMITS_REMOVE == static_cast<int>(LimitsAction::Remove));
static_assert(GCOORD_LIMITS_DENY == static_cast<int>(LimitsAction::Deny));
static_assert(GCOORD_LIMITS_ALLOW == static_cast<int>(LimitsAction::Allow));

struct gcoord_limits_report {
  LimitsReport report;
};

namespace {

bool is_byte(std::int32_t number) {
  return number >= 0 && number <= std::numeric_limits<std::uint8_t>::max();
}

// Of the first version.
constexpr std::size_t kFirstBytes = offsetof(gcoord_limits_change, session_ttl_ms_max);

gcoord_limits_change default_change() {
  gcoord_limits_change change{};
  change.struct_bytes = sizeof change;
  change.action = GCOORD_LIMITS_SET;
  change.limit.scope = GCOORD_LIMIT_PRINCIPAL;
  change.denial.scope = GCOORD_DENIAL_PRINCIPAL;
  return change;
}

Result<LimitsChange> change_of(const gcoord_limits_change& as_given) {
  GCOORD_TRY(const auto given, whole(as_given, default_change(), kFirstBytes));
  if (given.action < GCOORD_LIMITS_SET || given.action > GCOORD_LIMITS_ALLOW) {
    return failure(ErrorCode::OptionInvalid, "the action");
  }
  if (!is_byte(given.limit.scope) || !is_byte(given.denial.scope)) {
    return failure(ErrorCode::OptionInvalid, "the scope");
  }
  return LimitsChange{.action = static_cast<LimitsAction>(given.action),
                      .limit = {.scope = static_cast<LimitScope>(given.limit.scope),
                                .name = text_given(given.limit.name),
                                .rate = given.limit.rate,
                                .burst = given.limit.burst,
                                .connections = given.limit.connections,
                                .sessions = given.limit.sessions,
                                .locks = given.limit.locks,
                                .waiters = given.limit.waiters,
                                .watches = given.limit.watches,
                                .bytes = given.limit.bytes,
                                .session_ttl_ms_max = given.session_ttl_ms_max},
                      .denial = {.scope = static_cast<DenialScope>(given.denial.scope),
                                 .name = text_given(given.denial.name),
                                 .reason = text_given(given.denial.reason)},
                      .duration_ms = given.duration_ms,
                      .epoch = given.epoch,
                      .dry_run = given.dry_run,
                      .who = text_given(given.who)};
}

Result<LimitsQuery> query_of(const gcoord_limits_query& given) {
  GCOORD_TRY_STATUS(initialised(given));
  if (!is_byte(given.after_scope)) {
    return failure(ErrorCode::OptionInvalid, "after_scope");
  }
  return LimitsQuery{.denials = given.denials,
                     .after_scope = static_cast<std::uint8_t>(given.after_scope),
                     .after_name = text_given(given.after_name),
                     .node_id = given.node_id};
}

}  // namespace

void(gcoord_limits_change_init)(gcoord_limits_change* change) {
  fill_options(change, default_change(), kFirstBytes);
}

void gcoord_limits_change_init_as(gcoord_limits_change* change, size_t struct_bytes) {
  fill_options(change, default_change(), struct_bytes);
}

void gcoord_limits_query_init(gcoord_limits_query* query) {
  begin_options(query);
}

gcoord_status gcoord_limits(gcoord_client* client,
                            const gcoord_limits_query* query,
                            gcoord_limits_report** report,
                            gcoord_error* error) {
  return border(error, {{client, "client"}, {query, "query"}, {report, "report"}}, [&]() -> Status {
    GCOORD_TRY(const auto wanted, query_of(*query));
    return give(client->client.limits(wanted), report);
  });
}

gcoord_status gcoord_change_limits(gcoord_client* client,
                                   const gcoord_limits_change* change,
                                   gcoord_limits_report** report,
                                   gcoord_error* error) {
  return border(error, {{client, "client"}, {change, "change"}}, [&]() -> Status {
    GCOORD_TRY(const auto wanted, change_of(*change));
    auto changed = client->client.change_limits(wanted);
    return report != nullptr ? give(std::move(changed), report) : changed.status();
  });
}

gcoord_status gcoord_limits_async(gcoord_client* client,
                                  const gcoord_limits_query* query,
                                  gcoord_limits_callback callback,
                                  void* user,
                                  gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {query, "query"}},
      callback,
      error,
      [&]() -> Result<Future<Result<LimitsReport>>> {
        GCOORD_TRY(const auto wanted, query_of(*query));
        return client->client.limits_async(wanted);
      },
      giving_to<gcoord_limits_report, LimitsReport>(callback, user));
}

gcoord_status gcoord_change_limits_async(gcoord_client* client,
                                         const gcoord_limits_change* change,
                                         gcoord_limits_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {change, "change"}},
      callback,
      error,
      [&]() -> Result<Future<Result<LimitsReport>>> {
        GCOORD_TRY(const auto wanted, change_of(*change));
        return client->client.change_limits_async(wanted);
      },
      giving_to<gcoord_limits_report, LimitsReport>(callback, user));
}

void gcoord_limits_report_free(gcoord_limits_report* report) {
  delete report;
}

gcoord_limits_facts gcoord_limits_report_facts(const gcoord_limits_report* report) {
  if (report == nullptr) {
    return {};
  }
  return {.epoch = report->report.epoch,
          .limit_count = report->report.limit_count,
          .denial_count = report->report.denial_count,
          .more = report->report.more};
}

size_t gcoord_limits_report_limits(const gcoord_limits_report* report) {
  return report != nullptr ? report->report.limits.size() : 0;
}

gcoord_limit gcoord_limits_report_limit(const gcoord_limits_report* report, size_t index) {
  if (index >= gcoord_limits_report_limits(report)) {
    return {};
  }
  const Limit& limit = report->report.limits[index];
  return {.scope = static_cast<std::int32_t>(limit.scope),
          .name = limit.name.c_str(),
          .rate = limit.rate,
          .burst = limit.burst,
          .connections = limit.connections,
          .sessions = limit.sessions,
          .locks = limit.locks,
          .waiters = limit.waiters,
          .watches = limit.watches,
          .bytes = limit.bytes};
}

uint32_t gcoord_limits_report_session_ttl_ms_max(const gcoord_limits_report* report, size_t index) {
  return index < gcoord_limits_report_limits(report)
             ? report->report.limits[index].session_ttl_ms_max
             : 0;
}

size_t gcoord_limits_report_denials(const gcoord_limits_report* report) {
  return report != nullptr ? report->report.denials.size() : 0;
}

gcoord_denial gcoord_limits_report_denial(const gcoord_limits_report* report, size_t index) {
  if (index >= gcoord_limits_report_denials(report)) {
    return {};
  }
  const Denial& denial = report->report.denials[index];
  return {.scope = static_cast<std::int32_t>(denial.scope),
          .name = denial.name.c_str(),
          .until_ms = denial.until_ms,
          .reason = denial.reason.c_str()};
}
