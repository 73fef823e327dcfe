// Who leads in an election, one after the other, for C.
#include "client/c_border.h"
#include "gcoord/gcoord_watch.h"

#include <utility>

using namespace gcoord::client;

struct gcoord_leader_stream {
  LeaderStream stream;
  LeaderStream::Office office{};  // What the last next gave.
};

gcoord_status gcoord_observe(gcoord_client* client,
                             const char* name,
                             gcoord_leader_stream** stream,
                             gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{client, "client"}, {name, "name"}, {stream, "stream"}});
    return given.ok() ? give(client->client.observe(name), stream) : given;
  });
}

gcoord_status gcoord_leader_stream_next(gcoord_leader_stream* stream,
                                        int64_t timeout_ms,
                                        gcoord_office* office,
                                        gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const auto how = wait_of(timeout_ms);
    const Status given =
        first_failure({required({{stream, "stream"}, {office, "office"}}), how.status()});
    if (!given.ok()) {
      return given;
    }
    LeaderStream::Office next;
    if (timeout_ms == GCOORD_FOREVER) {
      auto came = stream->stream.next();
      if (!came.ok()) {
        return came.status();
      }
      next = std::move(came).value();
    } else {
      auto came = stream->stream.next(how.value().wait);
      if (!came.ok()) {
        return came.status();
      }
      next = std::move(came).value().value_or(LeaderStream::Office{});
    }
    stream->office = std::move(next);
    *office = {stream->office.session_id,
               stream->office.epoch,
               stream->office.value.c_str(),
               stream->office.value.size()};
    return {};
  });
}

void gcoord_leader_stream_close(gcoord_leader_stream* stream) {
  if (stream != nullptr) {
    stream->stream.close();
  }
}

void gcoord_leader_stream_free(gcoord_leader_stream* stream) {
  delete stream;
}
