#include "client/elections/election_calls.h"

#include "client/net/failure.h"
#include "protocol/election_messages.h"
#include "protocol/lease_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/validate.h"

#include <chrono>
#include <utility>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

ElectionView view_of(protocol::CandidateList list) {
  ElectionView view;
  view.leader = {.session_id = list.leader.value,
                 .epoch = list.epoch.value,
                 .ttl_left = milliseconds{list.ttl_left_ms},
                 .candidates_waiting = list.waiter_count,
                 .value = std::move(list.value),
                 .hidden = list.leader == protocol::kHiddenSession};
  view.wanted_session = list.wanted.value;
  view.candidates.reserve(list.candidates.size());
  for (protocol::CandidateRow& row : list.candidates) {
    view.candidates.push_back({.session_id = row.session.value,
                               .sequence = row.sequence.value,
                               .waited = milliseconds{row.waited_ms},
                               .priority = row.rank,
                               .value = std::move(row.value),
                               .hidden = row.session == protocol::kHiddenSession});
  }
  return view;
}

protocol::ErrorCode check(const Core& core, std::string_view name) {
  const auto code = protocol::check_name(name);
  const bool known = core.has(protocol::Feature::Elections);
  return code == protocol::ErrorCode::None && !known ? protocol::ErrorCode::FeatureMissing : code;
}

}  // namespace

void candidates(Core& core, std::string_view name, Callback<Result<ElectionView>> callback) {
  if (const auto code = check(core, name); code != protocol::ErrorCode::None) {
    return refuse<Result<ElectionView>>(core, std::move(callback), failure(code));
  }
  OperationPtr operation = name_operation(core, protocol::RequestKind::ElectCandidates, name);
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    auto list = protocol::decode_candidates(answer.payload);
    if (!list.ok()) {
      return callback(failure(protocol::ErrorCode::ReplyMalformed, "candidates"));
    }
    if (list.value().leader.value == 0) {
      return callback(failure(protocol::ErrorCode::ElectionVacant));
    }
    callback(view_of(std::move(list).value()));
  };
  core.submit(std::move(operation));
}

void ask_transfer(Core& core,
                  std::string_view name,
                  const TransferRequest& ask,
                  Callback<Status> callback) {
  auto code = check(core, name);
  if (code == protocol::ErrorCode::None && ask.session_id == 0) {
    code = protocol::ErrorCode::SessionZero;
  }
  if (code != protocol::ErrorCode::None) {
    return refuse<Status>(core, std::move(callback), failure(code));
  }
  OperationPtr operation = name_operation(core, protocol::RequestKind::ElectAsk, name);
  operation->slot.token = ask.epoch;
  operation->payload =
      protocol::text_of(protocol::encode_nomination({SessionId{ask.session_id}, name}));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(answer.status);
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
