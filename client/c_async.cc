// Calls that do not wait, for C.
#include "client/c_border.h"
#include "gcoord/gcoord_async.h"

#include <utility>

using namespace gcoord::client;

gcoord_status gcoord_describe_async(gcoord_client* client,
                                    const char* name,
                                    bool waiters,
                                    gcoord_description_callback callback,
                                    void* user,
                                    gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {name, "name"}},
      callback,
      error,
      [&] { return Result{client->client.get_async(name, waiters)}; },
      giving_to<gcoord_description, LockDescription>(callback, user));
}

gcoord_status gcoord_leader_async(gcoord_client* client,
                                  const char* name,
                                  gcoord_holder_callback callback,
                                  void* user,
                                  gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {name, "name"}},
      callback,
      error,
      [&] { return Result{client->client.leader_async(name)}; },
      telling<Leader>(callback, user, [](const Leader& leader) {
        return gcoord_holder{
            leader.session_id, leader.epoch, leader.ttl_left.count(), leader.candidates_waiting};
      }));
}

gcoord_status gcoord_lock_release_async(gcoord_lock* lock,
                                        gcoord_done_callback callback,
                                        void* user,
                                        gcoord_error* error) {
  return begin_change(
      {{lock, "lock"}}, callback, user, error, [&] { return lock->lock.release_async(); });
}

gcoord_status gcoord_multi_lock_release_async(gcoord_multi_lock* locks,
                                              gcoord_done_callback callback,
                                              void* user,
                                              gcoord_error* error) {
  return begin_change(
      {{locks, "locks"}}, callback, user, error, [&] { return locks->locks.release_async(); });
}

gcoord_status gcoord_session_release_async(gcoord_session* session,
                                           const char* name,
                                           uint64_t token,
                                           gcoord_done_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return begin_change({{session, "session"}, {name, "name"}}, callback, user, error, [&] {
    return session->session.release_async(name, token);
  });
}

gcoord_status gcoord_session_renew_async(gcoord_session* session,
                                         gcoord_done_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return begin_change({{session, "session"}}, callback, user, error, [&] {
    return session->session.renew_async();
  });
}

gcoord_status gcoord_session_close_async(gcoord_session* session,
                                         gcoord_done_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return begin_change({{session, "session"}}, callback, user, error, [&] {
    return session->session.close_async();
  });
}

gcoord_status gcoord_session_proclaim_async(gcoord_session* session,
                                            const char* name,
                                            uint64_t epoch,
                                            const char* value,
                                            size_t value_bytes,
                                            gcoord_done_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  return begin_change(
      {{session, "session"}, {name, "name"}, {value, "value"}}, callback, user, error, [&] {
        return session->session.proclaim_async(name, epoch, {value, value_bytes});
      });
}

gcoord_status gcoord_session_transfer_async(gcoord_session* session,
                                            const char* name,
                                            uint64_t epoch,
                                            uint64_t session_id,
                                            gcoord_done_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  return begin_change({{session, "session"}, {name, "name"}}, callback, user, error, [&] {
    return session->session.transfer_async(name, epoch, session_id);
  });
}

gcoord_status gcoord_lease_renew_async(gcoord_lease* lease,
                                       gcoord_done_callback callback,
                                       void* user,
                                       gcoord_error* error) {
  return begin_change(
      {{lease, "lease"}}, callback, user, error, [&] { return lease->lease.renew_async(); });
}

gcoord_status gcoord_lease_release_async(gcoord_lease* lease,
                                         gcoord_done_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return begin_change(
      {{lease, "lease"}}, callback, user, error, [&] { return lease->lease.release_async(); });
}

gcoord_status gcoord_election_proclaim_async(gcoord_election* election,
                                             const char* value,
                                             size_t value_bytes,
                                             gcoord_done_callback callback,
                                             void* user,
                                             gcoord_error* error) {
  return begin_change({{election, "election"}, {value, "value"}}, callback, user, error, [&] {
    return election->election.proclaim_async({value, value_bytes});
  });
}

gcoord_status gcoord_election_resign_async(gcoord_election* election,
                                           gcoord_done_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return begin_change({{election, "election"}}, callback, user, error, [&] {
    return election->election.resign_async();
  });
}

gcoord_status gcoord_election_transfer_async(gcoord_election* election,
                                             uint64_t session_id,
                                             gcoord_done_callback callback,
                                             void* user,
                                             gcoord_error* error) {
  return begin_change({{election, "election"}}, callback, user, error, [&] {
    return election->election.transfer_async(session_id);
  });
}
