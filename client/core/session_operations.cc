// What the holder of a lock changes by its token: its value, and who holds it.
#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/core/session_impl.h"
#include "client/net/failure.h"
#include "protocol/election_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/validate.h"

#include <utility>

namespace gcoord::client {

namespace {

protocol::ErrorCode check_office(const Core& core, std::string_view name, std::uint64_t token) {
  const auto code = protocol::check_name(name);
  if (code != protocol::ErrorCode::None) {
    return code;
  }
  if (token == 0) {
    return protocol::ErrorCode::TokenZero;
  }
  return core.has(protocol::Feature::Elections) ? code : protocol::ErrorCode::FeatureMissing;
}

}  // namespace

// Never sent under another number: said or handed over twice is not the same as once.
void SessionImpl::change_office(OperationPtr operation,
                                std::uint64_t token,
                                Session::StatusCallback callback) {
  operation->slot.session = record_->id.value;
  operation->slot.token = token;
  if (record_->attached) {
    operation->slot.set(protocol::RequestFlag::ByToken);
  }
  operation->counted = true;
  operation->session = record_;
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(answer.status);
  };
  core_->submit(std::move(operation));
}

void SessionImpl::proclaim(std::string_view name,
                           std::uint64_t token,
                           std::string_view value,
                           Session::StatusCallback callback) {
  auto code = check_office(*core_, name, token);
  if (code == protocol::ErrorCode::None) {
    code = protocol::check_note(value);
  }
  if (code != protocol::ErrorCode::None) {
    return refuse<Status>(*core_, std::move(callback), failure(code));
  }
  OperationPtr operation = name_operation(*core_, protocol::RequestKind::ElectProclaim, name);
  operation->payload = protocol::text_of(protocol::encode_proclamation({name, value}));
  change_office(std::move(operation), token, std::move(callback));
}

void SessionImpl::transfer(std::string_view name,
                           std::uint64_t token,
                           SessionId target,
                           Session::StatusCallback callback) {
  auto code = check_office(*core_, name, token);
  if (code == protocol::ErrorCode::None && target.value == 0) {
    code = protocol::ErrorCode::SessionZero;
  }
  if (code != protocol::ErrorCode::None) {
    return refuse<Status>(*core_, std::move(callback), failure(code));
  }
  OperationPtr operation = name_operation(*core_, protocol::RequestKind::ElectTransfer, name);
  operation->payload = protocol::text_of(protocol::encode_nomination({target, name}));
  change_office(std::move(operation), token, std::move(callback));
}

}  // namespace gcoord::client
