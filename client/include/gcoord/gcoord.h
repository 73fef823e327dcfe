// The client library for C, and for every language that can call C.
//
// Handles are opaque; a function that makes one gives it to the caller, who frees it with the
// function of that kind, in any order. NULL may be freed. Text is UTF-8 that ends with NUL; what is
// passed in is copied, what a handle returns lives as long as the handle.
//
// A function that can fail returns a gcoord_status, GCOORD_OK or one of the canonical codes of
// gRPC, and takes last a gcoord_error to be filled on failure, which may be NULL. Its number is the
// stable one of docs/reference/errors.md: 6001 for GC6001. A missing argument is INVALID_ARGUMENT
// (GC1002). On failure nothing is made and results are untouched. No exception leaves a function;
// when memory runs out it says RESOURCE_EXHAUSTED.
//
// Times are milliseconds, or nanoseconds of the client's clock where the name says so. Any function
// may be called from any thread, except that a handle is freed by one thread, when no other uses
// it. Callbacks run on the client's own thread: they return soon, must not throw, and blocking
// functions called in one fail with GC4011. After a handle has been freed its event callback runs
// no more; free() waits for one that runs, unless it is called from it.
//
// A program that holds a lock while it works, without error handling:
//
//  gcoord_client_options options;
//  gcoord_client_options_init(&options);
//  options.endpoints = "10.0.0.1:7400,10.0.0.2:7400";
//  gcoord_client_connect(&options, &client, &error);
//  gcoord_session_open(client, 10000, NULL, NULL, &session, &error);
//  gcoord_lock_acquire(session, "jobs/train", GCOORD_FOREVER, &lock, &error);
//  write_with(gcoord_lock_fence(lock));
//  gcoord_lock_release(lock, &error);
//  gcoord_lock_free(lock);
//  gcoord_session_free(session);
//  gcoord_client_free(client);
//
// This header has clients (gcoord_client.h), plain sessions, locks and leases (gcoord_holds.h) and
// elections (gcoord_election.h). The others of this interface: gcoord_locks.h (options of an
// acquire, several locks, lists), gcoord_sessions.h (session options, health checks, events, keys),
// gcoord_reads.h (reads by freshness), gcoord_watch.h (watches), gcoord_groups.h (groups and
// barriers), gcoord_cluster.h (status), gcoord_access.h (users and roles, who the client is),
// gcoord_limits.h (limits and denials), gcoord_async.h (the other calls without waiting),
// gcoord_stop.h (waits that can be stopped).
#pragma once

#include "gcoord/api.h"
#include "gcoord/gcoord_client.h"
#include "gcoord/gcoord_election.h"
#include "gcoord/gcoord_holds.h"
