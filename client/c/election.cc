// Elections for C: campaigns, leaders and those who wait to lead.
#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_async.h"
#include "gcoord/gcoord_sessions.h"
#include "gcoord/gcoord_watch.h"

#include <utility>
#include <vector>

using namespace gcoord::client;

struct gcoord_leader_stream {
  LeaderStream stream;
  LeaderStream::Office office{};  // What the last next gave.
};

namespace {

gcoord_holder holder_of(const Leader& leader) {
  return {leader.session_id, leader.epoch, leader.ttl_left.count(), leader.candidates_waiting};
}

Result<CampaignOptions> campaign_of(const gcoord_campaign_options& fields) {
  const auto how = wait_of(fields.wait_ms);
  if (!how.ok()) {
    return how.status();
  }
  if (fields.hysteresis_ms < 0 && fields.hysteresis_ms != GCOORD_FOREVER) {
    return failure(gcoord::protocol::ErrorCode::OptionInvalid, "hysteresis_ms is negative");
  }
  if (fields.review_ms < 0) {
    return failure(gcoord::protocol::ErrorCode::OptionInvalid, "review_ms is negative");
  }
  if (fields.value == nullptr && fields.value_bytes != 0) {
    return failure(gcoord::protocol::ErrorCode::OptionMissing, "value");
  }
  CampaignOptions options;
  options.wait = how.value().wait;
  options.value = {fields.value != nullptr ? fields.value : "", fields.value_bytes};
  options.priority = fields.priority;
  options.hysteresis = fields.hysteresis_ms == GCOORD_FOREVER
                           ? kForever
                           : std::chrono::milliseconds{fields.hysteresis_ms};
  options.review = std::chrono::milliseconds{fields.review_ms};
  return options;
}

// The leader first; views of what the election says.
std::vector<gcoord_candidate> line_of(const ElectionView& election) {
  const Leader& leader = election.leader;
  std::vector<gcoord_candidate> line{
      {leader.session_id, 0, 0, leader.value.c_str(), leader.value.size()}};
  for (const CandidateView& each : election.candidates) {
    line.push_back({each.session_id,
                    each.waited.count(),
                    each.priority,
                    each.value.c_str(),
                    each.value.size()});
  }
  return line;
}

}  // namespace

gcoord_status gcoord_election_make(gcoord_session* session,
                                   const char* name,
                                   gcoord_election** election,
                                   gcoord_error* error) {
  return border(
      error, {{session, "session"}, {name, "name"}, {election, "election"}}, [&]() -> Status {
        *election = new gcoord_election{session->session.election(name)};
        return {};
      });
}

void gcoord_election_free(gcoord_election* election) {
  delete election;
}

gcoord_status gcoord_election_resign(gcoord_election* election, gcoord_error* error) {
  return border(error, {{election, "election"}}, [&] { return election->election.resign(); });
}

gcoord_status gcoord_election_campaign(gcoord_election* election,
                                       int64_t wait_ms,
                                       gcoord_error* error) {
  return border(error, {{election, "election"}}, [&]() -> Status {
    GCOORD_TRY(const auto how, wait_of(wait_ms));
    return election->election.campaign({.wait = how.wait});
  });
}

gcoord_status gcoord_election_campaign_async(gcoord_election* election,
                                             int64_t wait_ms,
                                             gcoord_campaign_callback callback,
                                             void* user,
                                             gcoord_error* error) {
  return begin_change(
      {{election, "election"}}, callback, user, error, [&]() -> Result<Future<Status>> {
        GCOORD_TRY(const auto how, wait_of(wait_ms));
        return election->election.campaign_async({.wait = how.wait});
      });
}

const char* gcoord_election_name(const gcoord_election* election) {
  return election != nullptr ? election->election.name().c_str() : "";
}

bool gcoord_election_is_leader(const gcoord_election* election) {
  return election != nullptr && election->election.is_leader();
}

bool gcoord_election_is_leader_at(const gcoord_election* election, int64_t now_ns) {
  return election != nullptr && election->election.is_leader(TimePoint{now_ns});
}

int64_t gcoord_election_leader_until_ns(const gcoord_election* election) {
  return election != nullptr ? election->election.leader_until().count() : 0;
}

uint64_t gcoord_election_epoch(const gcoord_election* election) {
  return election != nullptr ? election->election.epoch() : 0;
}

void gcoord_campaign_options_init(gcoord_campaign_options* options) {
  if (options != nullptr) {
    *options = {GCOORD_FOREVER, nullptr, 0, 0, GCOORD_FOREVER, 0};
  }
}

gcoord_status gcoord_election_stand_async(gcoord_election* election,
                                          const gcoord_campaign_options* options,
                                          gcoord_campaign_callback callback,
                                          void* user,
                                          gcoord_error* error) {
  return begin_change({{election, "election"}, {options, "options"}},
                      callback,
                      user,
                      error,
                      [&]() -> Result<Future<Status>> {
                        GCOORD_TRY(const auto how, campaign_of(*options));
                        return election->election.campaign_async(how);
                      });
}

gcoord_status gcoord_election_stand(gcoord_election* election,
                                    const gcoord_campaign_options* options,
                                    gcoord_error* error) {
  return border(error, {{election, "election"}, {options, "options"}}, [&]() -> Status {
    const auto how = campaign_of(*options);
    return how.ok() ? election->election.campaign(how.value()) : how.status();
  });
}

void gcoord_election_detach(gcoord_election* election) {
  if (election != nullptr) {
    election->election.detach();
  }
}

gcoord_status gcoord_election_proclaim(gcoord_election* election,
                                       const char* value,
                                       size_t value_bytes,
                                       gcoord_error* error) {
  return border(error, {{election, "election"}, {value, "value"}}, [&] {
    return election->election.proclaim({value, value_bytes});
  });
}

gcoord_status gcoord_election_transfer(gcoord_election* election,
                                       uint64_t session_id,
                                       gcoord_error* error) {
  return border(
      error, {{election, "election"}}, [&] { return election->election.transfer(session_id); });
}

gcoord_status gcoord_candidates(gcoord_client* client,
                                const char* name,
                                gcoord_candidate_callback callback,
                                void* user,
                                gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, callee(callback)}, [&]() -> Status {
    const auto found = client->client.candidates(name);
    if (!found.ok()) {
      return found.status();
    }
    const auto line = line_of(found.value());
    for (size_t place = 0; place < line.size(); ++place) {
      callback(user, place, place == 0 ? found.value().leader.epoch : 0, &line[place]);
    }
    return {};
  });
}

gcoord_status gcoord_candidates_async(gcoord_client* client,
                                      const char* name,
                                      gcoord_line_callback callback,
                                      void* user,
                                      gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {name, "name"}},
      callback,
      error,
      [&] { return Result{client->client.candidates_async(name)}; },
      [callback, user](const Result<ElectionView>& found) {
        gcoord_error why{};
        std::vector<gcoord_candidate> line;
        const gcoord_status status = guarded(&why, [&] {
          if (found.ok()) {
            line = line_of(found.value());
          }
          return found.status();
        });
        const bool ok = status == GCOORD_OK;
        callback(user,
                 ok ? found.value().leader.epoch : 0,
                 ok ? line.data() : nullptr,
                 ok ? line.size() : 0,
                 ok ? nullptr : &why);
      });
}

gcoord_status gcoord_ask_transfer(gcoord_client* client,
                                  const char* name,
                                  uint64_t session_id,
                                  uint64_t epoch,
                                  gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}}, [&] {
    return client->client.ask_transfer(name, session_id, epoch);
  });
}

gcoord_status gcoord_ask_transfer_async(gcoord_client* client,
                                        const char* name,
                                        uint64_t session_id,
                                        uint64_t epoch,
                                        gcoord_done_callback callback,
                                        void* user,
                                        gcoord_error* error) {
  return begin_change({{client, "client"}, {name, "name"}}, callback, user, error, [&] {
    return client->client.ask_transfer_async(name, session_id, epoch);
  });
}

gcoord_status gcoord_leader(gcoord_client* client,
                            const char* name,
                            gcoord_holder* leader,
                            gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, {leader, "leader"}}, [&]() -> Status {
    const auto found = client->client.leader(name);
    if (found.ok()) {
      *leader = holder_of(found.value());
    }
    return found.status();
  });
}

gcoord_status gcoord_leader_async(gcoord_client* client,
                                  const char* name,
                                  gcoord_holder_callback callback,
                                  void* user,
                                  gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {name, "name"}},
      callback,
      error,
      [&] { return Result{client->client.leader_async(name)}; },
      telling<Leader>(callback, user, holder_of));
}

gcoord_status gcoord_session_proclaim_async(gcoord_session* session,
                                            const char* name,
                                            uint64_t epoch,
                                            const char* value,
                                            size_t value_bytes,
                                            gcoord_done_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  return begin_change(
      {{session, "session"}, {name, "name"}, {value, "value"}}, callback, user, error, [&] {
        return session->session.proclaim_async(name, epoch, {value, value_bytes});
      });
}

gcoord_status gcoord_session_transfer_async(gcoord_session* session,
                                            const char* name,
                                            uint64_t epoch,
                                            uint64_t session_id,
                                            gcoord_done_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  return begin_change({{session, "session"}, {name, "name"}}, callback, user, error, [&] {
    return session->session.transfer_async(name, epoch, session_id);
  });
}

gcoord_status gcoord_election_proclaim_async(gcoord_election* election,
                                             const char* value,
                                             size_t value_bytes,
                                             gcoord_done_callback callback,
                                             void* user,
                                             gcoord_error* error) {
  return begin_change({{election, "election"}, {value, "value"}}, callback, user, error, [&] {
    return election->election.proclaim_async({value, value_bytes});
  });
}

gcoord_status gcoord_election_resign_async(gcoord_election* election,
                                           gcoord_done_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return begin_change({{election, "election"}}, callback, user, error, [&] {
    return election->election.resign_async();
  });
}

gcoord_status gcoord_election_transfer_async(gcoord_election* election,
                                             uint64_t session_id,
                                             gcoord_done_callback callback,
                                             void* user,
                                             gcoord_error* error) {
  return begin_change({{election, "election"}}, callback, user, error, [&] {
    return election->election.transfer_async(session_id);
  });
}

gcoord_status gcoord_session_proclaim(gcoord_session* session,
                                      const char* name,
                                      uint64_t epoch,
                                      const char* value,
                                      size_t value_bytes,
                                      gcoord_error* error) {
  return border(error, {{session, "session"}, {name, "name"}, {value, "value"}}, [&] {
    return session->session.proclaim(name, epoch, {value, value_bytes});
  });
}

gcoord_status gcoord_session_transfer(gcoord_session* session,
                                      const char* name,
                                      uint64_t epoch,
                                      uint64_t session_id,
                                      gcoord_error* error) {
  return border(error, {{session, "session"}, {name, "name"}}, [&] {
    return session->session.transfer(name, epoch, session_id);
  });
}

gcoord_status gcoord_observe(gcoord_client* client,
                             const char* name,
                             gcoord_leader_stream** stream,
                             gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}, {stream, "stream"}}, [&] {
    return give(client->client.observe(name), stream);
  });
}

gcoord_status gcoord_leader_stream_next(gcoord_leader_stream* stream,
                                        int64_t timeout_ms,
                                        gcoord_office* office,
                                        gcoord_error* error) {
  return border(error, {{stream, "stream"}, {office, "office"}}, [&]() -> Status {
    GCOORD_TRY(const auto how, wait_of(timeout_ms));
    LeaderStream::Office next;
    if (timeout_ms == GCOORD_FOREVER) {
      auto came = stream->stream.next();
      if (!came.ok()) {
        return came.status();
      }
      next = std::move(came).value();
    } else {
      auto came = stream->stream.next(how.wait);
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
