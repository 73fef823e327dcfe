// Reason and words for a link that ended because TLS failed, for counters, logs and status.
//
// The reason says whose certificate was refused and why; the words name cause, number and remedy.
// Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "netcore/channel/drop_reason.h"

#include <string>

namespace gcoord::netcore {

struct TlsFailure {
  DropReason drop = DropReason::Unproven;
  std::string text;
};

// Of a failure of security::TlsSession.
TlsFailure tls_failure_of(const Status& failure);

}  // namespace gcoord::netcore
