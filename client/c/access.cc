// Users and roles, and who a client is, for C.
#include "gcoord/access.h"

#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_access.h"
#include "security/credentials/password.h"

#include <deque>
#include <utility>

using namespace gcoord::client;

using gcoord::protocol::ErrorCode;

static_assert(GCOORD_ACCESS_USER_ADD == static_cast<int>(AccessAction::UserAdd));
static_assert(GCOORD_ACCESS_USER_DELETE == static_cast<int>(AccessAction::UserDelete));
static_assert(GCOORD_ACCESS_USER_PASSWORD == static_cast<int>(AccessAction::UserPassword));
static_assert(GCOORD_ACCESS_USER_GRANT == static_cast<int>(AccessAction::UserGrant));
static_assert(GCOORD_ACCESS_USER_REVOKE == static_cast<int>(AccessAction::UserRevoke));
static_assert(GCOORD_ACCESS_USER_ENABLE == static_cast<int>(AccessAction::UserEnable));
static_assert(GCOORD_ACCESS_USER_DISABLE == static_cast<int>(AccessAction::UserDisable));
static_assert(GCOORD_ACCESS_ROLE_ADD == static_cast<int>(AccessAction::RoleAdd));
static_assert(GCOORD_ACCESS_ROLE_DELETE == static_cast<int>(AccessAction::RoleDelete));
static_assert(GCOORD_ACCESS_ROLE_GRANT == static_cast<int>(AccessAction::RoleGrant));
static_assert(GCOORD_ACCESS_ROLE_REVOKE == static_cast<int>(AccessAction::RoleRevoke));
static_assert(GCOORD_ACCESS_ENABLE == static_cast<int>(AccessAction::Enable));
static_assert(GCOORD_ACCESS_DISABLE == static_cast<int>(AccessAction::Disable));
static_assert(GCOORD_ACCESS_STATUS == static_cast<int>(AccessSubject::Status));
static_assert(GCOORD_ACCESS_USERS == static_cast<int>(AccessSubject::Users));
static_assert(GCOORD_ACCESS_ROLES == static_cast<int>(AccessSubject::Roles));

// What came, and the arrays by which C sees it. It never moves, because they point into it.
struct gcoord_access_report {
  explicit gcoord_access_report(AccessReport came) : report(std::move(came)) {
    for (const AccessUser& user : report.users) {
      const auto& held = list_of(user.roles);
      users.push_back({.name = user.name.c_str(),
                       .has_password = user.has_password,
                       .disabled = user.disabled,
                       .roles = held.data(),
                       .role_count = held.size(),
                       .changed = user.changed});
    }
    for (const AccessRole& role : report.roles) {
      const auto& granted = grants_of(role.grants);
      const auto& includes = list_of(role.includes);
      roles.push_back({.name = role.name.c_str(),
                       .grants = granted.data(),
                       .grant_count = granted.size(),
                       .includes = includes.data(),
                       .include_count = includes.size()});
    }
  }

  gcoord_access_report(const gcoord_access_report&) = delete;
  gcoord_access_report& operator=(const gcoord_access_report&) = delete;

  const std::vector<const char*>& list_of(const std::vector<std::string>& texts) {
    std::vector<const char*>& list = lists.emplace_back();
    for (const std::string& text : texts) {
      list.push_back(text.c_str());
    }
    return list;
  }

  const std::vector<gcoord_access_grant>& grants_of(const std::vector<AccessGrant>& given) {
    std::vector<gcoord_access_grant>& made = grants.emplace_back();
    for (const AccessGrant& grant : given) {
      const auto& rights = list_of(grant.rights);
      made.push_back({.rights = rights.data(),
                      .right_count = rights.size(),
                      .prefix = grant.prefix.c_str(),
                      .exact = grant.exact});
    }
    return made;
  }

  const AccessReport report;
  std::deque<std::vector<const char*>> lists;  // Whose elements stay where they are.
  std::deque<std::vector<gcoord_access_grant>> grants;
  std::vector<gcoord_access_user> users;
  std::vector<gcoord_access_role> roles;
};

struct gcoord_identity {
  Identity identity;

  ~gcoord_identity() { gcoord::security::wipe(identity.token); }
};

namespace {

// GC1002 where the list, or one of its texts, is missing.
Result<std::vector<std::string>> texts_of(const char* const* texts, std::size_t count) {
  const Status given = count == 0 ? Status{} : names_given(texts, count);
  return given.ok() ? Result<std::vector<std::string>>{{texts, texts + count}}
                    : Result<std::vector<std::string>>{given};
}

Result<AccessGrant> grant_of(const gcoord_access_grant& given) {
  GCOORD_TRY(auto rights, texts_of(given.rights, given.right_count));
  return AccessGrant{
      .rights = std::move(rights), .prefix = text_given(given.prefix), .exact = given.exact};
}

Status take_change(const gcoord_access_change& given, AccessChange& change) {
  GCOORD_TRY_STATUS(initialised(given));
  if (given.action < GCOORD_ACCESS_USER_ADD || given.action > GCOORD_ACCESS_DISABLE) {
    return failure(ErrorCode::OptionInvalid, "the action");
  }
  if (given.grants == nullptr && given.grant_count != 0) {
    return failure(ErrorCode::OptionMissing, "grants");
  }
  GCOORD_TRY(change.roles, texts_of(given.roles, given.role_count));
  for (std::size_t index = 0; index < given.grant_count; ++index) {
    GCOORD_TRY(auto grant, grant_of(given.grants[index]));
    change.grants.push_back(std::move(grant));
  }
  change.action = static_cast<AccessAction>(given.action);
  change.name = text_given(given.name);
  change.password = text_given(given.password);
  change.epoch = given.epoch;
  change.dry_run = given.dry_run;
  change.who = text_given(given.who);
  return {};
}

// A change whose password is wiped after the call.
struct TakenChange {
  AccessChange change;

  ~TakenChange() {
    change.password.resize(change.password.capacity());
    gcoord::security::wipe(change.password);
  }
};

Result<AccessQuery> query_of(const gcoord_access_query& given) {
  GCOORD_TRY_STATUS(initialised(given));
  if (given.subject < GCOORD_ACCESS_STATUS || given.subject > GCOORD_ACCESS_ROLES) {
    return failure(ErrorCode::OptionInvalid, "the subject");
  }
  return AccessQuery{.subject = static_cast<AccessSubject>(given.subject),
                     .name = text_given(given.name),
                     .after = text_given(given.after),
                     .limit = given.limit,
                     .node_id = given.node_id};
}

}  // namespace

void gcoord_access_change_init(gcoord_access_change* change) {
  if (begin_options(change)) {
    change->action = GCOORD_ACCESS_USER_ADD;
  }
}

void gcoord_access_query_init(gcoord_access_query* query) {
  if (begin_options(query)) {
    query->limit = AccessQuery{}.limit;
  }
}

gcoord_status gcoord_access(gcoord_client* client,
                            const gcoord_access_query* query,
                            gcoord_access_report** report,
                            gcoord_error* error) {
  return border(error, {{client, "client"}, {query, "query"}, {report, "report"}}, [&]() -> Status {
    GCOORD_TRY(const auto wanted, query_of(*query));
    return give(client->client.access(wanted), report);
  });
}

gcoord_status gcoord_change_access(gcoord_client* client,
                                   const gcoord_access_change* change,
                                   gcoord_access_report** report,
                                   gcoord_error* error) {
  return border(error, {{client, "client"}, {change, "change"}}, [&]() -> Status {
    TakenChange taken;
    GCOORD_TRY_STATUS(take_change(*change, taken.change));
    auto changed = client->client.change_access(taken.change);
    return report != nullptr ? give(std::move(changed), report) : changed.status();
  });
}

gcoord_status gcoord_access_async(gcoord_client* client,
                                  const gcoord_access_query* query,
                                  gcoord_access_callback callback,
                                  void* user,
                                  gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {query, "query"}},
      callback,
      error,
      [&]() -> Result<Future<Result<AccessReport>>> {
        GCOORD_TRY(const auto wanted, query_of(*query));
        return client->client.access_async(wanted);
      },
      giving_to<gcoord_access_report, AccessReport>(callback, user));
}

gcoord_status gcoord_change_access_async(gcoord_client* client,
                                         const gcoord_access_change* change,
                                         gcoord_access_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {change, "change"}},
      callback,
      error,
      [&]() -> Result<Future<Result<AccessReport>>> {
        TakenChange taken;
        GCOORD_TRY_STATUS(take_change(*change, taken.change));
        return client->client.change_access_async(taken.change);
      },
      giving_to<gcoord_access_report, AccessReport>(callback, user));
}

void gcoord_access_report_free(gcoord_access_report* report) {
  delete report;
}

gcoord_access_facts gcoord_access_report_facts(const gcoord_access_report* report) {
  if (report == nullptr) {
    return {};
  }
  return {.epoch = report->report.epoch,
          .enabled = report->report.enabled,
          .recoveries = report->report.recoveries,
          .user_count = report->report.user_count,
          .role_count = report->report.role_count,
          .more = report->report.more};
}

size_t gcoord_access_report_users(const gcoord_access_report* report) {
  return report != nullptr ? report->users.size() : 0;
}

gcoord_access_user gcoord_access_report_user(const gcoord_access_report* report, size_t index) {
  return index < gcoord_access_report_users(report) ? report->users[index] : gcoord_access_user{};
}

size_t gcoord_access_report_roles(const gcoord_access_report* report) {
  return report != nullptr ? report->roles.size() : 0;
}

gcoord_access_role gcoord_access_report_role(const gcoord_access_report* report, size_t index) {
  return index < gcoord_access_report_roles(report) ? report->roles[index] : gcoord_access_role{};
}

gcoord_status gcoord_client_identity(gcoord_client* client,
                                     gcoord_identity** identity,
                                     gcoord_error* error) {
  return border(error, {{client, "client"}, {identity, "identity"}}, [&]() -> Status {
    *identity = new gcoord_identity{client->client.identity()};
    return {};
  });
}

void gcoord_identity_free(gcoord_identity* identity) {
  delete identity;
}

const char* gcoord_identity_kind(const gcoord_identity* identity) {
  return identity != nullptr ? identity->identity.kind.c_str() : "";
}

const char* gcoord_identity_name(const gcoord_identity* identity) {
  return identity != nullptr ? identity->identity.name.c_str() : "";
}

const char* gcoord_identity_token(const gcoord_identity* identity) {
  return identity != nullptr ? identity->identity.token.c_str() : "";
}

int64_t gcoord_identity_token_left_ms(const gcoord_identity* identity) {
  return identity != nullptr ? std::chrono::milliseconds{identity->identity.token_left}.count() : 0;
}
