#include "client/audit/origins.h"

#include "client/core/core.h"
#include "client/net/failure.h"
#include "protocol/audit/messages.h"
#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"

#include <utility>

namespace gcoord::client {

namespace {

using protocol::ErrorCode;

SessionOrigin origin_of(const security::KnownOrigin& known) {
  const security::ClientOrigin& origin = known.origin;
  return {.session_id = known.session.value,
          .since_ms = known.since_ms,
          .principal_kind = std::string{security::principal_kind_name(origin.principal.kind)},
          .principal = origin.principal.name,
          .address_class = std::string{security::address_class_name(origin.type)},
          .address = security::address_text(origin.type, origin.address),
          .client = origin.client};
}

Origins origins_of(const Answer& answer) {
  if (!answer.status.ok()) {
    return answer.status;
  }
  const auto known = protocol::decode_origins(answer.payload);
  if (!known.ok()) {
    return failure(ErrorCode::ReplyMalformed, "origins of sessions");
  }
  std::vector<SessionOrigin> origins;
  for (const security::KnownOrigin& each : known.value()) {
    origins.push_back(origin_of(each));
  }
  return origins;
}

void send(Core& core, OperationPtr operation, Callback<Origins> callback) {
  if (!core.has(protocol::Feature::Audit)) {
    return refuse(core, std::move(callback), Status{failure(ErrorCode::FeatureMissing)});
  }
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(origins_of(answer));
  };
  core.submit(std::move(operation));
}

}  // namespace

void session_origins(Core& core,
                     const std::vector<std::uint64_t>& sessions,
                     Callback<Origins> callback) {
  std::vector<SessionId> ids;
  for (const std::uint64_t session : sessions) {
    if (ids.size() == protocol::kDescribedMax) {
      break;
    }
    ids.push_back(SessionId{session});
  }
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = protocol::RequestKind::SessionDescribe;
  operation->target = Target::AnyNode;
  operation->deadline = core.request_deadline();
  operation->payload = protocol::text_of(protocol::encode_keep_alive(ids));
  send(core, std::move(operation), std::move(callback));
}

void holder_origins(Core& core, const std::string& name, Callback<Origins> callback) {
  send(
      core, name_operation(core, protocol::RequestKind::HolderDescribe, name), std::move(callback));
}

}  // namespace gcoord::client
