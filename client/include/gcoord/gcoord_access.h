// Users and roles of a cluster, and who a client is, for C; under the rules of gcoord/gcoord.h.
//
// gcoord/access.h has what users, roles and rights are. All of it is replicated state:
// gcoord_access reads it, gcoord_change_access changes it in one entry of the ledger, each change
// raising the epoch by one. The forms with _async follow gcoord/gcoord_async.h. Functions that only
// read a handle ask no node, and return zeros for NULL and for an index beyond the end; text and
// lists live as long as the handle.
//
// A user with a role:
//
//  const char* roles[] = {"operators"};
//  gcoord_access_change change;
//  gcoord_access_change_init(&change);
//  change.action = GCOORD_ACCESS_USER_ADD;
//  change.name = "ann";
//  change.password = password;
//  change.roles = roles;
//  change.role_count = 1;
//  gcoord_change_access(client, &change, NULL, &error);
//
// Everybody who may do something:
//
//  gcoord_access_query query;
//  gcoord_access_query_init(&query);
//  query.subject = GCOORD_ACCESS_USERS;
//  gcoord_access(client, &query, &report, &error);
//  for (size_t i = 0; i < gcoord_access_report_users(report); ++i) {
//    show(gcoord_access_report_user(report, i).name);
//  }
//  gcoord_access_report_free(report);
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- users and roles ----

// Kinds of changes; beside each the fields that it takes, after `name`. Never renumber.
enum {
  GCOORD_ACCESS_USER_ADD = 1,       // password, or none for a user with a certificate; roles.
  GCOORD_ACCESS_USER_DELETE = 2,    // None.
  GCOORD_ACCESS_USER_PASSWORD = 3,  // password; none: no password is right any more.
  GCOORD_ACCESS_USER_GRANT = 4,     // roles.
  GCOORD_ACCESS_USER_REVOKE = 5,    // roles.
  GCOORD_ACCESS_USER_ENABLE = 6,    // None.
  GCOORD_ACCESS_USER_DISABLE = 7,   // None.
  GCOORD_ACCESS_ROLE_ADD = 8,       // roles that it includes, and grants.
  GCOORD_ACCESS_ROLE_DELETE = 9,    // None. Users and roles that have it lose it.
  GCOORD_ACCESS_ROLE_GRANT = 10,    // roles to include, and grants.
  GCOORD_ACCESS_ROLE_REVOKE = 11,   // roles and grants to take away.
  GCOORD_ACCESS_ENABLE = 12,        // Not even a name: check rights from now on.
  GCOORD_ACCESS_DISABLE = 13        // Not even a name.
};

// Subjects of queries. Never renumber.
enum {
  GCOORD_ACCESS_STATUS = 0,  // No rows.
  GCOORD_ACCESS_USERS = 1,
  GCOORD_ACCESS_ROLES = 2
};

// Rights on names.
typedef struct gcoord_access_grant {
  // Names of rights as "lock.acquire", or in a change words for several: "read", "details",
  // "write", "admin".
  const char* const* rights;
  size_t right_count;
  const char* prefix;  // NULL or "": all names, and what has no name.
  bool exact;          // That name alone.
} gcoord_access_grant;

// A change. To be filled by gcoord_access_change_init, then changed; it is copied by the call. What
// an action does not take stays NULL or 0.
typedef struct gcoord_access_change {
  size_t struct_bytes;   // Set by init: what the caller was compiled with.
  int32_t action;        // GCOORD_ACCESS_USER_ADD and its neighbours.
  const char* name;      // Of the user or the role.
  const char* password;  // A secret; the caller may wipe it as soon as the function returns.
  const char* const* roles;
  size_t role_count;
  const gcoord_access_grant* grants;
  size_t grant_count;
  uint64_t epoch;   // Change this epoch only; 0: whichever is the newest.
  bool dry_run;     // Judge it, and change nothing.
  const char* who;  // For the ledger, where the connection proves nobody.
} gcoord_access_change;

// A query. To be filled by gcoord_access_query_init, then changed.
typedef struct gcoord_access_query {
  size_t struct_bytes;
  int32_t subject;    // GCOORD_ACCESS_STATUS and its neighbours.
  const char* name;   // That one only; NULL: all,
  const char* after;  // with greater names than this,
  uint32_t limit;     // at most so many, 1 to 1000.
  // Read what this node has applied, which may be older; 0: what the leader has.
  uint32_t node_id;
} gcoord_access_query;

// The result of a call.
typedef struct gcoord_access_report gcoord_access_report;

typedef struct gcoord_access_facts {
  uint64_t epoch;       // 0: there are neither users nor roles, and never were.
  bool enabled;         // Rights are checked.
  uint64_t recoveries;  // How often gcoordd --auth-recover switched rights off.
  uint32_t user_count;
  uint32_t role_count;  // Without root.
  bool more;            // Rows behind the last one were left out.
} gcoord_access_facts;

typedef struct gcoord_access_user {
  const char* name;
  bool has_password;
  bool disabled;
  const char* const* roles;
  size_t role_count;
  uint64_t changed;  // Epoch of its last password, or of being enabled or disabled.
} gcoord_access_user;

typedef struct gcoord_access_role {
  const char* name;
  const gcoord_access_grant* grants;
  size_t grant_count;
  const char* const* includes;
  size_t include_count;
} gcoord_access_role;

// Fills a change: adding a user without a name. NULL is ignored.
GCOORD_API void gcoord_access_change_init(gcoord_access_change* change);

// Fills a query: the status, up to 1000 rows, from the leader. NULL is ignored.
GCOORD_API void gcoord_access_query_init(gcoord_access_query* query);

// Reads users, roles, or whether rights are checked, and makes *report, which the caller frees.
// GC6501 and GC6503 for a name that nobody has, GC6517 by nodes with --turn resident, GC4005 by
// nodes of releases without users and roles.
GCOORD_API gcoord_status gcoord_access(gcoord_client* client,
                                       const gcoord_access_query* query,
                                       gcoord_access_report** report,
                                       gcoord_error* error);

// Changes them, in one entry of the ledger. `report` may be NULL, or gets their state without rows.
// A repetition by the library is one change. GC6501 to GC6515 say what does not allow it, GC6512
// that the epoch is another than change->epoch, GC6516 that this connection proves no
// administrator, GC6518 that a node is of a release without users and roles: nothing is changed
// then.
GCOORD_API gcoord_status gcoord_change_access(gcoord_client* client,
                                              const gcoord_access_change* change,
                                              gcoord_access_report** report,
                                              gcoord_error* error);

// Receives the outcome of the calls without waiting: on success `report`, which the callee frees
// with gcoord_access_report_free; on failure NULL, and `error`, which lives during the callback.
typedef void (*gcoord_access_callback)(void* user,
                                       gcoord_access_report* report,
                                       const gcoord_error* error);

GCOORD_API gcoord_status gcoord_access_async(gcoord_client* client,
                                             const gcoord_access_query* query,
                                             gcoord_access_callback callback,
                                             void* user,
                                             gcoord_error* error);
GCOORD_API gcoord_status gcoord_change_access_async(gcoord_client* client,
                                                    const gcoord_access_change* change,
                                                    gcoord_access_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// Frees the report. NULL is allowed.
GCOORD_API void gcoord_access_report_free(gcoord_access_report* report);

// Whether rights are checked, and how much there is.
GCOORD_API gcoord_access_facts gcoord_access_report_facts(const gcoord_access_report* report);

// The rows, in the order of their names.
GCOORD_API size_t gcoord_access_report_users(const gcoord_access_report* report);
GCOORD_API gcoord_access_user gcoord_access_report_user(const gcoord_access_report* report,
                                                        size_t index);
GCOORD_API size_t gcoord_access_report_roles(const gcoord_access_report* report);
GCOORD_API gcoord_access_role gcoord_access_report_role(const gcoord_access_report* report,
                                                        size_t index);

// ---- who the client is ----

// The identity of a client, as the nodes know it.
typedef struct gcoord_identity gcoord_identity;

// Makes *identity, which the caller frees. Asks no node: it is what those said that the client has
// logged in to with its user or token; "anonymous" without them, also with a certificate.
GCOORD_API gcoord_status gcoord_client_identity(gcoord_client* client,
                                                gcoord_identity** identity,
                                                gcoord_error* error);

// Frees the identity, and wipes its token. NULL is allowed.
GCOORD_API void gcoord_identity_free(gcoord_identity* identity);

// "anonymous", "certificate", "user" or "node", and the name; "" for NULL, and for "anonymous".
GCOORD_API const char* gcoord_identity_kind(const gcoord_identity* identity);
GCOORD_API const char* gcoord_identity_name(const gcoord_identity* identity);

// The token of a login, for the options of another client, and how long it is good for. A secret:
// whoever shows it is this user for as long. "" and 0 without a login.
GCOORD_API const char* gcoord_identity_token(const gcoord_identity* identity);
GCOORD_API int64_t gcoord_identity_token_left_ms(const gcoord_identity* identity);

#ifdef __cplusplus
}
#endif
