// Leases, for C.
#include "client/c/border.h"
#include "gcoord/gcoord_async.h"

using namespace gcoord::client;

gcoord_status gcoord_lease_take(gcoord_client* client,
                                const char* name,
                                int64_t ttl_ms,
                                int64_t wait_ms,
                                gcoord_event_callback on_event,
                                void* user,
                                gcoord_lease** lease,
                                gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, {lease, "lease"}}, [&]() -> Status {
    GCOORD_TRY(const auto how, wait_of(wait_ms));
    auto gate = gate_of(on_event, user);
    return give(client->client.take_lease(name,
                                          {.ttl = std::chrono::milliseconds{ttl_ms},
                                           .wait = how.wait,
                                           .on_event = events_through(gate)}),
                lease,
                gate);
  });
}

gcoord_status gcoord_lease_take_async(gcoord_client* client,
                                      const char* name,
                                      int64_t ttl_ms,
                                      int64_t wait_ms,
                                      gcoord_event_callback on_event,
                                      void* event_user,
                                      gcoord_lease_callback callback,
                                      void* user,
                                      gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, callee(callback)}, [&]() -> Status {
    GCOORD_TRY(const auto how, wait_of(wait_ms));
    auto gate = gate_of(on_event, event_user);
    const LeaseOptions options{.ttl = std::chrono::milliseconds{ttl_ms},
                               .wait = how.wait,
                               .on_event = events_through(gate)};
    client->client.take_lease_async(name, options)
        .then(giving_to<gcoord_lease, Lease>(callback, user, gate));
    return {};
  });
}

void gcoord_lease_free(gcoord_lease* lease) {
  if (lease != nullptr) {
    shut(lease->gate);
    delete lease;
  }
}

gcoord_status gcoord_lease_release(gcoord_lease* lease, gcoord_error* error) {
  return border(error, {{lease, "lease"}}, [&] { return lease->lease.release(); });
}

void gcoord_lease_detach(gcoord_lease* lease) {
  if (lease != nullptr) {
    lease->lease.detach();
  }
}

gcoord_status gcoord_lease_renew(gcoord_lease* lease, gcoord_error* error) {
  return border(error, {{lease, "lease"}}, [&] { return lease->lease.renew(); });
}

const char* gcoord_lease_name(const gcoord_lease* lease) {
  return lease != nullptr ? lease->lease.name().c_str() : "";
}

uint64_t gcoord_lease_fence(const gcoord_lease* lease) {
  return lease != nullptr ? lease->lease.fence() : 0;
}

uint64_t gcoord_lease_session_id(const gcoord_lease* lease) {
  return lease != nullptr ? lease->lease.session_id() : 0;
}

int64_t gcoord_lease_remaining_ms(const gcoord_lease* lease) {
  return lease != nullptr ? lease->lease.remaining().count() : 0;
}

int64_t gcoord_lease_certain_until_ns(const gcoord_lease* lease) {
  return lease != nullptr ? lease->lease.certain_until().count() : 0;
}

bool gcoord_lease_valid(const gcoord_lease* lease) {
  return lease != nullptr && lease->lease.valid();
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
