/* One thread, one epoll loop: a watch of a name, and what happens to the session that holds it. */
#include "gcoord/gcoord_sessions.h"
#include "gcoord/gcoord_watch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static const char* const kName = "examples/event-loop";
static gcoord_error error;

static void expect_ok(gcoord_status status, const char* what) {
  if (status != GCOORD_OK) {
    fprintf(stderr, "failed: %s: %s (GC%" PRIu32 ")\n", what, error.message, error.number);
    exit(1);
  }
}

/* The descriptor is the library's; the loop only waits for it. */
static void add_to_loop(int loop, int fd) {
  struct epoll_event wanted = {.events = EPOLLIN, .data = {.fd = fd}};
  if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &wanted) != 0) {
    perror("failed: epoll_ctl");
    exit(1);
  }
}

/* One batch each time: the descriptor stays readable while there are more. False when the lock that
 * this program took has been released again. */
static bool on_watch(gcoord_watch* watch, uint64_t session_id) {
  bool go_on = true;
  gcoord_batch* batch = NULL;
  expect_ok(gcoord_watch_next(watch, 0, &batch, &error), "next");
  for (size_t at = 0; at < gcoord_batch_size(batch); ++at) {
    const gcoord_watch_event event = gcoord_batch_event(batch, at);
    const bool granted = event.kind == GCOORD_EVENT_GRANTED;
    printf("%s, token %" PRIu64 "\n", granted ? "granted" : "released", event.token);
    go_on = go_on && (granted || event.session_id != session_id);
  }
  gcoord_batch_free(batch);
  return go_on;
}

static void on_session(gcoord_session* session) {
  gcoord_session_notice notice;
  expect_ok(gcoord_session_next_event(session, &notice, &error), "next_event");
  if (notice.event == GCOORD_EXPIRED || notice.event == GCOORD_LOCK_LOST) {
    fprintf(stderr, "failed: the lock is lost\n");
    exit(1);
  }
}

/* Called on the client's thread, which is why nothing is done here: the watch tells the loop. */
static void on_granted(void* user, gcoord_lock* lock, const gcoord_error* why) {
  (void)user;
  if (why != NULL) {
    fprintf(stderr, "failed: acquire: %s\n", why->message);
    exit(1);
  }
  gcoord_lock_free(lock); /* Releases it. */
}

static void run(gcoord_watch* watch, gcoord_session* session) {
  const int loop = epoll_create1(EPOLL_CLOEXEC);
  int watch_fd = -1;
  int session_fd = -1;
  bool go_on = true;
  struct epoll_event came;
  expect_ok(gcoord_watch_event_fd(watch, &watch_fd, &error), "descriptor of the watch");
  expect_ok(gcoord_session_event_fd(session, &session_fd, &error), "descriptor of the session");
  add_to_loop(loop, watch_fd);
  add_to_loop(loop, session_fd);
  expect_ok(gcoord_lock_acquire_async(session, kName, 5000, on_granted, NULL, &error), "acquire");
  while (go_on && epoll_wait(loop, &came, 1, -1) == 1) {
    if (came.data.fd == watch_fd) {
      go_on = on_watch(watch, gcoord_session_id(session));
    } else {
      on_session(session);
    }
  }
  close(loop);
}

int main(void) {
  gcoord_client_options options;
  gcoord_watch_options what;
  gcoord_client* client = NULL;
  gcoord_session* session = NULL;
  gcoord_watch* watch = NULL;
  gcoord_client_options_init(&options);
  options.endpoints = getenv("GCOORD_ENDPOINTS");
  expect_ok(gcoord_client_connect(&options, &client, &error), "connect");
  expect_ok(gcoord_session_open(client, 10000, NULL, NULL, &session, &error), "open a session");
  gcoord_watch_options_init(&what);
  what.name = kName;
  expect_ok(gcoord_watch_open(client, &what, &watch, &error), "watch");
  run(watch, session);
  gcoord_watch_free(watch);
  gcoord_session_free(session);
  gcoord_client_free(client);
  return 0;
}
