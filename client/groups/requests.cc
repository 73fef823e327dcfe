#include "client/groups/requests.h"

#include "client/core/core.h"

#include <utility>

namespace gcoord::client {

using protocol::ErrorCode;

ErrorCode first_of(std::initializer_list<ErrorCode> codes) {
  for (const ErrorCode code : codes) {
    if (code != ErrorCode::None) {
      return code;
    }
  }
  return ErrorCode::None;
}

ErrorCode check_feature(const Core& core, protocol::Feature feature, ErrorCode code) {
  return code == ErrorCode::None && !core.has(feature) ? ErrorCode::FeatureMissing : code;
}

OperationPtr group_request(const SessionImpl& session,
                           protocol::RequestKind kind,
                           std::string_view name) {
  OperationPtr operation = name_operation(session.core(), kind, name);
  operation->slot.session = session.record().id.value;
  operation->counted = true;
  return operation;
}

void let_wait(const SessionImpl& session, Operation& operation, std::chrono::milliseconds timeout) {
  operation.slot.ttl_ms = session.record().ttl_ms;
  operation.slot.set(protocol::RequestFlag::Wait);
  operation.wait_until = session.core().clock().now() + TimePoint{timeout};
  operation.deadline += TimePoint{timeout};
}

void send_request(const std::shared_ptr<SessionImpl>& session,
                  OperationPtr operation,
                  std::function<void(const Answer&)> answered) {
  operation->session = session->shared_record();
  operation->callback = std::move(answered);
  session->core().submit(std::move(operation));
}

}  // namespace gcoord::client
