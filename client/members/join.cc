#include "client/members/join.h"

#include "client/core/blocking.h"
#include "client/dispatch/operation.h"
#include "client/net/failure.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"

#include <memory>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;

// Of the cluster view, which is state of this shard.
constexpr std::uint32_t kViewShard = 0;

Result<protocol::JoinAnswer> answer_of(const Answer& answer) {
  if (answer.status.detail() == static_cast<std::uint32_t>(ErrorCode::KindUnknown)) {
    return failure(ErrorCode::FeatureMissing, "nodes that join with a token");
  }
  if (!answer.status.ok()) {
    return answer.status;
  }
  auto decoded = protocol::decode_join_answer(answer.payload);
  if (!decoded.ok()) {
    return failure(ErrorCode::ReplyMalformed, "join");
  }
  return std::move(decoded).value();
}

}  // namespace

Result<protocol::JoinAnswer> join_cluster(const ClientOptions& options,
                                          const protocol::JoinRequest& request) {
  const auto core = std::make_shared<Core>(options);
  const auto connected =
      await<Status>(*core, [&](auto callback) { core->start(std::move(callback)); });
  if (!connected.ok()) {
    core->stop();
    return connected;
  }
  auto result = await<Result<protocol::JoinAnswer>>(*core, [&](auto callback) {
    auto operation = std::make_unique<Operation>();
    operation->slot.kind = protocol::RequestKind::MemberJoin;
    operation->slot.shard = kViewShard;
    operation->payload = protocol::text_of(protocol::encode_join_request(request));
    operation->secret = true;  // The token, and by it what the answer has under seal.
    operation->deadline = core->request_deadline();
    operation->callback = [callback = std::move(callback)](const Answer& answer) {
      callback(answer_of(answer));
    };
    core->submit(std::move(operation));
  });
  core->stop();
  return result;
}

}  // namespace gcoord::client
