// Looks at locks, linearizable and as fresh as asked, for C.
#include "client/c_border.h"
#include "client/failure.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

using namespace gcoord::client;

using gcoord::rpc::ErrorCode;

namespace gcoord::client {

Result<ReadOptions> read_options_of(const gcoord_read_options* given) {
  if (given == nullptr) {
    return failure(ErrorCode::OptionMissing, "options");
  }
  if (Status filled = initialised(*given); !filled.ok()) {
    return filled;
  }
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

namespace {

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

// A node's cursor is any bytes, and text ends with NUL: two digits stand for each of them.
std::string text_of_cursor(const std::string& cursor) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : cursor) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

// Empty for what is none.
std::optional<std::string> cursor_of_text(std::string_view text) {
  std::string cursor;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned value = 0;
    const char* end = text.data() + std::min(at + 2, text.size());
    const auto [stop, error] = std::from_chars(text.data() + at, end, value, 16);
    if (error != std::errc{} || stop != text.data() + at + 2) {
      return std::nullopt;
    }
    cursor += static_cast<char>(value);
  }
  return cursor;
}

gcoord_page* page_of(LockPage page) {
  auto made = std::make_unique<gcoord_page>();
  for (LockDescription& lock : page.locks) {
    made->locks.push_back({std::move(lock)});
  }
  made->next_cursor = text_of_cursor(page.next_cursor);
  made->complete = page.complete;
  return made.release();
}

Result<ListOptions> list_options_of(const gcoord_list_options* given) {
  if (given == nullptr) {
    return failure(ErrorCode::OptionMissing, "options");
  }
  if (Status filled = initialised(*given); !filled.ok()) {
    return filled;
  }
  auto cursor = cursor_of_text(given->cursor != nullptr ? given->cursor : "");
  if (!cursor.has_value()) {
    return failure(ErrorCode::CursorTooLong);
  }
  return ListOptions{.prefix = given->prefix != nullptr ? given->prefix : "",
                     .cursor = *std::move(cursor),
                     .limit = given->limit,
                     .waiters = given->waiters,
                     .quorum = given->quorum};
}

}  // namespace

gcoord_status gcoord_describe(gcoord_client* client,
                              const char* name,
                              bool waiters,
                              gcoord_description** description,
                              gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{client, "client"}, {name, "name"}, {description, "description"}});
    return given.ok() ? give(client->client.get(name, waiters), description) : given;
  });
}

void gcoord_list_options_init(gcoord_list_options* options) {
  if (begin_options(options)) {
    options->limit = ListOptions{}.limit;
  }
}

gcoord_status gcoord_list(gcoord_client* client,
                          const gcoord_list_options* options,
                          gcoord_page** page,
                          gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const auto how = list_options_of(options);
    const Status given =
        first_failure({required({{client, "client"}, {page, "page"}}), how.status()});
    if (!given.ok()) {
      return given;
    }
    auto listed = client->client.list(how.value());
    if (listed.ok()) {
      *page = page_of(std::move(listed).value());
    }
    return listed.status();
  });
}

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
  return guarded(error, [&]() -> Status {
    const auto how = read_options_of(options);
    const Status given = first_failure(
        {required({{client, "client"}, {name, "name"}, {lock, "lock"}}), how.status()});
    if (!given.ok()) {
      return given;
    }
    return give_reading(client->client.read(name, how.value()), lock, at);
  });
}

gcoord_status gcoord_read_at(gcoord_client* client,
                             const char* name,
                             uint64_t index,
                             uint32_t node_id,
                             gcoord_description** lock,
                             gcoord_freshness* at,
                             gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const Status given = required({{client, "client"}, {name, "name"}, {lock, "lock"}});
    return given.ok() ? give_reading(client->client.read_at(name, index, node_id), lock, at)
                      : given;
  });
}

gcoord_status gcoord_read_check(gcoord_client* client,
                                const char* name,
                                uint64_t token,
                                const gcoord_read_options* options,
                                int32_t* verdict,
                                gcoord_freshness* at,
                                gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const auto how = read_options_of(options);
    const Status given = first_failure(
        {required({{client, "client"}, {name, "name"}, {verdict, "verdict"}}), how.status()});
    if (!given.ok()) {
      return given;
    }
    const auto reading = client->client.read_check(name, token, how.value());
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
  return guarded(error, [&]() -> Status {
    const auto how = read_options_of(options);
    const Status given = first_failure({required({{client, "client"}, {locks, "locks"}}),
                                        names_given(names, count),
                                        how.status()});
    if (!given.ok()) {
      return given;
    }
    const std::vector<std::string> list(names, names + count);
    auto reading = client->client.read_batch(list, how.value());
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
  return guarded(error, [&]() -> Status {
    const auto how = read_options_of(options);
    const auto checks = checks_of(names, tokens, count);
    const Status given = first_failure(
        {required({{client, "client"}, {verdicts, "verdicts"}}), checks.status(), how.status()});
    if (!given.ok()) {
      return given;
    }
    const auto reading = client->client.read_check_batch(checks.value(), how.value());
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

gcoord_status gcoord_read_list(gcoord_client* client,
                               const gcoord_list_options* list,
                               const gcoord_read_options* options,
                               gcoord_page** page,
                               gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const auto what = list_options_of(list);
    const auto how = read_options_of(options);
    const Status given = first_failure(
        {required({{client, "client"}, {page, "page"}}), what.status(), how.status()});
    if (!given.ok()) {
      return given;
    }
    auto read = client->client.read_list(what.value(), how.value());
    if (read.ok()) {
      *page = page_of(std::move(read.value().page));
      (*page)->node_id = read.value().node_id;
      (*page)->shards = std::move(read.value().shards);
    }
    return read.status();
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
