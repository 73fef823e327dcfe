#include "gcoord/rendezvous.h"

#include "client/api/client_impl.h"
#include "client/core/acquire_request.h"
#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/core/session_impl.h"
#include "client/groups/requests.h"
#include "client/net/failure.h"
#include "gcoord/client.h"
#include "gcoord/session.h"
#include "protocol/lock_messages.h"
#include "protocol/rendezvous/messages.h"
#include "protocol/validate.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;
using std::chrono::milliseconds;

using Joined = Result<RendezvousRound>;
using Seen = Result<RendezvousState>;

// A node waits no longer than this for a change, so neither does a request.
constexpr milliseconds kQueryWaitMax{60'000};

ErrorCode check_known(const Core& core, ErrorCode code) {
  return check_feature(core, protocol::Feature::Rendezvous, code);
}

// Of a time that is not negative; others are refused with the bounds.
std::uint32_t ms_of(milliseconds time) {
  constexpr std::int64_t kMax = std::numeric_limits<std::uint32_t>::max();
  return time.count() < 0 ? static_cast<std::uint32_t>(kMax)
                          : static_cast<std::uint32_t>(std::min<std::int64_t>(time.count(), kMax));
}

Joined round_of(const Answer& answer) {
  if (!answer.status.ok()) {
    return answer.status;
  }
  auto members = protocol::decode_rendezvous_round(answer.payload);
  if (!members.ok() || answer.slot.extra >= members.value().size()) {
    return failure(ErrorCode::ReplyMalformed, "round of a rendezvous");
  }
  RendezvousRound round{.round = answer.slot.token,
                        .rank = static_cast<std::uint32_t>(answer.slot.extra),
                        .members = {}};
  for (protocol::RendezvousMemberRow& member : members.value()) {
    round.members.push_back({member.session.value, std::move(member.payload)});
  }
  return round;
}

Seen state_of(const Answer& answer) {
  if (!answer.status.ok()) {
    return answer.status;
  }
  const auto decoded = protocol::decode_rendezvous_state(answer.payload);
  if (!decoded.ok()) {
    return failure(ErrorCode::ReplyMalformed, "state of a rendezvous");
  }
  const protocol::RendezvousState& state = decoded.value();
  return RendezvousState{.version = state.version,
                         .round = state.round,
                         .alive = state.alive,
                         .size = state.size,
                         .present = state.present,
                         .waiting = state.waiting,
                         .members_min = state.members_min,
                         .members_max = state.members_max,
                         .last_call = state.last_call};
}

struct Party {
  const std::shared_ptr<SessionImpl>& session;
  const std::string& name;

  Core& core() const { return session->core(); }
};

void start_join(const Party& party, const RendezvousOptions& options, Callback<Joined> callback) {
  const protocol::RendezvousJoin join{.members_min = options.members_min,
                                      .members_max = options.members_max,
                                      .last_call_ms = ms_of(options.last_call),
                                      .name = party.name,
                                      .payload = options.payload};
  const ErrorCode code = first_of({check_known(party.core(), protocol::check_rendezvous_join(join)),
                                   protocol::check_wait(protocol_ms(options.timeout))});
  if (code != ErrorCode::None) {
    return refuse<Joined>(party.core(), std::move(callback), failure(code));
  }
  OperationPtr operation = group_request(*party.session, RequestKind::RendezvousJoin, party.name);
  let_wait(*party.session, *operation, options.timeout);
  operation->payload = protocol::text_of(protocol::encode_rendezvous_join(join));
  send_request(
      party.session, std::move(operation), [callback = std::move(callback)](const Answer& answer) {
        callback(round_of(answer));
      });
}

void start_leave(const Party& party, Callback<Status> callback) {
  const ErrorCode code = check_known(party.core(), protocol::check_rendezvous_name(party.name));
  if (code != ErrorCode::None) {
    return refuse<Status>(party.core(), std::move(callback), failure(code));
  }
  send_request(party.session,
               group_request(*party.session, RequestKind::RendezvousLeave, party.name),
               [callback = std::move(callback)](const Answer& answer) { callback(answer.status); });
}

// What is asked: the version that is known, and how long to wait for another one.
struct Query {
  std::uint64_t version = 0;
  milliseconds wait{0};
};

void start_query(Core& core, const std::string& name, const Query& query, Callback<Seen> callback) {
  const ErrorCode code = check_known(core, protocol::check_rendezvous_name(name));
  if (code != ErrorCode::None) {
    return refuse<Seen>(core, std::move(callback), failure(code));
  }
  OperationPtr operation = name_operation(core, RequestKind::RendezvousGet, name);
  operation->payload = protocol::text_of(protocol::encode_rendezvous_query({query.version, name}));
  if (query.wait > milliseconds{0}) {
    const TimePoint wait{std::min(query.wait, kQueryWaitMax)};
    operation->slot.set(protocol::RequestFlag::Wait);
    operation->wait_until = core.clock().now() + wait;
    operation->deadline += wait;
  }
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(state_of(answer));
  };
  core.submit(std::move(operation));
}

}  // namespace

RendezvousStates::RendezvousStates(const Client& client, std::string_view name)
    : core_(client.impl_->core()), name_(name) {}

RendezvousStates::~RendezvousStates() = default;
RendezvousStates::RendezvousStates(RendezvousStates&&) noexcept = default;
RendezvousStates& RendezvousStates::operator=(RendezvousStates&&) noexcept = default;

Result<RendezvousState> RendezvousStates::now() {
  return after(0, milliseconds{0});
}

Future<Result<RendezvousState>> RendezvousStates::now_async() {
  return after_async(0, milliseconds{0});
}

Result<RendezvousState> RendezvousStates::after(std::uint64_t version, milliseconds wait) {
  return await<Seen>(*core_, [&](auto callback) {
    start_query(*core_, name_, {version, wait}, callback);
  });
}

Future<Result<RendezvousState>> RendezvousStates::after_async(std::uint64_t version,
                                                              milliseconds wait) {
  return future_of<Seen>(*core_, [&](auto callback) {
    start_query(*core_, name_, {version, wait}, callback);
  });
}

Rendezvous::Rendezvous(const Session& session, std::string_view name)
    : session_(session.impl_), name_(name) {}

Rendezvous::~Rendezvous() = default;
Rendezvous::Rendezvous(Rendezvous&&) noexcept = default;
Rendezvous& Rendezvous::operator=(Rendezvous&&) noexcept = default;

const std::string& Rendezvous::name() const {
  return name_;
}

Result<RendezvousRound> Rendezvous::join(const RendezvousOptions& options) {
  return await<Joined>(session_->core(), [&](auto callback) {
    start_join({session_, name_}, options, callback);
  });
}

Future<Result<RendezvousRound>> Rendezvous::join_async(const RendezvousOptions& options) {
  return future_of<Joined>(session_->core(), [&](auto callback) {
    start_join({session_, name_}, options, callback);
  });
}

Status Rendezvous::leave() {
  return await<Status>(session_->core(), [&](auto callback) {
    start_leave({session_, name_}, callback);
  });
}

Future<Status> Rendezvous::leave_async() {
  return future_of<Status>(session_->core(), [&](auto callback) {
    start_leave({session_, name_}, callback);
  });
}

}  // namespace gcoord::client
