/* The C interface beyond a plain lock: several locks, permits, reads of a chosen freshness and of
 * the past, sessions as leases, a session that is bound to a health check, and who leads. */
#include "gcoord/gcoord_locks.h"
#include "gcoord/gcoord_reads.h"
#include "gcoord/gcoord_sessions.h"
#include "gcoord/gcoord_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gcoord_error error;

static void expect_ok(gcoord_status status, const char* what) {
  if (status != GCOORD_OK) {
    fprintf(stderr, "failed: %s: %s (GC%" PRIu32 ")\n", what, error.message, error.number);
    exit(1);
  }
}

static void expect(bool condition, const char* what) {
  if (!condition) {
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
  }
}

/* All or none, each with a token of its own. */
static void take_several(gcoord_client* client, gcoord_session* session) {
  const char* names[] = {"examples/c-left", "examples/c-right"};
  gcoord_acquire_options how;
  gcoord_multi_lock* locks = NULL;
  gcoord_description* found = NULL;
  uint64_t index = 0;
  gcoord_acquire_options_init(&how);
  how.wait_ms = 5000;
  how.note = "both";
  how.note_bytes = strlen(how.note);
  expect_ok(gcoord_lock_acquire_all(session, names, 2, &how, &locks, &error), "acquire_all");
  expect(gcoord_multi_lock_valid(locks) && gcoord_multi_lock_size(locks) == 2, "both are held");
  expect_ok(gcoord_describe(client, names[0], true, &found, &error), "describe");
  expect(gcoord_description_lock(found).note_bytes == 4, "its note is read by others");
  index = gcoord_description_lock(found).acquired_index;
  printf("token %" PRIu64 " of %s\n",
         gcoord_multi_lock_fence(locks, 0),
         gcoord_multi_lock_name(locks, 0));
  gcoord_description_free(found);
  expect_ok(gcoord_multi_lock_release(locks, &error), "release both");
  gcoord_multi_lock_free(locks);
  /* Released or not: at that index of its shard's log it was held. */
  expect_ok(gcoord_read_at(client, names[0], index, 0, &found, NULL, &error), "read_at");
  expect(found != NULL && gcoord_description_lock(found).note_bytes == 4, "it is shown as it was");
  gcoord_description_free(found);
}

/* Two of three permits, and a read that shows this client's own writes. */
static void share_and_read(gcoord_client* client, gcoord_session* session) {
  gcoord_acquire_options how;
  gcoord_read_options read;
  gcoord_lock* lock = NULL;
  gcoord_description* found = NULL;
  gcoord_freshness at;
  gcoord_acquire_options_init(&how);
  how.shared = true;
  how.permits = 2;
  how.permits_max = 3;
  expect_ok(gcoord_lock_acquire_as(session, "examples/c-pool", &how, &lock, &error), "two permits");
  gcoord_read_options_init(&read);
  read.consistency = GCOORD_MONOTONIC;
  expect_ok(gcoord_read(client, "examples/c-pool", &read, &found, &at, &error), "read");
  expect(found != NULL && gcoord_description_sharer(found, 0).permits == 2, "they are seen");
  expect(at.index != 0 && gcoord_positions(client, NULL, 0) > 0, "the read says where it stands");
  gcoord_description_free(found);
  expect_ok(gcoord_lock_release(lock, &error), "give them back");
  gcoord_lock_free(lock);
}

/* A lease with an id of its own, renewed and shown. */
static void grant_a_lease(gcoord_client* client) {
  gcoord_session_options options;
  gcoord_session* session = NULL;
  gcoord_session_facts facts;
  gcoord_session_options_init(&options);
  options.ttl_ms = 60000;
  expect_ok(gcoord_session_grant(client, &options, &session, &error), "grant");
  expect_ok(gcoord_session_keep_alive_once(client, gcoord_session_id(session), &facts, &error),
            "keep alive");
  expect(facts.alive && facts.remaining_ms > 0, "it lives");
  expect_ok(gcoord_session_close(session, &error), "revoke");
  gcoord_session_free(session);
}

/* A check that fails keeps the session from being opened; one that passes binds it. */
static gcoord_session* open_bound(gcoord_client* client) {
  gcoord_health_check check = {"command:false", 0, 0, 0};
  gcoord_session_options options;
  gcoord_session* session = NULL;
  gcoord_session_options_init(&options);
  options.checks = &check;
  options.check_count = 1;
  expect(gcoord_session_open_as(client, &options, &session, &error) != GCOORD_OK &&
             error.number == 6350,
         "a failing check is GC6350");
  check.what = "command:true";
  expect_ok(gcoord_session_open_as(client, &options, &session, &error), "open a session");
  expect(gcoord_session_healthy(session), "it is healthy");
  return session;
}

/* Another client speaks for the session, with its key where nodes ask for keys, and releases its
 * lock. Between two programs the key goes by a file of mode 0600, or by a file descriptor. */
static void pass_on_key(gcoord_session* session) {
  char key[GCOORD_SESSION_KEY_ROOM];
  gcoord_client_options options;
  gcoord_session_options how;
  gcoord_client* other = NULL;
  gcoord_session* attached = NULL;
  gcoord_lock* lock = NULL;
  expect_ok(gcoord_lock_acquire(session, "examples/c-key", 0, &lock, &error), "acquire");
  expect_ok(gcoord_session_key(session, key, sizeof key, &error), "the key of the session");
  gcoord_client_options_init(&options);
  options.endpoints = getenv("GCOORD_ENDPOINTS");
  expect_ok(gcoord_client_connect(&options, &other, &error), "connect another client");
  gcoord_session_options_init(&how);
  how.session_id = gcoord_session_id(session);
  how.session_key = key;
  expect_ok(gcoord_session_attach(other, &how, false, 1, &attached, &error), "attach");
  memset(key, 0, sizeof key); /* The library has copied it. */
  expect_ok(gcoord_session_release(attached, "examples/c-key", gcoord_lock_fence(lock), &error),
            "release by the other client");
  gcoord_session_detach(attached); /* Its end would close the session. */
  gcoord_session_free(attached);
  gcoord_client_free(other);
  gcoord_lock_detach(lock);
  gcoord_lock_free(lock);
}

static void lead_and_observe(gcoord_client* client, gcoord_session* session) {
  gcoord_campaign_options how;
  gcoord_election* election = NULL;
  gcoord_leader_stream* stream = NULL;
  gcoord_office office;
  gcoord_campaign_options_init(&how);
  how.value = "here";
  how.value_bytes = 4;
  expect_ok(gcoord_election_make(session, "examples/c-leader", &election, &error), "candidacy");
  expect_ok(gcoord_election_stand(election, &how, &error), "campaign");
  expect_ok(gcoord_observe(client, "examples/c-leader", &stream, &error), "observe");
  expect_ok(gcoord_leader_stream_next(stream, GCOORD_FOREVER, &office, &error), "the leader");
  expect(office.epoch == gcoord_election_epoch(election) && office.value_bytes == 4,
         "it is this one");
  gcoord_leader_stream_free(stream);
  expect_ok(gcoord_election_resign(election, &error), "resign");
  gcoord_election_free(election);
}

int main(void) {
  gcoord_client_options options;
  gcoord_client* client = NULL;
  gcoord_session* session = NULL;
  gcoord_client_options_init(&options);
  options.endpoints = getenv("GCOORD_ENDPOINTS");
  expect_ok(gcoord_client_connect(&options, &client, &error), "connect");
  session = open_bound(client);
  take_several(client, session);
  share_and_read(client, session);
  grant_a_lease(client);
  pass_on_key(session);
  lead_and_observe(client, session);
  gcoord_session_free(session);
  gcoord_client_free(client);
  return 0;
}
