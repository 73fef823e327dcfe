// Limits of clients, and who is denied the cluster, for C; under the rules of gcoord/gcoord.h.
//
// gcoord/limits.h has what limits and denials are, and how nodes enforce them. Both are replicated
// state: gcoord_limits reads it, gcoord_change_limits changes it in one entry of the ledger, each
// change raising the epoch by one. The forms with _async follow gcoord/gcoord_async.h. Functions
// that only read a handle ask no node, and return zeros for NULL and for an index beyond the end;
// text lives as long as the handle.
//
// A rate for one user, and an hour without another:
//
//  gcoord_limits_change change;
//  gcoord_limits_change_init(&change);
//  change.action = GCOORD_LIMITS_SET;
//  change.limit.scope = GCOORD_LIMIT_PRINCIPAL;
//  change.limit.name = "ann";
//  change.limit.rate = 100;
//  change.limit.burst = 200;
//  gcoord_change_limits(client, &change, NULL, &error);
//
//  gcoord_limits_change_init(&change);
//  change.action = GCOORD_LIMITS_DENY;
//  change.denial.scope = GCOORD_DENIAL_PRINCIPAL;
//  change.denial.name = "bob";
//  change.denial.reason = "runs wild";
//  change.duration_ms = 3600000;
//  gcoord_change_limits(client, &change, NULL, &error);
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// Scopes of limits. Never renumber.
enum {
  // A principal, by its name; "-": each address of clients that have proven nobody; "*": each
  // principal and address without a limit of its own.
  GCOORD_LIMIT_PRINCIPAL = 1,
  GCOORD_LIMIT_PREFIX = 2,  // All clients together, on names that begin so; a rate and a burst.
  GCOORD_LIMIT_NETWORK = 3  // All addresses of a network, as "192.0.2.0/24": connections.
};

// A limit. A number that is 0: no limit of this kind.
typedef struct gcoord_limit {
  int32_t scope;  // GCOORD_LIMIT_PRINCIPAL and its neighbours.
  const char* name;
  uint32_t rate;   // Requests a second at each node.
  uint32_t burst;  // At once, 1 at least where there is a rate.
  uint32_t connections;
  uint32_t sessions;
  uint32_t locks;    // Held by its sessions.
  uint32_t waiters;  // Its requests that wait for locks.
  uint32_t watches;
  uint64_t bytes;  // Of replies that a node keeps because its clients do not read.
} gcoord_limit;

// Kinds of denied clients. Never renumber.
enum {
  GCOORD_DENIAL_PRINCIPAL = 1,
  GCOORD_DENIAL_SERIAL = 2,            // Of a certificate, in hexadecimal digits.
  GCOORD_DENIAL_CERTIFICATE_NAME = 3,  // A subject alternative name, or the common name.
  GCOORD_DENIAL_NETWORK = 4            // An address or a network; loopback cannot be denied.
};

// A denial of the cluster, which ends by itself.
typedef struct gcoord_denial {
  int32_t scope;  // GCOORD_DENIAL_PRINCIPAL and its neighbours.
  const char* name;
  uint64_t until_ms;   // Unix time of its end, in milliseconds; not read in a change.
  const char* reason;  // For operators.
} gcoord_denial;

// Kinds of changes. Never renumber.
enum {
  GCOORD_LIMITS_SET = 1,     // `limit`, in the place of one of that scope and name.
  GCOORD_LIMITS_REMOVE = 2,  // The limit of limit.scope and limit.name.
  GCOORD_LIMITS_DENY = 3,    // `denial`, for duration_ms from now.
  GCOORD_LIMITS_ALLOW = 4    // Ends the denial of denial.scope and denial.name.
};

// A change. To be filled by gcoord_limits_change_init, then changed; it is copied by the call.
typedef struct gcoord_limits_change {
  size_t struct_bytes;  // Set by init: what the caller was compiled with.
  int32_t action;       // GCOORD_LIMITS_SET and its neighbours.
  gcoord_limit limit;
  gcoord_denial denial;
  uint64_t duration_ms;  // Of a denial: 1 second to 30 days.
  uint64_t epoch;        // Change this epoch only; 0: whichever is the newest.
  bool dry_run;          // Judge it, and change nothing.
  const char* who;       // For the ledger, where the connection proves nobody.
  // Of `limit`: the longest TTL of its sessions, 100 to 86,400,000 ms; 0: no limit. A set limit has
  // the whole row's place, so without it one that was there is gone. GC6746 while a node does not
  // know it. Not in the first version of this structure.
  uint32_t session_ttl_ms_max;
} gcoord_limits_change;

// A query. To be filled by gcoord_limits_query_init, then changed.
typedef struct gcoord_limits_query {
  size_t struct_bytes;
  bool denials;  // Those, or limits.
  // Rows behind that of this scope and name; 0 and NULL: from the first.
  int32_t after_scope;
  const char* after_name;
  // Read what this node has applied, which may be older; 0: what the leader has.
  uint32_t node_id;
} gcoord_limits_query;

// The result of a call.
typedef struct gcoord_limits_report gcoord_limits_report;

typedef struct gcoord_limits_facts {
  uint64_t epoch;  // 0: there are none, and never were.
  uint32_t limit_count;
  uint32_t denial_count;
  bool more;  // Rows behind the last one were left out.
} gcoord_limits_facts;

// Fills a change: setting a limit of a principal without a name. NULL is ignored. The macro passes
// the size that the program was compiled with, as for gcoord_client_options_init.
GCOORD_API void gcoord_limits_change_init(gcoord_limits_change* change);
GCOORD_API void gcoord_limits_change_init_as(gcoord_limits_change* change, size_t struct_bytes);
#define gcoord_limits_change_init(change) \
  gcoord_limits_change_init_as((change), sizeof(gcoord_limits_change))

// Fills a query: limits, from the first one on, from the leader. NULL is ignored.
GCOORD_API void gcoord_limits_query_init(gcoord_limits_query* query);

// Reads limits or denials and makes *report, which the caller frees. GC6588 by nodes with --turn
// resident, GC4005 by nodes of releases without them.
GCOORD_API gcoord_status gcoord_limits(gcoord_client* client,
                                       const gcoord_limits_query* query,
                                       gcoord_limits_report** report,
                                       gcoord_error* error);

// Changes them, in one entry of the ledger. `report` may be NULL, or gets their state without rows.
// A repetition by the library is one change. GC6583 to GC6585 and GC6591 to GC6593 say what does
// not allow it, GC6586 that the epoch is another than change->epoch, GC6587 that a node is of a
// release without them: nothing is changed then.
GCOORD_API gcoord_status gcoord_change_limits(gcoord_client* client,
                                              const gcoord_limits_change* change,
                                              gcoord_limits_report** report,
                                              gcoord_error* error);

// Receives the outcome of the calls without waiting: on success `report`, which the callee frees
// with gcoord_limits_report_free; on failure NULL, and `error`, which lives during the callback.
typedef void (*gcoord_limits_callback)(void* user,
                                       gcoord_limits_report* report,
                                       const gcoord_error* error);

GCOORD_API gcoord_status gcoord_limits_async(gcoord_client* client,
                                             const gcoord_limits_query* query,
                                             gcoord_limits_callback callback,
                                             void* user,
                                             gcoord_error* error);
GCOORD_API gcoord_status gcoord_change_limits_async(gcoord_client* client,
                                                    const gcoord_limits_change* change,
                                                    gcoord_limits_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// Frees the report. NULL is allowed.
GCOORD_API void gcoord_limits_report_free(gcoord_limits_report* report);

// How much there is.
GCOORD_API gcoord_limits_facts gcoord_limits_report_facts(const gcoord_limits_report* report);

// The rows, in the order of scopes and names. Denials are those that have not ended, by the clock
// of the node.
GCOORD_API size_t gcoord_limits_report_limits(const gcoord_limits_report* report);
GCOORD_API gcoord_limit gcoord_limits_report_limit(const gcoord_limits_report* report,
                                                   size_t index);
// Of the same row: the longest TTL of its sessions; 0: no limit.
GCOORD_API uint32_t gcoord_limits_report_session_ttl_ms_max(const gcoord_limits_report* report,
                                                            size_t index);
GCOORD_API size_t gcoord_limits_report_denials(const gcoord_limits_report* report);
GCOORD_API gcoord_denial gcoord_limits_report_denial(const gcoord_limits_report* report,
                                                     size_t index);

#ifdef __cplusplus
}
#endif
