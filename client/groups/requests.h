// The requests of a session to a group or a rendezvous: how they are numbered and sent.
//
// Never sent under another number: done twice is not the same as once. Thread-safe.
#pragma once

#include "client/core/calls.h"
#include "client/core/session_impl.h"
#include "client/dispatch/operation.h"
#include "protocol/error_codes.h"
#include "protocol/hello.h"

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>

namespace gcoord::client {

// The first of the codes that is one.
protocol::ErrorCode first_of(std::initializer_list<protocol::ErrorCode> codes);

// `code`, or FeatureMissing when no node has the feature.
protocol::ErrorCode check_feature(const Core& core,
                                  protocol::Feature feature,
                                  protocol::ErrorCode code);

// A request of the session. Its payload is the name, until it is set.
OperationPtr group_request(const SessionImpl& session,
                           protocol::RequestKind kind,
                           std::string_view name);

// Lets it wait at the node for so long, and registers the session there.
void let_wait(const SessionImpl& session, Operation& operation, std::chrono::milliseconds timeout);

// Sends it; `answered` runs on the client's thread.
void send_request(const std::shared_ptr<SessionImpl>& session,
                  OperationPtr operation,
                  std::function<void(const Answer&)> answered);

}  // namespace gcoord::client
