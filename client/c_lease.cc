// Leases, for C.
#include "client/c_border.h"
#include "client/failure.h"

#include <memory>
#include <utility>

using namespace gcoord::client;

namespace gcoord::client {

std::function<void(Result<Lease>)> lease_giving_to(gcoord_lease_callback callback,
                                                   void* user,
                                                   const std::shared_ptr<EventGate>& gate) {
  return [callback, user, gate](Result<Lease> taken) {
    gcoord_error why{};
    gcoord_lease* handle = nullptr;
    const gcoord_status status = guarded(&why, [&]() -> Status {
      if (!taken.ok()) {
        shut(gate);
        return taken.status();
      }
      handle = new gcoord_lease{std::move(taken).value(), gate};
      return {};
    });
    callback(user, handle, status == GCOORD_OK ? nullptr : &why);
  };
}

}  // namespace gcoord::client

gcoord_status gcoord_lease_take(gcoord_client* client,
                                const char* name,
                                int64_t ttl_ms,
                                int64_t wait_ms,
                                gcoord_event_callback on_event,
                                void* user,
                                gcoord_lease** lease,
                                gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const auto how = wait_of(wait_ms);
    const Status given = first_failure(
        {required({{client, "client"}, {name, "name"}, {lease, "lease"}}), how.status()});
    if (!given.ok()) {
      return given;
    }
    auto gate = gate_of(on_event, user);
    auto taken = client->client.take_lease(name,
                                           {.ttl = std::chrono::milliseconds{ttl_ms},
                                            .wait = how.value().wait,
                                            .on_event = events_through(gate)});
    if (!taken.ok()) {
      return taken.status();
    }
    *lease = new gcoord_lease{std::move(taken).value(), std::move(gate)};
    return {};
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
  return guarded(error, [&]() -> Status {
    const auto how = wait_of(wait_ms);
    const Status given =
        first_failure({required({{client, "client"},
                                 {name, "name"},
                                 {reinterpret_cast<const void*>(callback), "callback"}}),
                       how.status()});
    if (!given.ok()) {
      return given;
    }
    auto gate = gate_of(on_event, event_user);
    const LeaseOptions options{.ttl = std::chrono::milliseconds{ttl_ms},
                               .wait = how.value().wait,
                               .on_event = events_through(gate)};
    client->client.take_lease_async(name, options).then(lease_giving_to(callback, user, gate));
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
  return guarded(error, [&]() -> Status {
    Status given = required({{lease, "lease"}});
    return given.ok() ? lease->lease.release() : given;
  });
}

void gcoord_lease_detach(gcoord_lease* lease) {
  if (lease != nullptr) {
    lease->lease.detach();
  }
}

gcoord_status gcoord_lease_renew(gcoord_lease* lease, gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{lease, "lease"}});
    return given.ok() ? lease->lease.renew() : given;
  });
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
