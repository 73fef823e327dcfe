// Looks at locks, for C: descriptions and pages of them.
#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_async.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

using namespace gcoord::client;

using gcoord::protocol::ErrorCode;

namespace {

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
  GCOORD_TRY_STATUS(initialised(*given));
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
  return border(error, {{client, "client"}, {name, "name"}, {description, "description"}}, [&] {
    return give(client->client.get(name, waiters), description);
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
  return border(error, {{client, "client"}, {page, "page"}}, [&]() -> Status {
    GCOORD_TRY(const auto how, list_options_of(options));
    auto listed = client->client.list(how);
    if (listed.ok()) {
      *page = page_of(std::move(listed).value());
    }
    return listed.status();
  });
}

gcoord_status gcoord_read_list(gcoord_client* client,
                               const gcoord_list_options* list,
                               const gcoord_read_options* options,
                               gcoord_page** page,
                               gcoord_error* error) {
  return border(error, {{client, "client"}, {page, "page"}}, [&]() -> Status {
    GCOORD_TRY(const auto what, list_options_of(list));
    GCOORD_TRY(const auto how, read_options_of(options));
    auto read = client->client.read_list(what, how);
    if (read.ok()) {
      *page = page_of(std::move(read.value().page));
      (*page)->node_id = read.value().node_id;
      (*page)->shards = std::move(read.value().shards);
    }
    return read.status();
  });
}

gcoord_status gcoord_get(gcoord_client* client,
                         const char* name,
                         gcoord_holder* holder,
                         gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, {holder, "holder"}}, [&]() -> Status {
    const auto lock = client->client.get(name);
    if (lock.ok()) {
      *holder = {lock.value().holder_session,
                 lock.value().token,
                 lock.value().ttl_left.count(),
                 lock.value().waiter_count};
    }
    return lock.status();
  });
}

gcoord_status gcoord_describe_async(gcoord_client* client,
                                    const char* name,
                                    bool waiters,
                                    gcoord_description_callback callback,
                                    void* user,
                                    gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {name, "name"}},
      callback,
      error,
      [&] { return Result{client->client.get_async(name, waiters)}; },
      giving_to<gcoord_description, LockDescription>(callback, user));
}

void gcoord_description_free(gcoord_description* description) {
  delete description;
}

gcoord_lock_facts gcoord_description_lock(const gcoord_description* description) {
  if (description == nullptr) {
    return {.name = "", .note = ""};
  }
  const LockDescription& lock = description->lock;
  return {.name = lock.name.c_str(),
          .shard = lock.shard,
          .holder_session = lock.holder_session,
          .token = lock.token,
          .acquired_index = lock.acquired_index,
          .ttl_left_ms = lock.ttl_left.count(),
          .waiter_count = lock.waiter_count,
          .hold_count = lock.hold_count,
          .permits_max = lock.permits_max,
          .note = lock.note.c_str(),
          .note_bytes = lock.note.size()};
}

size_t gcoord_description_waiters(const gcoord_description* description) {
  return description != nullptr ? description->lock.waiters.size() : 0;
}

gcoord_waiter gcoord_description_waiter(const gcoord_description* description, size_t index) {
  if (index >= gcoord_description_waiters(description)) {
    return {};
  }
  const Waiter& waiter = description->lock.waiters[index];
  return {waiter.session_id, waiter.sequence, waiter.waited.count()};
}

size_t gcoord_description_sharers(const gcoord_description* description) {
  return description != nullptr ? description->lock.holders.size() : 0;
}

gcoord_sharer gcoord_description_sharer(const gcoord_description* description, size_t index) {
  if (index >= gcoord_description_sharers(description)) {
    return {};
  }
  const Holder& holder = description->lock.holders[index];
  return {holder.session_id, holder.token, holder.acquired_index, holder.permits};
}

void gcoord_page_free(gcoord_page* page) {
  delete page;
}

size_t gcoord_page_size(const gcoord_page* page) {
  return page != nullptr ? page->locks.size() : 0;
}

const gcoord_description* gcoord_page_lock(const gcoord_page* page, size_t index) {
  return index < gcoord_page_size(page) ? &page->locks[index] : nullptr;
}

const char* gcoord_page_cursor(const gcoord_page* page) {
  return page != nullptr ? page->next_cursor.c_str() : "";
}

bool gcoord_page_complete(const gcoord_page* page) {
  return page != nullptr && page->complete;
}

uint32_t gcoord_page_node_id(const gcoord_page* page) {
  return page != nullptr ? page->node_id : 0;
}

size_t gcoord_page_shards(const gcoord_page* page) {
  return page != nullptr ? page->shards.size() : 0;
}

gcoord_freshness gcoord_page_shard(const gcoord_page* page, size_t index) {
  if (index >= gcoord_page_shards(page)) {
    return {};
  }
  const Freshness& at = page->shards[index];
  return {at.shard, at.index, at.age.has_value() ? at.age->count() : -1};
}
