// Requests and replies that have a password, a token or a key in them: whoever moves their bytes
// wipes these. Plain functions; thread-safe.
#pragma once

#include "protocol/request.h"

namespace gcoord::protocol {

inline bool request_has_secret(RequestKind kind) {
  return kind == RequestKind::Authenticate || kind == RequestKind::SessionAttach ||
         kind == RequestKind::AccessChange || kind == RequestKind::MemberJoin;
}

inline bool reply_has_secret(RequestKind kind) {
  return kind == RequestKind::Authenticate || kind == RequestKind::SessionAttach ||
         kind == RequestKind::OpenSession || kind == RequestKind::SessionGrant ||
         kind == RequestKind::MemberChange || kind == RequestKind::MemberJoin;
}

}  // namespace gcoord::protocol
