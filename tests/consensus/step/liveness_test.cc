#include "consensus/step/liveness.h"

#include "tests/consensus/random_values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace gcoord::consensus {
namespace {

constexpr Timing kTiming{
    .election_ticks = 20, .resend_ticks = 2, .stagger_ticks = 2, .lease_margin_ticks = 2};

// One of two nodes with perfect clocks; the network between them is the test's.
struct Side {
  Incarnation incarnation{1};
  PeerLiveness peer;

  Heartbeat speak(Tick now) const {
    return {.incarnation = incarnation,
            .echo_incarnation = peer.incarnation,
            .send = now,
            .echo = peer.peer_tick};
  }

  LivenessChange hear(const Heartbeat& heartbeat, Tick now) {
    return on_heartbeat(peer, heartbeat, incarnation, now, kTiming);
  }
};

struct Delayed {
  Heartbeat heartbeat;
  Tick arrives;
};

// A link that loses a quarter, delays and reorders.
class Wire {
 public:
  explicit Wire(std::uint64_t delay_max) : delay_max_(delay_max) {}

  void send(const Heartbeat& heartbeat, Tick now) {
    if (any_from(0, 3) != 0) {
      waiting_.push_back({heartbeat, now + any_from<std::uint64_t>(0, delay_max_)});
    }
  }

  std::optional<Heartbeat> take(Tick now) {
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      if (it->arrives <= now) {
        const Heartbeat heartbeat = it->heartbeat;
        waiting_.erase(it);
        return heartbeat;
      }
    }
    return std::nullopt;
  }

 private:
  std::uint64_t delay_max_;
  std::vector<Delayed> waiting_;
};

// Both directions of a link whose longest delay is drawn anew: from none to longer than any
// promise.
struct Link {
  Side leader;
  Side follower;
  Wire to_follower{any_from<std::uint64_t>(0, 30)};
  Wire to_leader{any_from<std::uint64_t>(0, 30)};

  // One tick of talk; on_heard is called after each heartbeat that the leader's side takes in.
  template <typename OnHeard>
  void talk(Tick now, OnHeard on_heard) {
    to_follower.send(leader.speak(now), now);
    while (const auto heartbeat = to_follower.take(now)) {
      follower.hear(*heartbeat, now);
    }
    to_leader.send(follower.speak(now), now);
    while (const auto heartbeat = to_leader.take(now)) {
      leader.hear(*heartbeat, now);
      on_heard();
    }
  }
};

// What the follower's side saw: when it had heard each send, and the ticks without trust.
struct Witness {
  std::vector<Tick> heard_at{Tick{}};  // By send tick.
  std::vector<Tick> lapses;

  void look(const PeerLiveness& peer, Tick now) {
    heard_at.resize(std::max<std::size_t>(heard_at.size(), peer.peer_tick.value + 1), now);
    if (!heard_within(peer, now, kTiming.election_ticks)) {
      lapses.push_back(now);
    }
  }

  bool trusted_between(Tick first, Tick last) const {
    return std::none_of(lapses.begin(), lapses.end(), [&](Tick lapse) {
      return heard_at[first.value] <= lapse && lapse < heard_at[last.value];
    });
  }
};

// What a session stands for: from the first send that it acknowledges to the last one, the peer
// never stopped trusting us. Checked against what the peer itself saw.
RC_GTEST_PROP(Liveness, SessionLastsOnlyWhileThePeersTrustDoes, ()) {
  Link link;
  Witness witness;
  std::uint32_t session = 0;
  Tick first;
  for (Tick now{1}; now <= Tick{300}; ++now) {
    const PeerLiveness& peer = link.leader.peer;
    link.talk(now, [&] {
      first = peer.session != session ? Tick{} : first;
      session = peer.session;
      first = first.value == 0 ? peer.acked_send : first;
    });
    witness.look(link.follower.peer, now);
    RC_ASSERT(first.value == 0 || witness.trusted_between(first, peer.acked_send));
  }
}

RC_GTEST_PROP(Liveness, LeaseNeverOutlivesThePeersTrust, ()) {
  Link link;
  for (Tick now{1}; now <= Tick{300}; ++now) {
    link.talk(now, [] {});
    const PeerLiveness& peer = link.leader.peer;
    const std::uint32_t length = kTiming.election_ticks - kTiming.lease_margin_ticks;
    const bool lease = peer.acked_send.value != 0 && now < peer.acked_send + length;
    RC_ASSERT(!lease || heard_within(link.follower.peer, now, kTiming.election_ticks));
  }
}

bool equal(const PeerLiveness& a, const PeerLiveness& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

RC_GTEST_PROP(Liveness, OlderLivesAndRepeatedWordsChangeNothing, ()) {
  Side side;
  side.hear({Incarnation{3}, Incarnation{1}, Tick{10}, Tick{5}}, Tick{6});
  const PeerLiveness before = side.peer;
  const Heartbeat old{Incarnation{any_from(0u, 3u)},
                      Incarnation{1},
                      Tick{any_from<std::uint64_t>(0, 10)},
                      Tick{any_from<std::uint64_t>(0, 5)}};
  RC_ASSERT(side.hear(old, Tick{6}) == LivenessChange::None);
  RC_ASSERT(equal(side.peer, before));
}

TEST(Liveness, EchoOfAnotherLifeOrOfTheFutureDoesNotCount) {
  Side side;
  side.incarnation = Incarnation{2};
  side.hear({Incarnation{1}, Incarnation{1}, Tick{4}, Tick{3}}, Tick{5});
  EXPECT_EQ(side.peer.acked_send, Tick{});
  side.hear({Incarnation{1}, Incarnation{2}, Tick{5}, Tick{99}}, Tick{6});
  EXPECT_EQ(side.peer.acked_send, Tick{});
  EXPECT_EQ(side.peer.live, 0);
  side.hear({Incarnation{1}, Incarnation{2}, Tick{6}, Tick{6}}, Tick{7});
  EXPECT_EQ(side.peer.acked_send, Tick{6});
  EXPECT_EQ(side.peer.live, 1);
}

TEST(Liveness, AnotherLifeOpensAnotherSession) {
  Side side;
  side.hear({Incarnation{1}, Incarnation{1}, Tick{4}, Tick{4}}, Tick{5});
  const std::uint32_t session = side.peer.session;
  side.hear({Incarnation{2}, Incarnation{}, Tick{1}, Tick{}}, Tick{6});
  EXPECT_EQ(side.peer.session, session + 1);
  EXPECT_EQ(side.peer.acked_send, Tick{});
  EXPECT_FALSE(of_session(side.peer, Tick{5}));
}

TEST(Liveness, GapOfALeaseOpensAnotherSession) {
  Side side;
  side.hear({Incarnation{1}, Incarnation{1}, Tick{4}, Tick{5}}, Tick{5});
  const std::uint32_t session = side.peer.session;
  side.hear({Incarnation{1}, Incarnation{1}, Tick{21}, Tick{21}}, Tick{22});
  EXPECT_EQ(side.peer.session, session);
  side.hear({Incarnation{1}, Incarnation{1}, Tick{38}, Tick{38}}, Tick{39});
  EXPECT_EQ(side.peer.session, session + 1);
  EXPECT_TRUE(of_session(side.peer, Tick{38}));
  EXPECT_FALSE(of_session(side.peer, Tick{21}));
}

TEST(Liveness, SilenceIsNoticedOnceAndReturnToo) {
  Side side;
  side.hear({Incarnation{1}, Incarnation{1}, Tick{1}, Tick{1}}, Tick{1});
  EXPECT_EQ(refresh(side.peer, Tick{10}, kTiming), LivenessChange::None);
  EXPECT_EQ(refresh(side.peer, Tick{19}, kTiming), LivenessChange::Lost);
  EXPECT_EQ(refresh(side.peer, Tick{30}, kTiming), LivenessChange::None);
  side.hear({Incarnation{1}, Incarnation{1}, Tick{31}, Tick{1}}, Tick{31});
  EXPECT_EQ(side.hear({Incarnation{1}, Incarnation{1}, Tick{32}, Tick{31}}, Tick{32}),
            LivenessChange::Returned);
}

}  // namespace
}  // namespace gcoord::consensus
