// Elections for C: the line, and what a leader does with it.
#include "client/c_border.h"
#include "client/failure.h"
#include "gcoord/gcoord_async.h"

#include <vector>

using namespace gcoord::client;

namespace {

Result<CampaignOptions> campaign_of(const gcoord_campaign_options& fields) {
  const auto how = wait_of(fields.wait_ms);
  if (!how.ok()) {
    return how.status();
  }
  if (fields.hysteresis_ms < 0 && fields.hysteresis_ms != GCOORD_FOREVER) {
    return failure(gcoord::rpc::ErrorCode::OptionInvalid, "hysteresis_ms is negative");
  }
  if (fields.review_ms < 0) {
    return failure(gcoord::rpc::ErrorCode::OptionInvalid, "review_ms is negative");
  }
  if (fields.value == nullptr && fields.value_bytes != 0) {
    return failure(gcoord::rpc::ErrorCode::OptionMissing, "value");
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
  return guarded(error, [&]() -> Status {
    Status given = required({{election, "election"},
                             {options, "options"},
                             {reinterpret_cast<const void*>(callback), "callback"}});
    if (!given.ok()) {
      return given;
    }
    const auto how = campaign_of(*options);
    if (!how.ok()) {
      return how.status();
    }
    election->election.campaign_async(how.value()).then([callback, user](const Status& status) {
      gcoord_error why{};
      report(status, &why);
      callback(user, status.ok() ? nullptr : &why);
    });
    return {};
  });
}

gcoord_status gcoord_election_stand(gcoord_election* election,
                                    const gcoord_campaign_options* options,
                                    gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{election, "election"}, {options, "options"}});
    if (!given.ok()) {
      return given;
    }
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
  return guarded(error, [&]() -> Status {
    Status given = required({{election, "election"}, {value, "value"}});
    return given.ok() ? election->election.proclaim({value, value_bytes}) : given;
  });
}

gcoord_status gcoord_election_transfer(gcoord_election* election,
                                       uint64_t session_id,
                                       gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{election, "election"}});
    return given.ok() ? election->election.transfer(session_id) : given;
  });
}

gcoord_status gcoord_candidates(gcoord_client* client,
                                const char* name,
                                gcoord_candidate_callback callback,
                                void* user,
                                gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{client, "client"},
                             {name, "name"},
                             {reinterpret_cast<const void*>(callback), "callback"}});
    if (!given.ok()) {
      return given;
    }
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
  return guarded(error, [&]() -> Status {
    Status given = required({{client, "client"}, {name, "name"}});
    return given.ok() ? client->client.ask_transfer(name, session_id, epoch) : given;
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
