// What operators do to locks, for C: taking them by force, and moving them.
#include "client/c_border.h"
#include "gcoord/gcoord_async.h"

using namespace gcoord::client;

gcoord_status gcoord_lock_break(gcoord_client* client,
                                const char* name,
                                uint64_t token,
                                const char* who,
                                const char* reason,
                                gcoord_holder* broken,
                                gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{client, "client"}, {name, "name"}, {who, "who"}, {reason, "reason"}});
    if (!given.ok()) {
      return given;
    }
    const auto ended =
        client->client.break_lock(name, {.token = token, .who = who, .reason = reason});
    if (ended.ok() && broken != nullptr) {
      *broken = {ended.value().session_id, ended.value().token, 0, 0};
    }
    return ended.status();
  });
}

gcoord_status gcoord_lock_move(gcoord_client* client,
                               const char* name,
                               uint32_t to_shard,
                               gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const Status given = required({{client, "client"}, {name, "name"}});
    return given.ok() ? client->client.move_lock(name, to_shard) : given;
  });
}

gcoord_status gcoord_lock_break_async(gcoord_client* client,
                                      const char* name,
                                      uint64_t token,
                                      const char* who,
                                      const char* reason,
                                      gcoord_holder_callback callback,
                                      void* user,
                                      gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {name, "name"}, {who, "who"}, {reason, "reason"}},
      callback,
      error,
      [&] {
        return Result{
            client->client.break_lock_async(name, {.token = token, .who = who, .reason = reason})};
      },
      telling<BrokenLock>(callback, user, [](const BrokenLock& broken) {
        return gcoord_holder{broken.session_id, broken.token, 0, 0};
      }));
}

gcoord_status gcoord_lock_move_async(gcoord_client* client,
                                     const char* name,
                                     uint32_t to_shard,
                                     gcoord_done_callback callback,
                                     void* user,
                                     gcoord_error* error) {
  return begin_change({{client, "client"}, {name, "name"}}, callback, user, error, [&] {
    return client->client.move_lock_async(name, to_shard);
  });
}
