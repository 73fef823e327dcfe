// Watches, for C.
#include "client/c_border.h"
#include "client/failure.h"
#include "gcoord/gcoord_watch.h"

#include <string>
#include <utility>

using namespace gcoord::client;

struct gcoord_watch {
  Watch watch;
};

struct gcoord_batch {
  WatchBatch batch;
};

namespace {

WatchOptions options_of(const gcoord_watch_options& given) {
  WatchOptions options{.name = given.name != nullptr ? given.name : "",
                       .session_id = given.session_id,
                       .waiters = given.waiters,
                       .from_revision = given.from_revision};
  if (given.prefix != nullptr) {
    options.prefix = given.prefix;
  }
  for (std::size_t k = 0; given.from != nullptr && k < given.from_count; ++k) {
    options.from.push_back({given.from[k].shard, given.from[k].revision});
  }
  return options;
}

}  // namespace

void gcoord_watch_options_init(gcoord_watch_options* options) {
  begin_options(options);
}

gcoord_status gcoord_watch_open(gcoord_client* client,
                                const gcoord_watch_options* options,
                                gcoord_watch** watch,
                                gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{client, "client"}, {options, "options"}, {watch, "watch"}});
    if (!given.ok()) {
      return given;
    }
    if (Status filled = initialised(*options); !filled.ok()) {
      return filled;
    }
    return give(client->client.watch(options_of(*options)), watch);
  });
}

gcoord_status gcoord_watch_next(gcoord_watch* watch,
                                int64_t timeout_ms,
                                gcoord_batch** batch,
                                gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const auto how = wait_of(timeout_ms);
    const Status given =
        first_failure({required({{watch, "watch"}, {batch, "batch"}}), how.status()});
    if (!given.ok()) {
      return given;
    }
    if (timeout_ms == GCOORD_FOREVER) {
      return give(watch->watch.next(), batch);
    }
    auto next = watch->watch.next(how.value().wait);
    if (!next.ok()) {
      return next.status();
    }
    *batch = next.value() ? new gcoord_batch{*std::move(next).value()} : nullptr;
    return {};
  });
}

void gcoord_watch_close(gcoord_watch* watch) {
  if (watch != nullptr) {
    watch->watch.close();
  }
}

void gcoord_watch_free(gcoord_watch* watch) {
  delete watch;
}

uint32_t gcoord_batch_shard(const gcoord_batch* batch) {
  return batch != nullptr ? batch->batch.shard : 0;
}

uint64_t gcoord_batch_revision(const gcoord_batch* batch) {
  return batch != nullptr ? batch->batch.revision : 0;
}

size_t gcoord_batch_size(const gcoord_batch* batch) {
  return batch != nullptr ? batch->batch.events.size() : 0;
}

gcoord_watch_event gcoord_batch_event(const gcoord_batch* batch, size_t index) {
  if (index >= gcoord_batch_size(batch)) {
    return {};
  }
  const WatchEvent& event = batch->batch.events[index];
  return {.kind = static_cast<int32_t>(event.kind),
          .token = event.token,
          .session_id = event.session_id,
          .name = event.name.c_str(),
          .value = event.value.data(),
          .value_bytes = event.value.size()};
}

void gcoord_batch_free(gcoord_batch* batch) {
  delete batch;
}
