// A steady step that stays steady is the whole step, whatever plain row and inbox it is given; and
// what a busy row does most is steady.
#include "consensus/step/step_plain.h"
#include "tests/consensus/random_values.h"
#include "tests/consensus/steady_samples.h"
#include "tests/consensus/stepped_equal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>

namespace gcoord::consensus {
namespace {

constexpr std::uint32_t kSeeds = 200'000;

// What a whole step did, as far as a steady one should do it too.
enum Deed : std::uint32_t {
  kAnything,
  kInMemory,
  kDurably,
  kProposed,
  kAcknowledged,  // A peer's match rose, or a follower answered.
  kDecided,
  kAppended,  // Entries came or left.
  kForgot,
  kDeeds,
};

constexpr const char* kDeedNames[kDeeds] = {"anything",
                                            "in memory mode",
                                            "in durable mode",
                                            "takes proposals",
                                            "acknowledgements",
                                            "decides",
                                            "appends of entries",
                                            "forgets entries"};

bool any_stored(const Stepped& whole) {
  return whole.out.stored[0].value != 0 || whole.out.stored[1].value != 0;
}

bool any_message(const Stepped& whole, MessageKind kind, bool with_entries) {
  for (std::uint32_t k = 0; k < whole.out.message_count; ++k) {
    const Message& m = whole.out.message[k];
    if (m.kind == kind && (m.count != 0 || !with_entries)) {
      return true;
    }
  }
  return false;
}

bool any_match_rose(const Given& given, const Stepped& whole) {
  bool rose = false;
  for (std::uint32_t slot = 0; slot < kPlainSlots; ++slot) {
    const bool own = slot == given.row.hot.self_slot;
    rose = rose || (!own && whole.row.progress[slot].match > given.row.progress[slot].match);
  }
  return rose;
}

bool was_done(Deed deed, const Given& given, const Stepped& whole) {
  const bool leads = given.row.hot.role == Role::Leader;
  switch (deed) {
    case kInMemory:
      return in_memory_mode(given.input);
    case kDurably:
      return !in_memory_mode(given.input);
    case kProposed:
      return whole.out.accepted.count != 0;
    case kAcknowledged:
      return leads ? any_match_rose(given, whole)
                   : any_message(whole, MessageKind::AppendReply, false);
    case kDecided:
      return whole.row.log.commit > given.row.log.commit;
    case kAppended:
      return leads ? any_message(whole, MessageKind::Append, true) : any_stored(whole);
    case kForgot:
      return whole.row.log.floor > given.row.log.floor;
    default:
      return true;
  }
}

// How often each was tried, and how often it stayed steady.
struct Tally {
  std::uint32_t tried[kDeeds] = {};
  std::uint32_t stayed[kDeeds] = {};
};

void count(Tally& tally, const Given& given, const Stepped& whole, bool steady) {
  for (std::uint32_t deed = 0; deed < kDeeds; ++deed) {
    const bool done = was_done(static_cast<Deed>(deed), given, whole);
    tally.tried[deed] += done ? 1 : 0;
    tally.stayed[deed] += done && steady ? 1 : 0;
  }
}

void expect_good_shares(const Tally& tally, bool leads) {
  for (std::uint32_t deed = 0; deed < kDeeds; ++deed) {
    if (deed == kProposed && !leads) {
      continue;
    }
    SCOPED_TRACE(kDeedNames[deed]);
    EXPECT_GT(tally.tried[deed], kSeeds / 200) << "not tried often enough to show anything";
    EXPECT_GT(tally.stayed[deed], tally.tried[deed] / 5) << "of " << tally.tried[deed];
  }
}

TEST(SteadyStep, ThatStaysSteadyIsTheWholeStep) {
  Tally followers;
  Tally leaders;
  for (std::uint32_t seed = 0; seed < kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    Given given;
    draw_given(draw, given);
    if (!is_plain(ref_of(given.row, ShardId{7}, kPlainSlots), given.input) ||
        !plain_inbox(given.in)) {
      continue;
    }
    Stepped whole = step_as<StepScope::Whole>(given.row, given.in, given.message, given.input);
    Stepped steady = step_steadily(given);
    const bool stayed = steady.out.beyond_plain == 0;
    if (stayed) {
      expect_equal(steady, whole);
    }
    count(given.row.hot.role == Role::Leader ? leaders : followers, given, whole, stayed);
  }
  expect_good_shares(leaders, true);
  expect_good_shares(followers, false);
}

// A follower in the middle of its term, whose leader has been heard of a moment ago.
void make_quiet_follower(Given& given) {
  Draw draw(1);
  given.row = some_row(draw, NodeId{2});
  given.row.hot.flags = 0;
  given.row.election.answer = 0;
  given.row.log.configuration_pending = LogIndex{};
  given.row.log.verified = given.row.log.last;
  given.row.log.commit = given.row.log.last - 1;
  given.peer[0] = {.node = kLeader, .incarnation = Incarnation{1}, .session = 1, .live = 1};
  given.peer[1] = given.peer[0];
  given.peer[1].node = NodeId{3};
  for (PeerLiveness& peer : given.peer) {
    peer.credit = 100;
    peer.heard = kNow - 1;
  }
  given.input = {.tick = kNow, .self = NodeId{2}, .peer = given.peer, .peer_count = 2};
}

// A leader that sends again begins before the end of its follower's log, and may have more to say
// than the follower has.
TEST(SteadyStep, LeavesOnlyWhereEntriesOverlapTheLog) {
  Given given;
  make_quiet_follower(given);
  ASSERT_TRUE(is_plain(ref_of(given.row, ShardId{7}, kPlainSlots), given.input));
  Message& m = given.message[0];
  m = {.shard = ShardId{7}, .kind = MessageKind::Append, .from = kLeader, .to = NodeId{2}};
  m.term = given.row.hot.term;
  m.log_term = m.term;
  m.entry_term = m.term.value;
  given.in.message_count = 1;
  for (std::uint32_t before = 0; before <= 2; ++before) {
    for (std::uint16_t count = 0; count <= 4; ++count) {
      SCOPED_TRACE(testing::Message() << count << " entries, " << before << " before the end");
      m.index = given.row.log.last - before;
      m.count = count;
      Stepped steady = step_steadily(given);
      if (steady.out.beyond_plain != 0) {
        EXPECT_TRUE(before != 0 && count != 0);
        continue;
      }
      Stepped whole = step_as<StepScope::Whole>(given.row, given.in, given.message, given.input);
      expect_equal(steady, whole);
    }
  }
}

RC_GTEST_PROP(SteadyStep, QuorumOfThreeEqualVotersIsTheOneInTheMiddle, ()) {
  RowCopy row{};
  row.configuration.voters = kPlainVoters;
  for (std::uint32_t slot = 0; slot < kPlainSlots; ++slot) {
    row.configuration.node[slot] = NodeId{slot + 1};
    row.configuration.weight[slot] = 1;
  }
  // Slots without a voter mean nothing.
  const std::uint64_t most = any_bool() ? 3 : ~std::uint64_t{0} - 1;
  std::uint64_t match[kReplicaSlots];
  for (std::uint64_t& index : match) {
    index = any_from<std::uint64_t>(0, most);
  }
  const ShardRef shard = ref_of(row, ShardId{7}, kPlainSlots);
  const PeerLiveness peers[kPlainSlots - 1]{};
  StepInput input;
  input.peer = peers;
  input.peer_count = kPlainSlots - 1;
  OutboxHead out;
  const StepArrays none;
  const LogIndex expected = committed_index(row.configuration, match);
  RC_ASSERT(quorum_index(BasicStepRow<StepScope::Whole>{shard, input, out, none}, match) ==
            expected);
  RC_ASSERT(quorum_index(BasicStepRow<StepScope::Plain>{shard, input, out, none}, match) ==
            expected);
  RC_ASSERT(quorum_index(BasicStepRow<StepScope::Steady>{shard, input, out, none}, match) ==
            expected);
}

}  // namespace
}  // namespace gcoord::consensus
