// Elections for C: the line, and what a leader does with it.
#include "client/c_border.h"
#include "client/failure.h"

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
    const Leader& leader = found.value().leader;
    const gcoord_candidate first{
        leader.session_id, 0, 0, leader.value.c_str(), leader.value.size()};
    callback(user, 0, leader.epoch, &first);
    size_t place = 0;
    for (const CandidateView& each : found.value().candidates) {
      const gcoord_candidate next{each.session_id,
                                  each.waited.count(),
                                  each.priority,
                                  each.value.c_str(),
                                  each.value.size()};
      callback(user, ++place, 0, &next);
    }
    return {};
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
