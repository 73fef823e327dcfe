// The rule by which renewals and ends of sessions count while nodes come and go (docs/adr/0111),
// with every set of views that client, leader and nodes may have: no session that a client counts
// as renewed may end, and each planted mistake ends one.
//
// Three moments matter, and of each node the epoch that it has then: a TTL before the leader asks,
// when a node answered the client's question for the view, and when the leader's question is
// answered. What a node acknowledged lies between the first and the last. Whoever acknowledged was
// not silent; all the rest may have been.
#include "client/nodes/known_view.h"
#include "common/random.h"
#include "server/members/followers.h"
#include "server/sessions/voters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ClusterView;
using protocol::Member;
using protocol::MemberState;
using Nodes = std::uint32_t;  // A bit for each, node 1 lowest.

constexpr std::uint64_t kTtl = 100;
constexpr Tick kAsked{1000};

enum class Planted : std::uint8_t {
  Nothing,
  ClientKeepsItsOldCount,
  LeaderAsksTheOldList,
  ClientForgetsEarlierViews,
  LeaderForgetsEarlierViews,
  LeaderForgetsThemTooSoon,
  ClientCountsWhatItDoesNotKnow,
  LeaderCountsWhatItDoesNotKnow,
};

// Views by their voters; the k-th has epoch k + 1.
struct Story {
  std::uint32_t node_count = 0;
  std::vector<Nodes> views;
  std::vector<std::uint64_t> before;   // Epoch of each node a TTL before the leader asks,
  std::vector<std::uint64_t> between;  // and when the client is answered.
};

std::vector<NodeId> ids(Nodes nodes) {
  std::vector<NodeId> result;
  for (std::uint32_t k = 0; k < 32; ++k) {
    if ((nodes >> k & 1) != 0) {
      result.push_back(NodeId{k + 1});
    }
  }
  return result;
}

// Nodes without a vote have just not got one yet: nothing is known by who was removed.
ClusterView view_of(const Story& story, std::uint64_t epoch) {
  ClusterView view{.epoch = epoch};
  for (std::uint32_t k = 0; k < story.node_count; ++k) {
    Member node;
    node.id = NodeId{k + 1};
    const bool votes = (story.views[epoch - 1] >> k & 1) != 0;
    node.state = votes ? MemberState::Active : MemberState::Joining;
    view.nodes.push_back(node);
  }
  return view;
}

ViewFollowers followers_of(const Story& story,
                           std::uint64_t newest,
                           const std::vector<std::uint64_t>& epochs) {
  ViewFollowers followers;
  followers.look({.oldest = 1,
                  .newest = newest,
                  .at = [&story](std::uint64_t epoch) { return view_of(story, epoch); }},
                 [&epochs](NodeId node) { return epochs[node.value - 1]; });
  return followers;
}

class Rule {
 public:
  explicit Rule(Planted planted) : planted_(planted) {}

  // The client's lists with view `epoch`, as a node told it that heard all at `between`.
  client::VoterLists client_lists(const Story& story, std::uint64_t epoch) const {
    if (planted_ == Planted::ClientKeepsItsOldCount) {
      return {{ids(story.views.front())}};
    }
    const ViewFollowers told = followers_of(story, epoch, story.between);
    client::KnownView known;
    known.take({.view = view_of(story, epoch),
                .newest = epoch,
                .sights = {},
                .settled = told.settled(),
                .earlier_voters = told.earlier_voters()});
    client::VoterLists lists = known.voters();
    if (planted_ == Planted::ClientForgetsEarlierViews) {
      lists.lists.resize(1);
    }
    return lists;
  }

  // The leader's voters with view `epoch`, who knew all that was so at `before`; what it has heard
  // since is too new.
  ExpiryVoters leader_voters(const Story& story, std::uint64_t epoch) const {
    const std::uint64_t from = planted_ == Planted::LeaderAsksTheOldList ? 1 : epoch;
    ExpiryVoters voters{NodeId{1}, ids(story.views.front()), kTtl};
    const auto set = [&](const std::vector<std::uint64_t>& epochs, Tick now) {
      voters.set_members(
          {.view = view_of(story, from),
           .earlier_voters = planted_ == Planted::LeaderForgetsEarlierViews
                                 ? std::vector<std::vector<NodeId>>{}
                                 : followers_of(story, from, epochs).earlier_voters()},
          now);
    };
    set(story.before, kAsked - (kTtl + 4));
    const bool soon = planted_ == Planted::LeaderForgetsThemTooSoon;
    set(story.between, soon ? kAsked - (kTtl + 4) : kAsked);
    return voters;
  }

  // Whether a session that a client counts as renewed ends, of all views that a client can have
  // been told of and a leader can have.
  bool ends_live_session(const Story& story) const {
    std::vector<ExpiryVoters> leaders;
    for (std::uint64_t epoch = 1; epoch <= story.views.size(); ++epoch) {
      leaders.push_back(leader_voters(story, epoch));
    }
    for (std::uint64_t client = 1; client <= story.views.size(); ++client) {
      if (std::ranges::find(story.between, client) == story.between.end()) {
        continue;
      }
      const client::VoterLists lists = client_lists(story, client);
      const Nodes heard = acknowledging(story, client);
      for (Nodes acknowledged = heard; acknowledged != 0;
           acknowledged = (acknowledged - 1) & heard) {
        if (lists.is_majority(ids(acknowledged)) && ends(story, leaders, acknowledged)) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  // Whose acknowledgements may count for a client with this view.
  Nodes acknowledging(const Story& story, std::uint64_t client) const {
    Nodes nodes = 0;
    for (std::uint32_t k = 0; k < story.node_count; ++k) {
      const bool counts = story.before[k] <= client ||
                          planted_ == Planted::ClientCountsWhatItDoesNotKnow ||
                          planted_ == Planted::ClientKeepsItsOldCount;
      nodes |= counts ? 1u << k : 0u;
    }
    return nodes;
  }

  // Whether some leader ends the session when all that did not acknowledge were silent.
  bool ends(const Story& story,
            const std::vector<ExpiryVoters>& leaders,
            Nodes acknowledged) const {
    for (std::uint64_t leader = 1; leader <= leaders.size(); ++leader) {
      const ExpiryVoters& voters = leaders[leader - 1];
      std::uint64_t silent = 0;
      for (std::uint32_t k = 0; k < story.node_count; ++k) {
        const bool counts =
            story.between[k] <= leader || planted_ == Planted::LeaderCountsWhatItDoesNotKnow;
        const bool acknowledges = (acknowledged >> k & 1) != 0;
        silent |= counts && !acknowledges ? voters.bit_of(NodeId{k + 1}) : 0;
      }
      if (voters.is_majority(silent, kTtl, kAsked)) {
        return true;
      }
    }
    return false;
  }

  Planted planted_;
};

// Views of 3 nodes that are any voters after any voters, three of them, and any epochs.
template <typename Visit>
void every_story_of_three(Visit visit) {
  constexpr std::uint32_t kNodes = 3;
  constexpr std::uint64_t kViews = 3;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> epochs;
  for (std::uint64_t before = 1; before <= kViews; ++before) {
    for (std::uint64_t between = before; between <= kViews; ++between) {
      epochs.emplace_back(before, between);
    }
  }
  const std::size_t all_epochs = epochs.size() * epochs.size() * epochs.size();
  for (Nodes views = 0; views < 1u << (kNodes * kViews); ++views) {
    Story story{.node_count = kNodes,
                .views = {views & 7, views >> 3 & 7, views >> 6 & 7},
                .before = std::vector<std::uint64_t>(kNodes),
                .between = std::vector<std::uint64_t>(kNodes)};
    if (std::ranges::find(story.views, 0u) != story.views.end()) {
      continue;
    }
    for (std::size_t k = 0; k < all_epochs; ++k) {
      std::size_t rest = k;
      for (std::uint32_t node = 0; node < kNodes; ++node, rest /= epochs.size()) {
        std::tie(story.before[node], story.between[node]) = epochs[rest % epochs.size()];
      }
      visit(story);
    }
  }
}

// Up to six nodes and six views that mostly differ by a node, as operators change them.
Story drawn_story(std::uint64_t seed) {
  std::uint64_t word = mix64(seed);
  const auto draw = [&word](std::uint64_t below) { return (word = mix64(word)) % below; };
  const auto count = static_cast<std::uint32_t>(4 + draw(3));
  const std::uint64_t views = 2 + draw(5);
  Story story{.node_count = count, .views = {}, .before = {}, .between = {}};
  Nodes voters = 1 + static_cast<Nodes>(draw((1u << count) - 1));
  while (story.views.size() < views) {
    story.views.push_back(voters);
    const Nodes other = voters ^ 1u << draw(count);
    voters = draw(8) == 0 ? 1 + static_cast<Nodes>(draw((1u << count) - 1))
             : other != 0 ? other
                          : voters;
  }
  for (std::uint32_t node = 0; node < count; ++node) {
    story.before.push_back(1 + draw(views));
    story.between.push_back(story.before.back() + draw(views - story.before.back() + 1));
  }
  return story;
}

constexpr std::uint64_t kDrawn = 20'000;

TEST(RenewalRuleTest, NoLiveSessionEndsWhateverViewsOfThreeNodesSomebodyHas) {
  const Rule rule{Planted::Nothing};
  std::uint64_t stories = 0;
  every_story_of_three([&](const Story& story) {
    ++stories;
    ASSERT_FALSE(rule.ends_live_session(story)) << "story " << stories;
  });
  EXPECT_EQ(stories, 343u * 216u);
}

TEST(RenewalRuleTest, NoLiveSessionEndsInDrawnStoriesOfMoreNodes) {
  const Rule rule{Planted::Nothing};
  for (std::uint64_t seed = 0; seed < kDrawn; ++seed) {
    ASSERT_FALSE(rule.ends_live_session(drawn_story(seed))) << "seed " << seed;
  }
}

class PlantedMistakeTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedMistakeTest, IsFound) {
  const Rule rule{GetParam()};
  std::uint64_t seed = 0;
  while (seed < kDrawn && !rule.ends_live_session(drawn_story(seed))) {
    ++seed;
  }
  EXPECT_LT(seed, 500u);
}

INSTANTIATE_TEST_SUITE_P(RenewalRule,
                         PlantedMistakeTest,
                         testing::Values(Planted::ClientKeepsItsOldCount,
                                         Planted::LeaderAsksTheOldList,
                                         Planted::ClientForgetsEarlierViews,
                                         Planted::LeaderForgetsEarlierViews,
                                         Planted::LeaderForgetsThemTooSoon,
                                         Planted::ClientCountsWhatItDoesNotKnow,
                                         Planted::LeaderCountsWhatItDoesNotKnow));

}  // namespace
}  // namespace gcoord::server
