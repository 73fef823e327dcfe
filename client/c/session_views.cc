// Sessions as the cluster knows them, for C.
#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_async.h"
#include "gcoord/gcoord_sessions.h"

using namespace gcoord::client;

struct gcoord_session_description {
  SessionDescription described;
};

struct gcoord_session_page {
  SessionsPage page;
};

namespace {

gcoord_session_facts facts_of(const SessionDescription& described) {
  return {.session_id = described.session_id,
          .alive = described.alive,
          .granted = described.granted,
          .ttl_ms = described.ttl.count(),
          .remaining_ms = described.remaining.count(),
          .shard_count = described.shard_count,
          .lock_count = described.lock_count};
}

Result<SessionListOptions> options_of(const gcoord_session_list_options& given) {
  GCOORD_TRY_STATUS(initialised(given));
  if (given.filter < GCOORD_SESSIONS_ALL || given.filter > GCOORD_SESSIONS_IDLE) {
    return failure(gcoord::protocol::ErrorCode::OptionInvalid, "filter");
  }
  if (given.remaining_below_ms < GCOORD_FOREVER) {
    return failure(gcoord::protocol::ErrorCode::OptionInvalid, "remaining_below_ms is negative");
  }
  SessionListOptions options{.filter = static_cast<SessionFilter>(given.filter),
                             .limit = given.limit,
                             .count_only = given.count_only,
                             .cursor = given.cursor != nullptr ? given.cursor : ""};
  if (given.remaining_below_ms != GCOORD_FOREVER) {
    options.remaining_below = std::chrono::milliseconds{given.remaining_below_ms};
  }
  return options;
}

}  // namespace

gcoord_status gcoord_session_describe(gcoord_client* client,
                                      uint64_t session_id,
                                      gcoord_session_description** description,
                                      gcoord_error* error) {
  return border(error, {{client, "client"}, {description, "description"}}, [&] {
    return give(client->client.session(session_id), description);
  });
}

gcoord_status gcoord_session_describe_async(gcoord_client* client,
                                            uint64_t session_id,
                                            gcoord_session_description_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  return begin_async(
      {{client, "client"}},
      callback,
      error,
      [&] { return Result{client->client.session_async(session_id)}; },
      giving_to<gcoord_session_description, SessionDescription>(callback, user));
}

void gcoord_session_description_free(gcoord_session_description* description) {
  delete description;
}

gcoord_session_facts gcoord_session_description_facts(
    const gcoord_session_description* description) {
  return description != nullptr ? facts_of(description->described) : gcoord_session_facts{};
}

size_t gcoord_session_description_keys(const gcoord_session_description* description) {
  return description != nullptr ? description->described.keys.size() : 0;
}

const char* gcoord_session_description_key(const gcoord_session_description* description,
                                           size_t index) {
  return index < gcoord_session_description_keys(description)
             ? description->described.keys[index].c_str()
             : nullptr;
}

gcoord_status gcoord_session_keep_alive_once(gcoord_client* client,
                                             uint64_t session_id,
                                             gcoord_session_facts* facts,
                                             gcoord_error* error) {
  return border(error, {{client, "client"}, {facts, "facts"}}, [&]() -> Status {
    const auto described = client->client.keep_alive_once(session_id);
    if (described.ok()) {
      *facts = facts_of(described.value());
    }
    return described.status();
  });
}

gcoord_status gcoord_session_keep_alive_once_async(gcoord_client* client,
                                                   uint64_t session_id,
                                                   gcoord_session_facts_callback callback,
                                                   void* user,
                                                   gcoord_error* error) {
  return begin_async(
      {{client, "client"}},
      callback,
      error,
      [&] { return Result{client->client.keep_alive_once_async(session_id)}; },
      telling<SessionDescription>(callback, user, facts_of));
}

void gcoord_session_list_options_init(gcoord_session_list_options* options) {
  if (begin_options(options)) {
    options->remaining_below_ms = GCOORD_FOREVER;
    options->limit = SessionListOptions{}.limit;
  }
}

gcoord_status gcoord_session_list(gcoord_client* client,
                                  const gcoord_session_list_options* options,
                                  gcoord_session_page** page,
                                  gcoord_error* error) {
  return border(error, {{client, "client"}, {options, "options"}, {page, "page"}}, [&]() -> Status {
    const auto how = options_of(*options);
    return how.ok() ? give(client->client.list_sessions(how.value()), page) : how.status();
  });
}

void gcoord_session_page_free(gcoord_session_page* page) {
  delete page;
}

size_t gcoord_session_page_size(const gcoord_session_page* page) {
  return page != nullptr ? page->page.sessions.size() : 0;
}

gcoord_session_facts gcoord_session_page_facts(const gcoord_session_page* page, size_t index) {
  return index < gcoord_session_page_size(page) ? facts_of(page->page.sessions[index])
                                                : gcoord_session_facts{};
}

uint64_t gcoord_session_page_count(const gcoord_session_page* page) {
  return page != nullptr ? page->page.count : 0;
}

const char* gcoord_session_page_cursor(const gcoord_session_page* page) {
  return page != nullptr ? page->page.next_cursor.c_str() : "";
}

bool gcoord_session_page_complete(const gcoord_session_page* page) {
  return page != nullptr && page->page.complete;
}
