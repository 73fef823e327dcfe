#include "client/election_calls.h"

#include "client/failure.h"
#include "rpc/election_messages.h"
#include "rpc/lock_messages.h"
#include "rpc/validate.h"

#include <chrono>
#include <utility>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

ElectionView view_of(rpc::CandidateList list) {
  ElectionView view;
  view.leader = {.session_id = list.leader.value,
                 .epoch = list.epoch.value,
                 .ttl_left = milliseconds{list.ttl_left_ms},
                 .candidates_waiting = list.waiter_count,
                 .value = std::move(list.value)};
  view.wanted_session = list.wanted.value;
  view.candidates.reserve(list.candidates.size());
  for (rpc::CandidateRow& row : list.candidates) {
    view.candidates.push_back({.session_id = row.session.value,
                               .sequence = row.sequence.value,
                               .waited = milliseconds{row.waited_ms},
                               .priority = row.rank,
                               .value = std::move(row.value)});
  }
  return view;
}

rpc::ErrorCode check(const Core& core, std::string_view name) {
  const auto code = rpc::check_name(name);
  const bool known = core.has(rpc::Feature::Elections);
  return code == rpc::ErrorCode::None && !known ? rpc::ErrorCode::FeatureMissing : code;
}

}  // namespace

void candidates(Core& core, std::string_view name, Callback<Result<ElectionView>> callback) {
  if (const auto code = check(core, name); code != rpc::ErrorCode::None) {
    return refuse<Result<ElectionView>>(core, std::move(callback), failure(code));
  }
  OperationPtr operation = name_operation(core, rpc::RequestKind::ElectCandidates, name);
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    auto list = rpc::decode_candidates(answer.payload);
    if (!list.ok()) {
      return callback(failure(rpc::ErrorCode::ReplyMalformed, "candidates"));
    }
    if (list.value().leader.value == 0) {
      return callback(failure(rpc::ErrorCode::ElectionVacant));
    }
    callback(view_of(std::move(list).value()));
  };
  core.submit(std::move(operation));
}

void ask_transfer(Core& core,
                  std::string_view name,
                  const TransferAsk& ask,
                  Callback<Status> callback) {
  auto code = check(core, name);
  if (code == rpc::ErrorCode::None && ask.session_id == 0) {
    code = rpc::ErrorCode::SessionZero;
  }
  if (code != rpc::ErrorCode::None) {
    return refuse<Status>(core, std::move(callback), failure(code));
  }
  OperationPtr operation = name_operation(core, rpc::RequestKind::ElectAsk, name);
  operation->slot.token = ask.epoch;
  operation->payload = rpc::text_of(rpc::encode_nomination({SessionId{ask.session_id}, name}));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(answer.status);
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
