// Answers that name a holder, to clients who may not see it.
#include "server/interfaces/replies.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using locks::LockCode;
using protocol::RequestFlag;

protocol::ReplySlot answer(LockCode code, bool discreet) {
  protocol::RequestSlot request;
  request.kind = protocol::RequestKind::LockAcquire;
  request.request_id = 4;
  if (discreet) {
    request.set(RequestFlag::Discreet);
  }
  locks::LockReply decision;
  decision.code = code;
  decision.token = FencingToken{70};
  decision.holder = SessionId{7};
  return decision_reply(request, decision, {.term = Term{3}, .ttl_ms = 500});
}

TEST(DiscreetRepliesTest, WhoHoldsALockIsLeftOutOfRefusals) {
  for (const LockCode code : {LockCode::Busy,
                              LockCode::NotHolder,
                              LockCode::StaleToken,
                              LockCode::LockDelayed,
                              LockCode::Broken}) {
    const auto plain = answer(code, false);
    EXPECT_EQ(plain.token, 70u);
    EXPECT_EQ(plain.extra, 7u);
    const auto discreet = answer(code, true);
    EXPECT_EQ(discreet.token, 0u);
    EXPECT_EQ(discreet.extra, 0u);
    EXPECT_EQ(discreet.detail, plain.detail);
    EXPECT_EQ(discreet.epoch, 3u);
    EXPECT_EQ(discreet.request_id, 4u);
  }
}

TEST(DiscreetRepliesTest, AGrantSaysItsToken) {
  EXPECT_EQ(answer(LockCode::Granted, true).token, 70u);
  EXPECT_EQ(answer(LockCode::AlreadyHeld, true).token, 70u);
}

TEST(DiscreetRepliesTest, WhereALockHasMovedIsSaid) {
  const auto moved = answer(LockCode::Moved, true);
  EXPECT_EQ(moved.extra, 70u);  // The shard.
}

}  // namespace
}  // namespace gcoord::server
