// Sessions with options: opened, granted, attached to, and bound to health checks, for C.
#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_async.h"
#include "gcoord/gcoord_sessions.h"
#include "security/credentials/password.h"
#include "security/credentials/session_key.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

using namespace gcoord::client;

namespace {

using gcoord::protocol::ErrorCode;
using std::chrono::milliseconds;

static_assert(GCOORD_STARVE == static_cast<int>(UnhealthyAction::Starve));
static_assert(GCOORD_SESSION_KEY_ROOM > gcoord::security::kSessionKeyTextBytesMax);
static_assert(GCOORD_CLOSE == static_cast<int>(UnhealthyAction::Close));

Result<HealthCheck> check_of(const gcoord_health_check& given) {
  if (given.what == nullptr) {
    return failure(ErrorCode::OptionMissing, "what");
  }
  auto check = parse_health_check(given.what);
  if (check.ok() && given.interval_ms != 0) {
    check.value().interval = milliseconds{given.interval_ms};
  }
  if (check.ok() && given.timeout_ms != 0) {
    check.value().timeout = milliseconds{given.timeout_ms};
  }
  if (check.ok() && given.failures != 0) {
    check.value().failures = given.failures;
  }
  return check;
}

void tell_report(const std::shared_ptr<EventGate>& gate,
                 gcoord_report_callback callback,
                 const CheckReport& report) {
  const gcoord_check_report told{report.check,
                                 report.passing,
                                 report.failures_in_row,
                                 report.session_healthy,
                                 report.evidence.c_str()};
  gate->pass_to([callback, &told](void* user) { callback(user, &told); });
}

Result<SessionHealth> health_of(const gcoord_session_options& given,
                                const std::shared_ptr<EventGate>& gate) {
  if (given.checks == nullptr && given.check_count != 0) {
    return failure(ErrorCode::OptionMissing, "checks");
  }
  SessionHealth health;
  for (size_t index = 0; index < given.check_count; ++index) {
    auto check = check_of(given.checks[index]);
    if (!check.ok()) {
      return check.status();
    }
    health.checks.push_back(std::move(check).value());
  }
  const bool known = given.on_unhealthy == GCOORD_STARVE || given.on_unhealthy == GCOORD_CLOSE;
  if (!known) {
    return failure(ErrorCode::OptionInvalid, "on_unhealthy");
  }
  health.on_unhealthy = static_cast<UnhealthyAction>(given.on_unhealthy);
  if (given.on_report != nullptr) {
    health.on_report = [gate, callback = given.on_report](const CheckReport& report) {
      tell_report(gate, callback, report);
    };
  }
  return health;
}

std::function<void(const LostLock&)> losses_of(const gcoord_session_options& given,
                                               const std::shared_ptr<EventGate>& gate) {
  if (given.on_lost == nullptr) {
    return losses_through(gate);
  }
  return [gate, callback = given.on_lost](const LostLock& lost) {
    gate->pass_to([&](void* user) { callback(user, lost.name.c_str(), lost.token); });
  };
}

// Of the first version.
constexpr std::size_t kFirstSessionBytes = offsetof(gcoord_session_options, session_key);

gcoord_session_options default_session_options() {
  gcoord_session_options options{};
  options.struct_bytes = sizeof options;
  options.ttl_ms = SessionOptions{}.ttl.count();
  options.on_unhealthy = GCOORD_STARVE;
  return options;
}

// What the three ways of coming by a session share: make(all, health, gate) -> Result<Session>.
template <typename Make>
gcoord_status with_options(gcoord_client* client,
                           const gcoord_session_options* options,
                           gcoord_session** session,
                           gcoord_error* error,
                           Make make) {
  return border(
      error, {{client, "client"}, {options, "options"}, {session, "session"}}, [&]() -> Status {
        GCOORD_TRY(const auto all, whole(*options, default_session_options(), kFirstSessionBytes));
        const auto gate = std::make_shared<EventGate>(all.on_event, all.user);
        auto health = health_of(all, gate);
        if (!health.ok()) {
          return health.status();
        }
        return give(make(all, std::move(health).value(), gate), session, gate);
      });
}

// The same of the ways that do not wait: begin(all, health, gate) -> Future<Result<Session>>.
template <typename Begin>
gcoord_status begin_with_options(gcoord_client* client,
                                 const gcoord_session_options* options,
                                 gcoord_session_callback callback,
                                 void* user,
                                 gcoord_error* error,
                                 Begin begin) {
  return border(
      error, {{client, "client"}, {options, "options"}, callee(callback)}, [&]() -> Status {
        GCOORD_TRY(const auto all, whole(*options, default_session_options(), kFirstSessionBytes));
        const auto gate = std::make_shared<EventGate>(all.on_event, all.user);
        auto health = health_of(all, gate);
        if (health.ok()) {
          begin(all, std::move(health).value(), gate)
              .then(giving_to<gcoord_session, Session>(callback, user, gate));
        }
        return health.status();
      });
}

SessionOptions opening_of(const gcoord_session_options& given,
                          SessionHealth health,
                          const std::shared_ptr<EventGate>& gate) {
  return {.ttl = milliseconds{given.ttl_ms},
          .on_event = events_through(gate),
          .on_lost = losses_of(given, gate),
          .health = std::move(health)};
}

GrantOptions grant_of(const gcoord_session_options& given,
                      SessionHealth health,
                      const std::shared_ptr<EventGate>& gate) {
  return {.ttl = milliseconds{given.ttl_ms},
          .session_id = given.session_id,
          .on_event = events_through(gate),
          .on_lost = losses_of(given, gate),
          .health = std::move(health)};
}

// What a lease is taken with; GC1001 for options that nobody has filled.
Result<LeaseOptions> lease_options_of(const gcoord_session_options& options,
                                      std::int64_t wait_ms,
                                      const std::shared_ptr<EventGate>& gate) {
  const auto how = wait_of(wait_ms);
  const auto all = whole(options, default_session_options(), kFirstSessionBytes);
  if (const Status usable = first_failure({all.status(), how.status()}); !usable.ok()) {
    return usable;
  }
  const gcoord_session_options& given = all.value();
  auto health = health_of(given, gate);
  if (!health.ok()) {
    return health.status();
  }
  return LeaseOptions{.ttl = milliseconds{given.ttl_ms},
                      .wait = how.value().wait,
                      .on_event = events_through(gate),
                      .health = std::move(health).value()};
}

}  // namespace

void(gcoord_session_options_init)(gcoord_session_options* options) {
  fill_options(options, default_session_options(), kFirstSessionBytes);
}

void gcoord_session_options_init_as(gcoord_session_options* options, size_t struct_bytes) {
  fill_options(options, default_session_options(), struct_bytes);
}

gcoord_status gcoord_session_key(const gcoord_session* session,
                                 char* key,
                                 size_t room,
                                 gcoord_error* error) {
  return border(error, {{session, "session"}, {key, "key"}}, [&]() -> Status {
    std::string text = session->session.key();
    if (text.size() >= room) {
      gcoord::security::wipe(text);
      return failure(ErrorCode::OptionInvalid, "the key needs more room");
    }
    std::memcpy(key, text.c_str(), text.size() + 1);
    gcoord::security::wipe(text);
    return {};
  });
}

gcoord_status gcoord_session_open_as(gcoord_client* client,
                                     const gcoord_session_options* options,
                                     gcoord_session** session,
                                     gcoord_error* error) {
  return with_options(
      client,
      options,
      session,
      error,
      [&](const auto& all, SessionHealth health, const auto& gate) {
        return client->client.open_session(opening_of(all, std::move(health), gate));
      });
}

gcoord_status gcoord_session_open_as_async(gcoord_client* client,
                                           const gcoord_session_options* options,
                                           gcoord_session_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  const auto begin = [&](const auto& all, SessionHealth health, const auto& gate) {
    return client->client.open_session_async(opening_of(all, std::move(health), gate));
  };
  return begin_with_options(client, options, callback, user, error, begin);
}

gcoord_status gcoord_session_grant(gcoord_client* client,
                                   const gcoord_session_options* options,
                                   gcoord_session** session,
                                   gcoord_error* error) {
  return with_options(client,
                      options,
                      session,
                      error,
                      [&](const auto& all, SessionHealth health, const auto& gate) {
                        return client->client.grant_session(grant_of(all, std::move(health), gate));
                      });
}

gcoord_status gcoord_session_grant_async(gcoord_client* client,
                                         const gcoord_session_options* options,
                                         gcoord_session_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  const auto begin = [&](const auto& all, SessionHealth health, const auto& gate) {
    return client->client.grant_session_async(grant_of(all, std::move(health), gate));
  };
  return begin_with_options(client, options, callback, user, error, begin);
}

gcoord_status gcoord_session_attach(gcoord_client* client,
                                    const gcoord_session_options* options,
                                    bool keep_alive,
                                    uint64_t first_sequence,
                                    gcoord_session** session,
                                    gcoord_error* error) {
  return with_options(client,
                      options,
                      session,
                      error,
                      [&](const auto& all, SessionHealth health, const auto& gate) {
                        return client->client.attach_session(
                            {.session_id = all.session_id,
                             .ttl = milliseconds{all.ttl_ms},
                             .session_key = all.session_key != nullptr ? all.session_key : "",
                             .first_sequence = first_sequence,
                             .keep_alive = keep_alive,
                             .on_event = events_through(gate),
                             .health = std::move(health)});
                      });
}

gcoord_status gcoord_lease_take_as(gcoord_client* client,
                                   const char* name,
                                   const gcoord_session_options* options,
                                   int64_t wait_ms,
                                   gcoord_lease** lease,
                                   gcoord_error* error) {
  return border(error,
                {{client, "client"}, {name, "name"}, {options, "options"}, {lease, "lease"}},
                [&]() -> Status {
                  auto gate = std::make_shared<EventGate>(options->on_event, options->user);
                  auto how = lease_options_of(*options, wait_ms, gate);
                  if (!how.ok()) {
                    return how.status();
                  }
                  return give(client->client.take_lease(name, std::move(how).value()), lease, gate);
                });
}

gcoord_status gcoord_lease_take_as_async(gcoord_client* client,
                                         const char* name,
                                         const gcoord_session_options* options,
                                         int64_t wait_ms,
                                         gcoord_lease_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return gcoord_lease_take_stoppable_async(
      client, name, options, wait_ms, nullptr, callback, user, error);
}

gcoord_status gcoord_lease_take_stoppable_async(gcoord_client* client,
                                                const char* name,
                                                const gcoord_session_options* options,
                                                int64_t wait_ms,
                                                const gcoord_stop* stop,
                                                gcoord_lease_callback callback,
                                                void* user,
                                                gcoord_error* error) {
  return border(error,
                {{client, "client"}, {name, "name"}, {options, "options"}, callee(callback)},
                [&]() -> Status {
                  auto gate = std::make_shared<EventGate>(options->on_event, options->user);
                  auto how = lease_options_of(*options, wait_ms, gate);
                  if (how.ok()) {
                    how.value().stop = token_of(stop);
                    client->client.take_lease_async(name, std::move(how).value())
                        .then(giving_to<gcoord_lease, Lease>(callback, user, gate));
                  }
                  return how.status();
                });
}

int64_t gcoord_session_certain_until_ns(const gcoord_session* session) {
  return session != nullptr ? session->session.certain_until().count() : 0;
}

bool gcoord_session_healthy(const gcoord_session* session) {
  return session != nullptr && session->session.healthy();
}
