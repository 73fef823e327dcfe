// Calls that do not wait, for C.
#include "client/c_border.h"
#include "gcoord/gcoord_async.h"

#include <initializer_list>
#include <utility>

using namespace gcoord::client;

namespace {

struct Callee {
  gcoord_done_callback callback;
  void* user;
};

// ask() -> Future<Status>, unless something is missing.
template <typename Ask>
gcoord_status start(std::initializer_list<Argument> arguments,
                    Callee callee,
                    gcoord_error* error,
                    Ask ask) {
  return guarded(error, [&]() -> Status {
    const Status given =
        first_failure({required(arguments),
                       required({{reinterpret_cast<const void*>(callee.callback), "callback"}})});
    if (given.ok()) {
      ask().then([callee](const Status& status) {
        gcoord_error why{};
        report(status, &why);
        callee.callback(callee.user, status.ok() ? nullptr : &why);
      });
    }
    return given;
  });
}

}  // namespace

gcoord_status gcoord_describe_async(gcoord_client* client,
                                    const char* name,
                                    bool waiters,
                                    gcoord_description_callback callback,
                                    void* user,
                                    gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const Status given = required({{client, "client"},
                                   {name, "name"},
                                   {reinterpret_cast<const void*>(callback), "callback"}});
    if (given.ok()) {
      client->client.get_async(name, waiters)
          .then(giving_to<gcoord_description, LockDescription>(callback, user));
    }
    return given;
  });
}

gcoord_status gcoord_leader_async(gcoord_client* client,
                                  const char* name,
                                  gcoord_holder_callback callback,
                                  void* user,
                                  gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const Status given = required({{client, "client"},
                                   {name, "name"},
                                   {reinterpret_cast<const void*>(callback), "callback"}});
    if (given.ok()) {
      client->client.leader_async(name).then([callback, user](const Result<Leader>& leader) {
        if (!leader.ok()) {
          gcoord_error why{};
          report(leader.status(), &why);
          return callback(user, nullptr, &why);
        }
        const gcoord_holder holder{leader.value().session_id,
                                   leader.value().epoch,
                                   leader.value().ttl_left.count(),
                                   leader.value().candidates_waiting};
        callback(user, &holder, nullptr);
      });
    }
    return given;
  });
}

gcoord_status gcoord_lock_release_async(gcoord_lock* lock,
                                        gcoord_done_callback callback,
                                        void* user,
                                        gcoord_error* error) {
  return start(
      {{lock, "lock"}}, {callback, user}, error, [&] { return lock->lock.release_async(); });
}

gcoord_status gcoord_multi_lock_release_async(gcoord_multi_lock* locks,
                                              gcoord_done_callback callback,
                                              void* user,
                                              gcoord_error* error) {
  return start(
      {{locks, "locks"}}, {callback, user}, error, [&] { return locks->locks.release_async(); });
}

gcoord_status gcoord_session_release_async(gcoord_session* session,
                                           const char* name,
                                           uint64_t token,
                                           gcoord_done_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return start({{session, "session"}, {name, "name"}}, {callback, user}, error, [&] {
    return session->session.release_async(name, token);
  });
}

gcoord_status gcoord_session_renew_async(gcoord_session* session,
                                         gcoord_done_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return start({{session, "session"}}, {callback, user}, error, [&] {
    return session->session.renew_async();
  });
}

gcoord_status gcoord_session_close_async(gcoord_session* session,
                                         gcoord_done_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return start({{session, "session"}}, {callback, user}, error, [&] {
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
  return start(
      {{session, "session"}, {name, "name"}, {value, "value"}}, {callback, user}, error, [&] {
        return session->session.proclaim_async(name, epoch, {value, value_bytes});
      });
}

gcoord_status gcoord_lease_renew_async(gcoord_lease* lease,
                                       gcoord_done_callback callback,
                                       void* user,
                                       gcoord_error* error) {
  return start(
      {{lease, "lease"}}, {callback, user}, error, [&] { return lease->lease.renew_async(); });
}

gcoord_status gcoord_lease_release_async(gcoord_lease* lease,
                                         gcoord_done_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return start(
      {{lease, "lease"}}, {callback, user}, error, [&] { return lease->lease.release_async(); });
}

gcoord_status gcoord_election_proclaim_async(gcoord_election* election,
                                             const char* value,
                                             size_t value_bytes,
                                             gcoord_done_callback callback,
                                             void* user,
                                             gcoord_error* error) {
  return start({{election, "election"}, {value, "value"}}, {callback, user}, error, [&] {
    return election->election.proclaim_async({value, value_bytes});
  });
}

gcoord_status gcoord_election_resign_async(gcoord_election* election,
                                           gcoord_done_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return start({{election, "election"}}, {callback, user}, error, [&] {
    return election->election.resign_async();
  });
}

gcoord_status gcoord_election_transfer_async(gcoord_election* election,
                                             uint64_t session_id,
                                             gcoord_done_callback callback,
                                             void* user,
                                             gcoord_error* error) {
  return start({{election, "election"}}, {callback, user}, error, [&] {
    return election->election.transfer_async(session_id);
  });
}
