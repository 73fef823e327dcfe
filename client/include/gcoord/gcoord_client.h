// Clients, for C: the version of the interface, outcomes and errors, and the connection to a
// cluster; under the rules of gcoord/gcoord.h, which programs include.
#pragma once

#include "gcoord/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Rises when programs must be compiled anew; so does the number of the shared library.
#define GCOORD_ABI_VERSION 0u
// The GCOORD_ABI_VERSION of the library that is loaded. A program that was compiled with another
// value must not use it.
GCOORD_API uint32_t gcoord_abi_version(void);

// ---- outcomes ----

// Outcomes of calls: the canonical codes of gRPC. UNAVAILABLE and DEADLINE_EXCEEDED may be tried
// again later; ABORTED means that another session was first; INVALID_ARGUMENT and OUT_OF_RANGE are
// mistakes of the caller; CANCELLED comes from closing the client. Never renumber.
enum {
  GCOORD_OK = 0,         // Success.
  GCOORD_CANCELLED = 1,  // The client, the watch or the wait was closed (GC4010, GC6207, GC6006).
  GCOORD_UNKNOWN = 2,    // No error of the library has it.
  GCOORD_INVALID_ARGUMENT = 3,     // A mistake of the caller: an empty name (GC1101).
  GCOORD_DEADLINE_EXCEEDED = 4,    // No answer in time (GC4009).
  GCOORD_NOT_FOUND = 5,            // No such lock, session or leader (GC6016, GC6101).
  GCOORD_ALREADY_EXISTS = 6,       // The id is in use (GC6301).
  GCOORD_PERMISSION_DENIED = 7,    // A node cannot use its data directory.
  GCOORD_RESOURCE_EXHAUSTED = 8,   // A limit is reached, such as the locks of a node (GC6012).
  GCOORD_FAILED_PRECONDITION = 9,  // The state does not allow it: a stale token (GC6003).
  GCOORD_ABORTED = 10,         // Another session was first (GC6001), or this one is lost (GC6007).
  GCOORD_OUT_OF_RANGE = 11,    // A number is out of range (GC1112), or the past is gone (GC6201).
  GCOORD_UNIMPLEMENTED = 12,   // The node does not know the request (GC4004).
  GCOORD_INTERNAL = 13,        // A device or a disk of a node failed.
  GCOORD_UNAVAILABLE = 14,     // It may succeed later: no leader at present (GC5001).
  GCOORD_DATA_LOSS = 15,       // Data is damaged, or contradicts a proof.
  GCOORD_UNAUTHENTICATED = 16  // No error of the library has it.
};

// One of the codes above.
typedef int32_t gcoord_status;

// Cause of a failure, filled by the function that failed and untouched on success. The caller owns
// it, for example on the stack.
typedef struct gcoord_error {
  gcoord_status status;
  uint32_t number;     // 6001 for GC6001; 0 when there is none.
  char message[1016];  // Cause, evidence and fix; cut where it would be longer.
} gcoord_error;

// ---- clients ----

// Connection of a program to a cluster: one thread, and connections to all nodes. One client serves
// a whole program.
typedef struct gcoord_client gcoord_client;

// To be filled by gcoord_client_options_init, then changed. The fields mean what those of
// gcoord::client::ClientOptions mean (gcoord/options.h), and have the same defaults.
typedef struct gcoord_client_options {
  size_t struct_bytes;  // Set by init: what the caller was compiled with.
  // "host:port,host:port": client ports; "unix:/path": Unix sockets; "shm:/path": shared memory.
  const char* endpoints;
  // How long gcoord_client_connect may take, and one attempt at one node. 0 to a day, as all times
  // here.
  int64_t connect_timeout_ms;
  // From call to answer, retries included; a lock's wait is added to it.
  int64_t request_timeout_ms;
  // A session is certain to live for its TTL less TTL / drift_divisor and drift_margin_ms.
  uint32_t drift_divisor;
  int64_t drift_margin_ms;
  // The only cluster to connect to; 0: whichever answers.
  uint64_t cluster_id;
  // Sent to each node with the first message, at most 255 bytes of it. Nodes do not use it yet.
  const char* client_name;
  // Keep on trying within connect_timeout_ms although every endpoint has refused once.
  bool wait_for_cluster;

  // A clock of the caller's, for tests: nanoseconds since some moment, never going back. Called
  // from any thread. Tell the client of moves by gcoord_client_clock_moved. NULL: the system's.
  int64_t (*now_ns)(void* user);
  void* now_user;

  // Retries, and the circuit breaker of each endpoint.
  // The pause between retries doubles from the first to the second value, with jitter.
  int64_t backoff_min_ms;
  int64_t backoff_max_ms;
  // Retries that may be taken at once beyond one for ten successes.
  uint32_t retry_budget;
  // Failed requests in a row that open the circuit breaker of an endpoint; 0: none do.
  uint32_t breaker_failures;
  // Fail with GC3011 at once while the breakers of all endpoints are open.
  bool fail_fast;

  // TLS 1.3 to the nodes, as gcoord::client::TlsOptions has it: PEM files, or NULL. Any of the
  // first two, or tls, means TLS. The strings are copied by gcoord_client_connect.
  const char* cacert;       // Of the CA that the nodes' certificates must come from.
  const char* cert;         // The client's own, with
  const char* key;          // its key, which only its owner may read.
  const char* server_name;  // Name in the nodes' certificates; NULL: the endpoint's host.
  bool tls;

  // Identity of the client, as gcoord::client::Credentials has it; NULL: not said. The strings are
  // copied by gcoord_client_connect; the library wipes its copies when the client ends, and the
  // caller may wipe its own as soon as the function returns.
  const char* user;
  const char* password;
  const char* token;
  const char* token_file;
  // Show passwords and tokens also in plain TCP to addresses beyond loopback, where others can read
  // them; else that is GC6685.
  bool insecure_credentials;
} gcoord_client_options;

// Fills the options with their defaults. A program calls gcoord_client_options_init; the macro of
// that name passes the size that the program was compiled with, so that a newer library fills only
// the fields that the program has. The function of that name is for programs that were compiled
// with the first version of the library. NULL is ignored.
GCOORD_API void gcoord_client_options_init(gcoord_client_options* options);
GCOORD_API void gcoord_client_options_init_as(gcoord_client_options* options, size_t struct_bytes);
#define gcoord_client_options_init(options) \
  gcoord_client_options_init_as((options), sizeof(gcoord_client_options))

// Connects to a cluster and makes *client, which the caller frees. Blocks until one node has
// answered, or until all have failed: GC3001 with the evidence of each endpoint. The other nodes
// are connected to in the background. GC1001 for a time outside of 0 to a day, GC1002 without
// endpoints.
GCOORD_API gcoord_status gcoord_client_connect(const gcoord_client_options* options,
                                               gcoord_client** client,
                                               gcoord_error* error);

// Ends the client and its threads: no callback runs after this. Any thread may call it, while
// others use the client, which must still be freed.
//
// Sessions and leases that were opened through the client and not detached are closed, also those
// whose handles are not freed: their locks go to the next waiters. That takes 0.2 s at most; a node
// that has not heard of it by then lets them live for the rest of their TTL. Sessions of other
// programs (gcoord_session_attach) live on. Calls in flight fail with GC4010, and so do later calls
// through any handle of the client. These handles must still be freed, at any time.
//
// Once; later calls return GCOORD_OK, when it is done. GCOORD_FAILED_PRECONDITION (GC4011) in a
// callback.
GCOORD_API gcoord_status gcoord_client_close(gcoord_client* client, gcoord_error* error);

// Frees the client, after gcoord_client_close if that has not been called. Handles of sessions,
// locks, watches and the like may be freed before or after it. In a callback it returns
// GCOORD_FAILED_PRECONDITION (GC4011) and frees nothing. NULL is allowed.
GCOORD_API gcoord_status gcoord_client_free(gcoord_client* client);

// Tells the client that the clock of now_ns was moved, so that due timers run. Does nothing for a
// client with the system's clock.
GCOORD_API void gcoord_client_clock_moved(gcoord_client* client);

// The present time of the client's clock, in nanoseconds since some fixed moment; 0 for NULL. It is
// the clock of the functions whose names end with _at or _until_ns.
GCOORD_API int64_t gcoord_client_now_ns(const gcoord_client* client);

#ifdef __cplusplus
}
#endif
