/* The C interface: a lock, its token, and an election. */
#include "gcoord/gcoord.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(void) {
  gcoord_client_options options;
  gcoord_client* client = NULL;
  gcoord_session* session = NULL;
  gcoord_lock* lock = NULL;
  gcoord_lock* other = NULL;
  gcoord_election* election = NULL;
  int32_t verdict = 0;

  gcoord_client_options_init(&options);
  options.endpoints = getenv("GCOORD_ENDPOINTS");
  expect_ok(gcoord_client_connect(&options, &client, &error), "connect");
  expect_ok(gcoord_session_open(client, 10000, NULL, NULL, &session, &error), "open a session");

  expect_ok(gcoord_lock_acquire(session, "examples/c", GCOORD_FOREVER, &lock, &error), "acquire");
  expect(gcoord_lock_valid(lock), "the lock is held");
  expect_ok(gcoord_check(client, "examples/c", gcoord_lock_fence(lock), &verdict, &error), "check");
  expect(verdict == GCOORD_VALID, "its token is valid");
  expect(gcoord_lock_acquire(session, "", 0, &other, &error) == GCOORD_INVALID_ARGUMENT &&
             error.number == 1101 && other == NULL,
         "an empty name is refused with GC1101");
  printf("token %" PRIu64 "\n", gcoord_lock_fence(lock));
  expect_ok(gcoord_lock_release(lock, &error), "release");

  expect_ok(gcoord_election_make(session, "examples/c-chief", &election, &error), "candidacy");
  expect_ok(gcoord_election_campaign(election, GCOORD_FOREVER, &error), "campaign");
  expect(gcoord_election_is_leader(election), "it leads");
  expect_ok(gcoord_election_resign(election, &error), "resign");
  expect(!gcoord_election_is_leader(election), "it leads no more");

  gcoord_election_free(election);
  gcoord_lock_free(lock);
  gcoord_session_free(session);
  gcoord_client_free(client);
  return 0;
}
