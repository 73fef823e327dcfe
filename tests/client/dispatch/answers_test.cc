// Each answer means one thing for its operation.
#include "client/dispatch/answers.h"

#include "protocol/lock_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;
using testing::HasSubstr;

protocol::ReplySlot refused(ErrorCode code) {
  protocol::ReplySlot slot;
  slot.detail = static_cast<std::uint32_t>(code);
  slot.code = protocol::find_error(slot.detail)->status;
  return slot;
}

TEST(Answers, AReleaseFindsItsWorkDoneOnlyWhenItMayHaveBeenDoneBefore) {
  Operation release;
  release.slot.kind = RequestKind::LockRelease;
  EXPECT_FALSE(released_before(release, ErrorCode::LockNotHeld));
  release.tries.renumbered = true;
  EXPECT_TRUE(released_before(release, ErrorCode::LockNotHeld));
  EXPECT_TRUE(released_before(release, ErrorCode::HolderOther));
  EXPECT_FALSE(released_before(release, ErrorCode::SessionExpired));
  release.tries = {.outcome_unknown = true};
  EXPECT_FALSE(released_before(release, ErrorCode::TokenStale)) << "its number is the same";
  release.slot.set(protocol::RequestFlag::ByToken);
  EXPECT_TRUE(released_before(release, ErrorCode::TokenStale)) << "it has no number";
  Operation acquire;
  acquire.slot.kind = RequestKind::LockAcquire;
  acquire.tries.renumbered = true;
  EXPECT_FALSE(released_before(acquire, ErrorCode::LockNotHeld));
}

TEST(Answers, OnlyAWaitThatWasSentTwiceIsReplacedByItsCopy) {
  Operation acquire;
  acquire.slot.kind = RequestKind::LockAcquire;
  acquire.slot.sequence = 5;
  acquire.tries.copies = 1;
  EXPECT_FALSE(replaced_by_copy(acquire, ErrorCode::SequenceReused)) << "it does not wait";
  acquire.slot.set(protocol::RequestFlag::Wait);
  EXPECT_TRUE(replaced_by_copy(acquire, ErrorCode::SequenceReused));
  EXPECT_FALSE(replaced_by_copy(acquire, ErrorCode::SequenceForgotten));
  acquire.tries.copies = 0;
  EXPECT_FALSE(replaced_by_copy(acquire, ErrorCode::SequenceReused));
}

TEST(Answers, ReadAsTheNodeSaidThemOrAsTheirNumberMeans) {
  EXPECT_TRUE(status_of({}, {}).ok());
  const std::string words = "as the node says it";
  EXPECT_EQ(status_of(refused(ErrorCode::NoLeader), protocol::bytes_of(words)).message(), words);
  protocol::ReplySlot busy = refused(ErrorCode::LockBusy);
  EXPECT_THAT(status_of(busy, {}).message(), HasSubstr("a session that you may not see"));
  busy.extra = 9;
  busy.token = 4;
  EXPECT_THAT(status_of(busy, {}).message(), HasSubstr("session 9, token 4"));
  protocol::ReplySlot later = busy;
  later.detail = 999'999;
  EXPECT_THAT(status_of(later, {}).message(), HasSubstr("unknown to this client"));
}

TEST(Answers, TroubleIsWhatANodesLogExplains) {
  EXPECT_TRUE(is_trouble(status_of(refused(ErrorCode::NoLeader), {})));
  EXPECT_FALSE(is_trouble(status_of(refused(ErrorCode::LockNotHeld), {})));
  EXPECT_FALSE(is_trouble({}));
  EXPECT_EQ(request_text(NodeId{1}, nullptr, 3), "");
}

}  // namespace
}  // namespace gcoord::client
