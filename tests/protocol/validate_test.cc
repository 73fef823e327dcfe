#include "protocol/validate.h"

#include "protocol/election_messages.h"
#include "protocol/force_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/move_messages.h"
#include "protocol/past_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::protocol {
namespace {

constexpr RequestLimits kLimits{.shard_count = 16};

RequestSlot good_acquire() {
  return to_slot(LockAcquire{.caller = {SessionId{1}, RequestSequence{5}, RequestSequence{2}},
                             .wait_ms = 100,
                             .ttl_ms = 1000});
}

// What a good acquire becomes by one change.
template <typename Change>
ErrorCode after(Change change) {
  RequestSlot slot = good_acquire();
  change(slot);
  return check_request(slot, bytes_of("name"), kLimits);
}

TEST(Validate, AGoodRequestPasses) {
  EXPECT_EQ(check_request(good_acquire(), bytes_of("name"), kLimits), ErrorCode::None);
}

TEST(Validate, EachBrokenRuleHasItsOwnNumber) {
  EXPECT_EQ(after([](RequestSlot& s) { s.session = 0; }), ErrorCode::SessionZero);
  EXPECT_EQ(after([](RequestSlot& s) { s.sequence = 0; }), ErrorCode::SequenceZero);
  EXPECT_EQ(after([](RequestSlot& s) { s.acked_below = 6; }), ErrorCode::AckedAboveSequence);
  EXPECT_EQ(after([](RequestSlot& s) { s.acked_below = 0; }), ErrorCode::AckedAboveSequence);
  const auto ahead = [](std::uint64_t distance) {
    return after([distance](RequestSlot& s) { s.sequence = s.acked_below + distance; });
  };
  EXPECT_EQ(ahead(kSequenceAheadMax), ErrorCode::None);
  EXPECT_EQ(ahead(kSequenceAheadMax + 1), ErrorCode::SequenceTooFar);
  EXPECT_EQ(after([](RequestSlot& s) { s.ttl_ms = kTtlMsMin - 1; }), ErrorCode::TtlTooShort);
  EXPECT_EQ(after([](RequestSlot& s) { s.ttl_ms = kTtlMsMax + 1; }), ErrorCode::TtlTooLong);
  EXPECT_EQ(after([](RequestSlot& s) { s.deadline_ms = kWaitMsMax + 1; }), ErrorCode::WaitTooLong);
  EXPECT_EQ(after([](RequestSlot& s) { s.deadline_ms = kForeverMs; }), ErrorCode::None);
  EXPECT_EQ(after([](RequestSlot& s) { s.shard = 16; }), ErrorCode::ShardOutOfRange);
  EXPECT_EQ(after([](RequestSlot& s) { s.flags = 0x8000; }), ErrorCode::SlotInvalid);
  EXPECT_EQ(after([](RequestSlot& s) { s.set(RequestFlag::NamesTerm); }), ErrorCode::None);
  EXPECT_EQ(after([](RequestSlot& s) { s.kind = RequestKind{500}; }), ErrorCode::KindUnknown);
}

TEST(Validate, AnAcquireThatAsksForMoreIsJudgedByWhatItAsks) {
  RequestSlot slot = good_acquire();
  slot.kind = RequestKind::LockAcquireHold;
  const auto judged = [&slot](const LockHold& hold) {
    return check_request(slot, encode_hold(hold), kLimits);
  };
  EXPECT_EQ(judged({.flags = 1, .limit = 2, .name = "a"}), ErrorCode::None);
  EXPECT_EQ(judged({.name = "a", .note = "n"}), ErrorCode::None);
  EXPECT_EQ(judged({.name = "a"}), ErrorCode::HoldInvalid);  // The plain one is LockAcquire.
  EXPECT_EQ(judged({.flags = 1, .name = "a"}), ErrorCode::HoldInvalid);
  EXPECT_EQ(judged({.limit = 1, .name = "a"}), ErrorCode::HoldInvalid);
  EXPECT_EQ(judged({.flags = 0x80, .name = "a"}), ErrorCode::HoldInvalid);
  EXPECT_EQ(judged({.flags = 2, .permits = 1, .name = "a"}), ErrorCode::None);
  EXPECT_EQ(judged({.flags = 6, .permits = 1, .name = "a"}), ErrorCode::None);
  EXPECT_EQ(judged({.flags = 2, .permits = 2, .limit = 2, .name = "a"}), ErrorCode::None);
  EXPECT_EQ(judged({.flags = 2, .permits = 2, .name = "a"}), ErrorCode::HoldInvalid);
  EXPECT_EQ(judged({.flags = 2, .permits = 3, .limit = 2, .name = "a"}), ErrorCode::HoldInvalid);
  EXPECT_EQ(judged({.flags = 2, .limit = 2, .name = "a"}), ErrorCode::HoldInvalid);
  EXPECT_EQ(judged({.flags = 3, .permits = 1, .limit = 2, .name = "a"}), ErrorCode::HoldInvalid);
  EXPECT_EQ(judged({.flags = 4, .permits = 1, .name = "a"}), ErrorCode::HoldInvalid);
  EXPECT_EQ(judged({.flags = 2, .permits = 1, .name = "a", .note = "n"}), ErrorCode::HoldInvalid);
  EXPECT_EQ(judged({.name = "", .note = "n"}), ErrorCode::NameEmpty);
  EXPECT_EQ(judged({.name = "a", .note = std::string(512, 'n')}), ErrorCode::None);
  EXPECT_EQ(judged({.name = "a", .note = std::string(513, 'n')}), ErrorCode::NoteTooLong);
  EXPECT_EQ(check_request(slot, bytes_of("a"), kLimits), ErrorCode::PayloadMalformed);
}

TEST(Validate, AReleaseOrCheckNeedsAToken) {
  EXPECT_EQ(after([](RequestSlot& s) { s.kind = RequestKind::LockRelease; }), ErrorCode::TokenZero);
  EXPECT_EQ(after([](RequestSlot& s) { s.kind = RequestKind::LockCheck; }), ErrorCode::TokenZero);
}

TEST(Validate, AReleaseByTokenHasNoNumbers) {
  const auto by_token = [](std::uint64_t sequence) {
    return after([sequence](RequestSlot& s) {
      s = to_slot(LockRelease{.caller = {SessionId{1}, RequestSequence{sequence}, {}},
                              .token = FencingToken{7},
                              .by_token = true});
    });
  };
  EXPECT_EQ(by_token(0), ErrorCode::None);
  EXPECT_EQ(by_token(1), ErrorCode::SlotInvalid);
  EXPECT_EQ(after([](RequestSlot& s) {
              s = to_slot(LockRelease{.token = FencingToken{7}, .by_token = true});
            }),
            ErrorCode::SessionZero);
}

// Each of them aborted the leader: the log has no words for what the shard keeps for itself.
TEST(Validate, L19NobodySpeaksForAShardsKeeper) {
  for (const RequestKind kind : {RequestKind::LockAcquire,
                                 RequestKind::LockAcquireHold,
                                 RequestKind::LockRelease,
                                 RequestKind::LockCancel,
                                 RequestKind::ElectProclaim,
                                 RequestKind::ElectTransfer,
                                 RequestKind::SessionGrant,
                                 RequestKind::SessionShow,
                                 RequestKind::CloseSession}) {
    EXPECT_EQ(after([kind](RequestSlot& s) {
                s.kind = kind;
                s.session = kSessionReserved;
                s.token = 7;
              }),
              ErrorCode::SlotInvalid);
  }
  EXPECT_EQ(after([](RequestSlot& s) {
              s = to_slot(LockRelease{.caller = {SessionId{kSessionReserved}, {}, {}},
                                      .token = FencingToken{7},
                                      .by_token = true});
            }),
            ErrorCode::SlotInvalid);
}

TEST(Validate, L19ACloseHasNoSequenceThatIsAShardsOwn) {
  const auto close = [](std::uint64_t sequence) {
    return after([sequence](RequestSlot& s) {
      s.kind = RequestKind::CloseSession;
      s.sequence = sequence;
    });
  };
  EXPECT_EQ(close(0), ErrorCode::None);
  EXPECT_EQ(close((std::uint64_t{1} << 63) - 1), ErrorCode::None);
  EXPECT_EQ(close(std::uint64_t{1} << 63), ErrorCode::SequenceTooFar);
  EXPECT_EQ(close(~std::uint64_t{0}), ErrorCode::SequenceTooFar);
}

TEST(Validate, OnlyCloseSessionMayNameAllShards) {
  const auto all = [](RequestKind kind) {
    return after([kind](RequestSlot& s) {
      s.kind = kind;
      s.shard = kAllShards;
    });
  };
  EXPECT_EQ(all(RequestKind::CloseSession), ErrorCode::None);
  EXPECT_EQ(all(RequestKind::ShardShow), ErrorCode::ShardOutOfRange);
}

TEST(Validate, NamesAreBoundedPrintableUtf8) {
  EXPECT_EQ(check_name(""), ErrorCode::NameEmpty);
  EXPECT_EQ(check_name(std::string(kNameBytesMax, 'x')), ErrorCode::None);
  EXPECT_EQ(check_name(std::string(kNameBytesMax + 1, 'x')), ErrorCode::NameTooLong);
  EXPECT_EQ(check_name("Schl\xc3\xbcssel"), ErrorCode::None);
  EXPECT_EQ(check_name("\xc3"), ErrorCode::NameNotUtf8);
  EXPECT_EQ(check_name("\xc0\xaf"), ErrorCode::NameNotUtf8);
  EXPECT_EQ(check_name("\xed\xa0\x80"), ErrorCode::NameNotUtf8);
  EXPECT_EQ(check_name(std::string_view{"a\0b", 3}), ErrorCode::NameControl);
  EXPECT_EQ(check_name("line\n"), ErrorCode::NameControl);
  EXPECT_EQ(check_name("\x7f"), ErrorCode::NameControl);
}

// What a terminal obeys in place of printing it, and what Unicode forbids in text.
const std::vector<std::string> kUnprintable = {"\u0080",
                                               "\u009b",
                                               "\u009f",
                                               "\u2028",
                                               "\u2029",
                                               "\u061c",
                                               "\u200e",
                                               "\u202a",
                                               "\u202e",
                                               "\u2066",
                                               "\u2069",
                                               "\ufdd0",
                                               "\uffff",
                                               "\U0001fffe",
                                               "\U0010ffff"};

TEST(Validate, A12NewNamesPrefixesAndNotesArePrintable) {
  for (const std::string& bad : kUnprintable) {
    const std::string name = "a" + bad;
    EXPECT_EQ(check_name(name), ErrorCode::None) << name;
    EXPECT_EQ(check_new_name(name), ErrorCode::NameControl) << name;
    EXPECT_EQ(check_prefix(name), ErrorCode::NameControl) << name;
    EXPECT_EQ(check_note(name), ErrorCode::NoteControl) << name;
  }
  for (const std::string& bad :
       {std::string{"\x1b[2J"}, std::string{"a\nb"}, std::string{"\xff"}}) {
    EXPECT_EQ(check_note(bad), ErrorCode::NoteControl);
  }
  EXPECT_EQ(check_new_name(""), ErrorCode::NameEmpty);
  EXPECT_EQ(check_new_name("\xff"), ErrorCode::NameNotUtf8);
  EXPECT_EQ(check_new_name("Schl\u00fcssel \u65e5\u672c \U0001f512"), ErrorCode::None);
  EXPECT_EQ(check_note(""), ErrorCode::None);
  EXPECT_EQ(check_note(std::string(513, 'n')), ErrorCode::NoteTooLong);
}

// A name that an earlier release let in is a name all the same.
TEST(Validate, A12ANameThatIsThereIsReadReleasedBrokenAndMovedWhateverItIs) {
  for (const std::string& bad : kUnprintable) {
    const auto judged = [](RequestKind kind, std::span<const std::byte> payload) {
      RequestSlot slot = good_acquire();
      slot.kind = kind;
      slot.token = 7;
      return check_request(slot, payload, kLimits);
    };
    const auto name = bytes_of(bad);
    EXPECT_EQ(judged(RequestKind::LockAcquire, name), ErrorCode::NameControl);
    EXPECT_EQ(judged(RequestKind::LockAcquireHold, encode_hold({.name = bad, .note = "n"})),
              ErrorCode::NameControl);
    EXPECT_EQ(judged(RequestKind::LockAcquireHold, encode_hold({.name = "a", .note = bad})),
              ErrorCode::NoteControl);
    EXPECT_EQ(judged(RequestKind::ElectProclaim, encode_proclamation({"a", bad})),
              ErrorCode::NoteControl);
    for (const RequestKind kind : {RequestKind::LockRelease,
                                   RequestKind::LockCancel,
                                   RequestKind::LockCheck,
                                   RequestKind::LockGet,
                                   RequestKind::ElectCandidates}) {
      EXPECT_EQ(judged(kind, name), ErrorCode::None);
    }
    EXPECT_EQ(judged(RequestKind::ElectProclaim, encode_proclamation({bad, "v"})), ErrorCode::None);
    EXPECT_EQ(judged(RequestKind::ElectTransfer, encode_nomination({SessionId{3}, bad})),
              ErrorCode::None);
    EXPECT_EQ(judged(RequestKind::LockMove, encode_move({ShardId{1}, bad})), ErrorCode::None);
    EXPECT_EQ(
        judged(RequestKind::LockGetAt, encode_past_query({.index = LogIndex{1}, .name = bad})),
        ErrorCode::None);
    EXPECT_EQ(
        judged(RequestKind::LockBreak, encode_break({.name = bad, .who = "ann", .reason = "x"})),
        ErrorCode::None);
  }
}

}  // namespace
}  // namespace gcoord::protocol
