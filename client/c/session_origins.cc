// Who is behind sessions, for C.
#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_sessions.h"

#include <utility>

using namespace gcoord::client;

struct gcoord_origins {
  std::vector<SessionOrigin> origins;
};

namespace {

Result<std::vector<std::uint64_t>> ids_of(const std::uint64_t* sessions, std::size_t count) {
  if (sessions == nullptr && count != 0) {
    return failure(gcoord::protocol::ErrorCode::OptionMissing, "sessions");
  }
  return std::vector<std::uint64_t>(sessions, sessions + count);
}

}  // namespace

gcoord_status gcoord_session_origins(gcoord_client* client,
                                     const uint64_t* sessions,
                                     size_t count,
                                     gcoord_origins** origins,
                                     gcoord_error* error) {
  return border(error, {{client, "client"}, {origins, "origins"}}, [&]() -> Status {
    GCOORD_TRY(const auto ids, ids_of(sessions, count));
    return give(client->client.session_origins(ids), origins);
  });
}

gcoord_status gcoord_holder_origins(gcoord_client* client,
                                    const char* name,
                                    gcoord_origins** origins,
                                    gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, {origins, "origins"}}, [&] {
    return give(client->client.holder_origins(name), origins);
  });
}

gcoord_status gcoord_session_origins_async(gcoord_client* client,
                                           const uint64_t* sessions,
                                           size_t count,
                                           gcoord_origins_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return begin_async(
      {{client, "client"}},
      callback,
      error,
      [&]() -> Result<Future<Result<std::vector<SessionOrigin>>>> {
        GCOORD_TRY(const auto ids, ids_of(sessions, count));
        return client->client.session_origins_async(ids);
      },
      giving_to<gcoord_origins, std::vector<SessionOrigin>>(callback, user));
}

gcoord_status gcoord_holder_origins_async(gcoord_client* client,
                                          const char* name,
                                          gcoord_origins_callback callback,
                                          void* user,
                                          gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {name, "name"}},
      callback,
      error,
      [&] { return Result{client->client.holder_origins_async(name)}; },
      giving_to<gcoord_origins, std::vector<SessionOrigin>>(callback, user));
}

void gcoord_origins_free(gcoord_origins* origins) {
  delete origins;
}

size_t gcoord_origins_size(const gcoord_origins* origins) {
  return origins != nullptr ? origins->origins.size() : 0;
}

gcoord_session_origin gcoord_origins_get(const gcoord_origins* origins, size_t index) {
  if (index >= gcoord_origins_size(origins)) {
    return {};
  }
  const SessionOrigin& origin = origins->origins[index];
  return {.session_id = origin.session_id,
          .since_ms = origin.since_ms,
          .principal_kind = origin.principal_kind.c_str(),
          .principal = origin.principal.c_str(),
          .address_class = origin.address_class.c_str(),
          .address = origin.address.c_str(),
          .client = origin.client.c_str()};
}
