// Reads of the lock tables that are pure and bounded: is this fencing token still the one?
//
// They see applied state only. A leader answers from them after it confirmed that it still leads;
// then the answer is linearizable. Host and device.
#pragma once

#include "locks/state/broken.h"
#include "locks/state/share.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

enum class TokenVerdict : std::uint8_t {
  Valid = 0,  // The token is the newest of its name and its holder's session lives.
  Stale = 1,  // Another token holds, or the holder's session has ended.
  Free = 2,   // Nobody holds the lock; the token is not valid.
  // The hold under it was broken by force, and its session, which lives, was not told by a release.
  Broken = 3,
};

struct TokenCheck {
  ShardId shard;
  NameHash name_hash;
  FencingToken token;
};

// Whether one of several holders has this token, and lives.
GCOORD_HD inline bool is_share_token(const LockTables& tables,
                                     const LockRecord& lock,
                                     FencingToken token) {
  if (!is_marked(lock)) {
    return false;
  }
  LockRow row = load_extra(tables, lock).share_first;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kHoldersMax && row.value != 0; ++i) {
    const LockRecord& share = tables.locks[row];
    if (share.token == token) {
      return tables.sessions[share.holder].phase == SessionPhase::Live;
    }
    row = share_next(share);
  }
  return false;
}

// Why a token is not valid.
GCOORD_HD inline TokenVerdict unless_broken(const LockTables& tables,
                                            const TokenCheck& request,
                                            TokenVerdict verdict) {
  const LockRow row = find_broken(tables, request.shard, request.name_hash, request.token);
  return row.value != 0 ? TokenVerdict::Broken : verdict;
}

GCOORD_HD inline TokenVerdict check_token(const LockTables& tables, const TokenCheck& request) {
  const LockRow row = find_lock(tables, request.shard, request.name_hash);
  if (row.value == 0) {
    return unless_broken(tables, request, TokenVerdict::Free);
  }
  const LockRecord& lock = tables.locks[row];
  if (is_kept(tables, lock)) {
    return unless_broken(tables, request, TokenVerdict::Free);
  }
  if (is_share_token(tables, lock, request.token)) {
    return TokenVerdict::Valid;
  }
  const bool alive = tables.sessions[lock.holder].phase == SessionPhase::Live;
  return alive && lock.token == request.token ? TokenVerdict::Valid
                                              : unless_broken(tables, request, TokenVerdict::Stale);
}

}  // namespace gcoord::locks
