// Reads that do not wait, for C: their answers are seen by the callback, or given to it.
#include "client/c_border.h"
#include "gcoord/gcoord_async.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace gcoord::client;

namespace {

using Description = std::unique_ptr<gcoord_description>;
using LocksReading = BatchReading<std::optional<LockDescription>>;
using VerdictsReading = BatchReading<Verdict>;

// None for a lock that is neither held nor waited for.
Description description_of(std::optional<LockDescription> lock) {
  return lock.has_value()
             ? std::make_unique<gcoord_description>(gcoord_description{*std::move(lock)})
             : nullptr;
}

std::vector<gcoord_freshness> told(const std::vector<Freshness>& shards) {
  std::vector<gcoord_freshness> all;
  all.reserve(shards.size());
  for (const Freshness& each : shards) {
    all.push_back(freshness_of(each));
  }
  return all;
}

auto reading_to(gcoord_reading_callback callback, void* user) {
  return [callback, user](Result<LockReading> reading) {
    gcoord_error why{};
    Description lock;
    gcoord_freshness at{};
    const gcoord_status status = guarded(&why, [&]() -> Status {
      if (reading.ok()) {
        lock = description_of(std::move(reading.value().lock));
        at = freshness_of(reading.value().at);
      }
      return reading.status();
    });
    const bool ok = status == GCOORD_OK;
    callback(user, lock.release(), ok ? &at : nullptr, ok ? nullptr : &why);
  };
}

// All descriptions are made before one is given.
auto readings_to(gcoord_readings_callback callback, void* user) {
  return [callback, user](Result<LocksReading> reading) {
    gcoord_error why{};
    std::vector<Description> made;
    std::vector<gcoord_description*> locks;
    std::vector<gcoord_freshness> shards;
    const gcoord_status status = guarded(&why, [&]() -> Status {
      if (reading.ok()) {
        for (auto& answer : reading.value().answers) {
          made.push_back(description_of(std::move(answer)));
        }
        locks.reserve(made.size());
        shards = told(reading.value().shards);
      }
      return reading.status();
    });
    if (status != GCOORD_OK) {
      return callback(user, nullptr, 0, nullptr, 0, &why);
    }
    for (Description& each : made) {
      locks.push_back(each.release());
    }
    callback(user, locks.data(), locks.size(), shards.data(), shards.size(), nullptr);
  };
}

void tell_verdicts(const Result<VerdictsReading>& reading,
                   gcoord_verdicts_callback callback,
                   void* user) {
  gcoord_error why{};
  std::vector<std::int32_t> verdicts;
  std::vector<gcoord_freshness> shards;
  const gcoord_status status = guarded(&why, [&]() -> Status {
    if (reading.ok()) {
      for (const Verdict each : reading.value().answers) {
        verdicts.push_back(static_cast<std::int32_t>(each));
      }
      shards = told(reading.value().shards);
    }
    return reading.status();
  });
  if (status != GCOORD_OK) {
    return callback(user, nullptr, 0, nullptr, 0, &why);
  }
  callback(user, verdicts.data(), verdicts.size(), shards.data(), shards.size(), nullptr);
}

}  // namespace

gcoord_status gcoord_read_async(gcoord_client* client,
                                const char* name,
                                const gcoord_read_options* options,
                                gcoord_reading_callback callback,
                                void* user,
                                gcoord_error* error) {
  const auto ask = [&]() -> Result<Future<Result<LockReading>>> {
    const auto how = read_options_of(options);
    if (!how.ok()) {
      return how.status();
    }
    return client->client.read_async(name, how.value());
  };
  return begin_async(
      {{client, "client"}, {name, "name"}}, callback, error, ask, reading_to(callback, user));
}

gcoord_status gcoord_read_at_async(gcoord_client* client,
                                   const char* name,
                                   uint64_t index,
                                   uint32_t node_id,
                                   gcoord_reading_callback callback,
                                   void* user,
                                   gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {name, "name"}},
      callback,
      error,
      [&] { return Result{client->client.read_at_async(name, index, node_id)}; },
      reading_to(callback, user));
}

gcoord_status gcoord_read_batch_async(gcoord_client* client,
                                      const char* const* names,
                                      size_t count,
                                      const gcoord_read_options* options,
                                      gcoord_readings_callback callback,
                                      void* user,
                                      gcoord_error* error) {
  const auto ask = [&]() -> Result<Future<Result<LocksReading>>> {
    const auto how = read_options_of(options);
    const Status given = first_failure({names_given(names, count), how.status()});
    if (!given.ok()) {
      return given;
    }
    const std::vector<std::string> list(names, names + count);
    return client->client.read_batch_async(list, how.value());
  };
  return begin_async({{client, "client"}}, callback, error, ask, readings_to(callback, user));
}

gcoord_status gcoord_read_check_async(gcoord_client* client,
                                      const char* name,
                                      uint64_t token,
                                      const gcoord_read_options* options,
                                      gcoord_verdict_callback callback,
                                      void* user,
                                      gcoord_error* error) {
  const auto ask = [&]() -> Result<Future<Result<VerdictReading>>> {
    const auto how = read_options_of(options);
    if (!how.ok()) {
      return how.status();
    }
    return client->client.read_check_async(name, token, how.value());
  };
  const auto tell = [callback, user](const Result<VerdictReading>& reading) {
    if (!reading.ok()) {
      gcoord_error why{};
      report(reading.status(), &why);
      return callback(user, 0, nullptr, &why);
    }
    const gcoord_freshness at = freshness_of(reading.value().at);
    callback(user, static_cast<std::int32_t>(reading.value().verdict), &at, nullptr);
  };
  return begin_async({{client, "client"}, {name, "name"}}, callback, error, ask, tell);
}

gcoord_status gcoord_read_check_batch_async(gcoord_client* client,
                                            const char* const* names,
                                            const uint64_t* tokens,
                                            size_t count,
                                            const gcoord_read_options* options,
                                            gcoord_verdicts_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  const auto ask = [&]() -> Result<Future<Result<VerdictsReading>>> {
    const auto how = read_options_of(options);
    const auto checks = checks_of(names, tokens, count);
    const Status given = first_failure({checks.status(), how.status()});
    if (!given.ok()) {
      return given;
    }
    return client->client.read_check_batch_async(checks.value(), how.value());
  };
  const auto tell = [callback, user](const Result<VerdictsReading>& reading) {
    tell_verdicts(reading, callback, user);
  };
  return begin_async({{client, "client"}}, callback, error, ask, tell);
}

gcoord_status gcoord_check_batch_async(gcoord_client* client,
                                       const char* const* names,
                                       const uint64_t* tokens,
                                       size_t count,
                                       gcoord_verdicts_callback callback,
                                       void* user,
                                       gcoord_error* error) {
  const auto ask = [&]() -> Result<Future<Result<std::vector<Verdict>>>> {
    const auto checks = checks_of(names, tokens, count);
    if (!checks.ok()) {
      return checks.status();
    }
    return client->client.check_batch_async(checks.value());
  };
  const auto tell = [callback, user](Result<std::vector<Verdict>> verdicts) {
    const bool ok = verdicts.ok();
    tell_verdicts(ok ? Result{VerdictsReading{std::move(verdicts).value(), {}}}
                     : Result<VerdictsReading>{verdicts.status()},
                  callback,
                  user);
  };
  return begin_async({{client, "client"}}, callback, error, ask, tell);
}
