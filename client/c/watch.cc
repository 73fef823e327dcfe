// Watches, for C.
#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_watch.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

using namespace gcoord::client;

struct gcoord_watch {
  Watch watch;
};

struct gcoord_batch {
  WatchBatch batch;
};

namespace {

// Of the first version.
constexpr std::size_t kFirstBytes = offsetof(gcoord_watch_options, progress_interval_ms);

gcoord_watch_options default_options() {
  static const WatchOptions defaults;
  gcoord_watch_options options{};
  options.struct_bytes = sizeof options;
  options.progress_interval_ms = defaults.progress_interval.count();
  options.queue_bytes_max = defaults.queue_bytes_max;
  return options;
}

Status take_options(const gcoord_watch_options& given, WatchOptions& options) {
  if (given.progress_interval_ms < 0) {
    return failure(gcoord::protocol::ErrorCode::OptionInvalid, "progress_interval_ms is negative");
  }
  if (given.from == nullptr && given.from_count != 0) {
    return failure(gcoord::protocol::ErrorCode::OptionMissing, "from");
  }
  options.name = given.name != nullptr ? given.name : "";
  options.session_id = given.session_id;
  options.waiters = given.waiters;
  options.previous = given.previous != 0;
  options.from_revision = given.from_revision;
  options.progress_interval = std::chrono::milliseconds{given.progress_interval_ms};
  options.queue_bytes_max = given.queue_bytes_max;
  if (given.prefix != nullptr) {
    options.prefix = given.prefix;
  }
  for (std::uint32_t kind = 0; kind < 32; ++kind) {
    if ((given.kinds >> kind & 1u) != 0) {
      options.kinds.push_back(static_cast<EventKind>(kind));
    }
  }
  for (std::size_t k = 0; k < given.from_count; ++k) {
    options.from.push_back({given.from[k].shard, given.from[k].revision});
  }
  return Status{};
}

// What hands batches to a callback of C, if there is one.
Watch::Callback callback_of(const gcoord_watch_options& given) {
  if (given.on_batch == nullptr) {
    return {};
  }
  return [callback = given.on_batch, user = given.user](const Result<WatchBatch>& told) {
    gcoord_error why{};
    gcoord_batch batch;
    const gcoord_status status = guarded(&why, [&]() -> Status {
      if (told.ok()) {
        batch.batch = told.value();
      }
      return told.status();
    });
    const bool ok = status == GCOORD_OK;
    callback(user, ok ? &batch : nullptr, ok ? nullptr : &why);
  };
}

std::size_t fill(std::span<const Revision> places, gcoord_revision* revisions, std::size_t room) {
  for (std::size_t k = 0; revisions != nullptr && k < std::min(room, places.size()); ++k) {
    revisions[k] = {places[k].shard, places[k].revision};
  }
  return places.size();
}

}  // namespace

void(gcoord_watch_options_init)(gcoord_watch_options* options) {
  fill_options(options, default_options(), kFirstBytes);
}

void gcoord_watch_options_init_as(gcoord_watch_options* options, size_t struct_bytes) {
  fill_options(options, default_options(), struct_bytes);
}

gcoord_status gcoord_watch_open(gcoord_client* client,
                                const gcoord_watch_options* options,
                                gcoord_watch** watch,
                                gcoord_error* error) {
  return border(
      error, {{client, "client"}, {options, "options"}, {watch, "watch"}}, [&]() -> Status {
        GCOORD_TRY(const auto all, whole(*options, default_options(), kFirstBytes));
        WatchOptions how;
        GCOORD_TRY_STATUS(take_options(all, how));
        return give(client->client.watch(std::move(how), callback_of(all)), watch);
      });
}

gcoord_status gcoord_watch_next(gcoord_watch* watch,
                                int64_t timeout_ms,
                                gcoord_batch** batch,
                                gcoord_error* error) {
  return border(error, {{watch, "watch"}, {batch, "batch"}}, [&]() -> Status {
    GCOORD_TRY(const auto how, wait_of(timeout_ms));
    if (timeout_ms == GCOORD_FOREVER) {
      return give(watch->watch.next(), batch);
    }
    auto next = watch->watch.next(how.wait);
    if (!next.ok()) {
      return next.status();
    }
    *batch = next.value() ? new gcoord_batch{*std::move(next).value()} : nullptr;
    return {};
  });
}

gcoord_status gcoord_watch_event_fd(gcoord_watch* watch, int* fd, gcoord_error* error) {
  return border(error, {{watch, "watch"}, {fd, "fd"}}, [&]() -> Status {
    const auto made = watch->watch.event_fd();
    if (made.ok()) {
      *fd = made.value();
    }
    return made.status();
  });
}

size_t gcoord_watch_revisions(const gcoord_watch* watch, gcoord_revision* revisions, size_t room) {
  return watch != nullptr ? fill(watch->watch.revisions(), revisions, room) : 0;
}

gcoord_status gcoord_watch_progress(gcoord_watch* watch,
                                    int64_t timeout_ms,
                                    gcoord_revision* revisions,
                                    size_t room,
                                    size_t* count,
                                    gcoord_error* error) {
  return border(error, {{watch, "watch"}}, [&]() -> Status {
    GCOORD_TRY(const auto how, wait_of(timeout_ms));
    const auto places = watch->watch.progress(how.wait);
    if (places.ok()) {
      const std::size_t known = fill(places.value(), revisions, room);
      if (count != nullptr) {
        *count = known;
      }
    }
    return places.status();
  });
}

gcoord_revision gcoord_watch_first_revision(const gcoord_watch* watch) {
  if (watch == nullptr) {
    return {};
  }
  const Revision first = watch->watch.first_revision();
  return {first.shard, first.revision};
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

gcoord_watch_previous gcoord_batch_previous(const gcoord_batch* batch, size_t index) {
  if (index >= gcoord_batch_size(batch)) {
    return {};
  }
  const PreviousHold& previous = batch->batch.events[index].previous;
  if (previous.kind != PreviousKind::Hold) {
    return {.kind = static_cast<int32_t>(previous.kind)};
  }
  return {.kind = GCOORD_PREVIOUS_HOLD,
          .token = previous.token,
          .session_id = previous.session_id,
          .value = previous.value.data(),
          .value_bytes = previous.value.size()};
}

void gcoord_batch_free(gcoord_batch* batch) {
  delete batch;
}
