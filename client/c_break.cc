// Breaking locks by force, for C.
#include "client/c_border.h"

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
