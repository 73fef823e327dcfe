// Reads as fresh as the caller asks, and checks of tokens, for C. Those that do not wait show their
// answers to a callback, or give them to it.
#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_async.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace gcoord::client;

using gcoord::protocol::ErrorCode;

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

void tell(const Freshness& at, gcoord_freshness* told) {
  if (told != nullptr) {
    *told = freshness_of(at);
  }
}

Status give_reading(Result<LockReading> reading, gcoord_description** lock, gcoord_freshness* at) {
  if (reading.ok()) {
    auto& found = reading.value().lock;
    *lock = found.has_value() ? new gcoord_description{*std::move(found)} : nullptr;
    tell(reading.value().at, at);
  }
  return reading.status();
}

// A batch has at most as many shards as names, which is the room that there is.
void tell_all(const std::vector<Freshness>& shards,
              size_t room,
              gcoord_freshness* told,
              size_t* count) {
  const size_t told_count = std::min(shards.size(), room);
  for (size_t index = 0; told != nullptr && index < told_count; ++index) {
    told[index] = freshness_of(shards[index]);
  }
  if (count != nullptr) {
    *count = told_count;
  }
}

}  // namespace

namespace gcoord::client {

Result<ReadOptions> read_options_of(const gcoord_read_options* given) {
  if (given == nullptr) {
    return failure(ErrorCode::OptionMissing, "options");
  }
  GCOORD_TRY_STATUS(initialised(*given));
  if (given->consistency < GCOORD_LINEARIZABLE || given->consistency > GCOORD_MONOTONIC) {
    return failure(ErrorCode::OptionInvalid, "consistency");
  }
  if (given->max_staleness_ms < 0) {
    return failure(ErrorCode::OptionInvalid, "max_staleness_ms is negative");
  }
  if (given->after == nullptr && given->after_count != 0) {
    return failure(ErrorCode::OptionMissing, "after");
  }
  ReadOptions options;
  options.consistency = static_cast<Consistency>(given->consistency);
  options.max_staleness = std::chrono::milliseconds{given->max_staleness_ms};
  for (size_t index = 0; index < given->after_count; ++index) {
    options.after.push_back({given->after[index].shard, given->after[index].index});
  }
  options.node_id = given->node_id;
  return options;
}

gcoord_freshness freshness_of(const Freshness& at) {
  return {at.shard, at.index, at.age.has_value() ? at.age->count() : -1};
}

Result<std::vector<TokenCheck>> checks_of(const char* const* names,
                                          const std::uint64_t* tokens,
                                          std::size_t count) {
  const Status given = first_failure({required({{tokens, "tokens"}}), names_given(names, count)});
  if (!given.ok()) {
    return given;
  }
  std::vector<TokenCheck> checks;
  checks.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    checks.push_back({names[index], tokens[index]});
  }
  return checks;
}

}  // namespace gcoord::client

void gcoord_read_options_init(gcoord_read_options* options) {
  if (begin_options(options)) {
    options->consistency = static_cast<int32_t>(ReadOptions{}.consistency);
  }
}

gcoord_status gcoord_read(gcoord_client* client,
                          const char* name,
                          const gcoord_read_options* options,
                          gcoord_description** lock,
                          gcoord_freshness* at,
                          gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, {lock, "lock"}}, [&]() -> Status {
    GCOORD_TRY(const auto how, read_options_of(options));
    return give_reading(client->client.read(name, how), lock, at);
  });
}

gcoord_status gcoord_read_at(gcoord_client* client,
                             const char* name,
                             uint64_t index,
                             uint32_t node_id,
                             gcoord_description** lock,
                             gcoord_freshness* at,
                             gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, {lock, "lock"}}, [&] {
    return give_reading(client->client.read_at(name, index, node_id), lock, at);
  });
}

gcoord_status gcoord_read_check(gcoord_client* client,
                                const char* name,
                                uint64_t token,
                                const gcoord_read_options* options,
                                int32_t* verdict,
                                gcoord_freshness* at,
                                gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, {verdict, "verdict"}}, [&]() -> Status {
    GCOORD_TRY(const auto how, read_options_of(options));
    const auto reading = client->client.read_check(name, token, how);
    if (reading.ok()) {
      *verdict = static_cast<int32_t>(reading.value().verdict);
      tell(reading.value().at, at);
    }
    return reading.status();
  });
}

gcoord_status gcoord_read_batch(gcoord_client* client,
                                const char* const* names,
                                size_t count,
                                const gcoord_read_options* options,
                                gcoord_description** locks,
                                gcoord_freshness* shards,
                                size_t* shard_count,
                                gcoord_error* error) {
  return border(error, {{client, "client"}, {locks, "locks"}}, [&]() -> Status {
    GCOORD_TRY_STATUS(names_given(names, count));
    GCOORD_TRY(const auto how, read_options_of(options));
    const std::vector<std::string> list(names, names + count);
    auto reading = client->client.read_batch(list, how);
    if (!reading.ok()) {
      return reading.status();
    }
    // All of them are made before one is given.
    std::vector<std::unique_ptr<gcoord_description>> made;
    for (auto& answer : reading.value().answers) {
      made.push_back(answer.has_value()
                         ? std::make_unique<gcoord_description>(gcoord_description{*answer})
                         : nullptr);
    }
    for (size_t index = 0; index < made.size(); ++index) {
      locks[index] = made[index].release();
    }
    tell_all(reading.value().shards, count, shards, shard_count);
    return {};
  });
}

gcoord_status gcoord_read_check_batch(gcoord_client* client,
                                      const char* const* names,
                                      const uint64_t* tokens,
                                      size_t count,
                                      const gcoord_read_options* options,
                                      int32_t* verdicts,
                                      gcoord_freshness* shards,
                                      size_t* shard_count,
                                      gcoord_error* error) {
  return border(error, {{client, "client"}, {verdicts, "verdicts"}}, [&]() -> Status {
    GCOORD_TRY(const auto checks, checks_of(names, tokens, count));
    GCOORD_TRY(const auto how, read_options_of(options));
    const auto reading = client->client.read_check_batch(checks, how);
    if (!reading.ok()) {
      return reading.status();
    }
    for (size_t index = 0; index < count; ++index) {
      verdicts[index] = static_cast<int32_t>(reading.value().answers[index]);
    }
    tell_all(reading.value().shards, count, shards, shard_count);
    return {};
  });
}

size_t gcoord_positions(const gcoord_client* client, gcoord_position* positions, size_t room) {
  if (client == nullptr) {
    return 0;
  }
  const std::vector<Position> seen = client->client.positions();
  for (size_t index = 0; positions != nullptr && index < seen.size() && index < room; ++index) {
    positions[index] = {seen[index].shard, seen[index].index};
  }
  return seen.size();
}

gcoord_status gcoord_check(gcoord_client* client,
                           const char* name,
                           uint64_t token,
                           int32_t* verdict,
                           gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, {verdict, "verdict"}}, [&]() -> Status {
    const auto checked = client->client.check(name, token);
    *verdict = checked.ok() ? static_cast<std::int32_t>(checked.value()) : *verdict;
    return checked.status();
  });
}

gcoord_status gcoord_check_async(gcoord_client* client,
                                 const char* name,
                                 uint64_t token,
                                 gcoord_check_callback callback,
                                 void* user,
                                 gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, callee(callback)}, [&]() -> Status {
    client->client.check_async(name, token, [callback, user](const Result<Verdict>& verdict) {
      gcoord_error why{};
      report(verdict.status(), &why);
      callback(user,
               verdict.ok() ? static_cast<std::int32_t>(verdict.value()) : 0,
               verdict.ok() ? nullptr : &why);
    });
    return {};
  });
}

gcoord_status gcoord_check_batch(gcoord_client* client,
                                 const char* const* names,
                                 const uint64_t* tokens,
                                 size_t count,
                                 int32_t* verdicts,
                                 gcoord_error* error) {
  return border(error, {{client, "client"}, {verdicts, "verdicts"}}, [&]() -> Status {
    GCOORD_TRY(const auto checks, checks_of(names, tokens, count));
    const auto checked = client->client.check_batch(checks);
    for (std::size_t at = 0; checked.ok() && at < count; ++at) {
      verdicts[at] = static_cast<std::int32_t>(checked.value()[at]);
    }
    return checked.status();
  });
}

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
