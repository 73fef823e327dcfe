// By what way two resident nodes reach each other: that both ends choose alike, what is refused and
// why, which epoch a proxy gets, and the bytes that say so.
#include "server/resident/links/links.h"

#include "netcore/gpu_channel/nvlink.h"
#include "server/resident/links/link_handshake.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace gcoord::server {
namespace {

constexpr NodeId kOne{1};
constexpr NodeId kTwo{2};

constexpr ResidentPeers kWishes[] = {
    ResidentPeers::Auto, ResidentPeers::Mapped, ResidentPeers::Proxy};

// Of a node whose data directory is `folder`, or of one that has told of none.
ResidentAddress own_place(const std::string& folder = "") {
  ResidentAddress place;
  if (!folder.empty()) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    place.folder = find_socket_folder(folder).value();
  }
  place.facts = netcore::own_gpu_node_facts({}).value();
  return place;
}

TEST(ResidentLinks, BothEndsChooseTheSameWhateverEachBrings) {
  for (const ResidentPeers one : kWishes) {
    for (const ResidentPeers two : kWishes) {
      for (std::uint8_t a = 0; a <= kMappingLast; ++a) {
        for (std::uint8_t b = 0; b <= kMappingLast; ++b) {
          const ResidentLinkEnd first{kOne, one, Mapping{a}};
          const ResidentLinkEnd second{kTwo, two, Mapping{b}};
          const ResidentLink here = choose_resident_link(first, second);
          EXPECT_EQ(here.kind, choose_resident_link(second, first).kind);
          EXPECT_NE(here.why, "");
        }
      }
    }
  }
}

ResidentLink choose(ResidentPeers own,
                    ResidentPeers peer,
                    Mapping mapping = Mapping::Possible,
                    Mapping back = Mapping::Possible) {
  return choose_resident_link({kOne, own, mapping}, {kTwo, peer, back});
}

TEST(ResidentLinks, AutoMapsWhereBothCanAndElseTakesTheProxy) {
  const auto wish = ResidentPeers::Auto;
  EXPECT_EQ(choose(wish, wish).kind, ResidentLinkKind::Mapped);
  EXPECT_EQ(choose(wish, wish, Mapping::Unknown).kind, ResidentLinkKind::Undecided);
  EXPECT_EQ(choose(wish, wish, Mapping::Possible, Mapping::Unknown).kind,
            ResidentLinkKind::Undecided);
  const ResidentLink other_host = choose(wish, wish, Mapping::OtherHost, Mapping::OtherHost);
  EXPECT_EQ(other_host.kind, ResidentLinkKind::Proxy);
  EXPECT_EQ(other_host.why, "the nodes are on different hosts");
  // Only the peer cannot.
  EXPECT_EQ(choose(wish, wish, Mapping::Possible, Mapping::NotVisible).why,
            "one device is not visible to the other's process");
}

// Whichever end it is that could not, and both say the same of it.
TEST(ResidentLinks, AMappingThatWasGivenUpMakesBothEndsTakeTheProxy) {
  const auto wish = ResidentPeers::Auto;
  for (const Mapping here : {Mapping::Possible, Mapping::Failed}) {
    const ResidentLink link = choose(wish, wish, here, Mapping::Failed);
    EXPECT_EQ(link.kind, ResidentLinkKind::Proxy);
    EXPECT_EQ(link.why,
              "one of the nodes tried to map the other's memory again and again, and failed");
    EXPECT_EQ(choose(wish, wish, Mapping::Failed, here).kind, ResidentLinkKind::Proxy);
  }
  // What is impossible says more.
  EXPECT_EQ(choose(wish, wish, Mapping::NoAccess, Mapping::Failed).why,
            "the devices have no peer access");
}

// One that may do nothing else goes on trying: what failed may be over.
TEST(ResidentLinks, AMappingThatWasGivenUpIsTriedAllTheSameWhereNothingElseIsAllowed) {
  for (const auto peer : {ResidentPeers::Auto, ResidentPeers::Mapped}) {
    const ResidentLink link =
        choose(ResidentPeers::Mapped, peer, Mapping::Failed, Mapping::Possible);
    EXPECT_EQ(link.kind, ResidentLinkKind::Mapped);
    EXPECT_EQ(link.why,
              "node 1 was started with --resident-peers mapped, but one of the nodes tried to map "
              "the other's memory again and again, and failed");
  }
  EXPECT_EQ(
      choose(ResidentPeers::Mapped, ResidentPeers::Auto, Mapping::Failed, Mapping::NoAccess).kind,
      ResidentLinkKind::Refused);
}

TEST(ResidentLinks, AnOperatorForcesEitherWay) {
  EXPECT_EQ(choose(ResidentPeers::Proxy, ResidentPeers::Auto).kind, ResidentLinkKind::Proxy);
  EXPECT_EQ(choose(ResidentPeers::Auto, ResidentPeers::Proxy, Mapping::Unknown).why,
            "node 2 was started with --resident-peers proxy");
  EXPECT_EQ(choose(ResidentPeers::Mapped, ResidentPeers::Auto).kind, ResidentLinkKind::Mapped);
}

TEST(ResidentLinks, ContradictionsAreRefusedWithBothSidesOfThem) {
  const ResidentLink flags = choose(ResidentPeers::Mapped, ResidentPeers::Proxy);
  EXPECT_EQ(flags.kind, ResidentLinkKind::Refused);
  EXPECT_EQ(flags.why,
            "node 1 was started with --resident-peers mapped, node 2 was started with "
            "--resident-peers proxy: start both with the same value, or one with auto");
  const ResidentLink facts =
      choose(ResidentPeers::Auto, ResidentPeers::Mapped, Mapping::OneWithoutGpu);
  EXPECT_EQ(facts.kind, ResidentLinkKind::Refused);
  EXPECT_EQ(facts.why,
            "node 2 was started with --resident-peers mapped, but one of the nodes runs on a GPU "
            "and the other on the host emulation");
}

TEST(ResidentLinks, TwinsMapEachOtherWhereTheyShareAHostAndSeeEachOthersFolders) {
  const ScratchFolder here;
  const ScratchFolder there;
  const ResidentAddress own = own_place(here.path().string());
  ResidentAddress peer = own_place(there.path().string());
  ++peer.facts.process_id;
  EXPECT_TRUE(may_meet(own, peer));
  EXPECT_EQ(look_at_peer(own, peer, true), Mapping::Possible);
  EXPECT_EQ(look_at_peer(own, peer, false), Mapping::OtherFolder);
  peer.facts.has_gpu = 1;
  EXPECT_EQ(look_at_peer(own, peer, true), Mapping::OneWithoutGpu);
  peer.folder = {};
  EXPECT_FALSE(may_meet(own, peer));
  EXPECT_EQ(look_at_peer(own, peer, true), Mapping::OtherFolder) << "a release of before";
  EXPECT_EQ(look_at_peer(own_place(), own, true), Mapping::OtherFolder) << "this node has none";
  peer.facts.boot_id[0] = '?';
  EXPECT_FALSE(may_meet(own, peer));
  EXPECT_EQ(look_at_peer(own, peer, true), Mapping::OtherHost);
  EXPECT_EQ(look_at_peer({}, {}, true), Mapping::OtherHost);
}

// As both ends would act on what the other last said, from any state.
TEST(ResidentLinks, TwoEndsAgreeOnTheEpochOfAProxyInOneRound) {
  for (const std::uint32_t one_next : {1u, 4u, 9u}) {
    for (const std::uint32_t two_next : {1u, 4u, 9u}) {
      const std::uint32_t made = proxy_epoch(kOne, kTwo, {one_next, two_next, 0});
      EXPECT_EQ(made, std::max(one_next, two_next));
      EXPECT_EQ(proxy_epoch(kTwo, kOne, {two_next, made + 1, made}), made);
    }
  }
  EXPECT_EQ(proxy_epoch(kTwo, kOne, {3, 1, 0}), 0u);  // The lower one begins.
  EXPECT_EQ(proxy_epoch(kTwo, kOne, {3, 1, 2}), 0u);  // An epoch that is used up.
}

TEST(ResidentLinks, AnEpochThatCannotBeMeantIsNotTaken) {
  EXPECT_EQ(proxy_epoch(kOne, kTwo, {1, ~0u, 0}), 0u);
  EXPECT_EQ(proxy_epoch(kOne, kTwo, {1, 1u << 30, 0}), 0u);
  // Nor by the one that follows, to which the lower node only says what it has.
  EXPECT_EQ(proxy_epoch(kTwo, kOne, {1, 1, netcore::kGpuEpochMax}), 0u);
  EXPECT_EQ(proxy_epoch(kTwo, kOne, {1, 1, netcore::kGpuEpochLead + 2}), 0u);
  EXPECT_EQ(proxy_epoch(kTwo, kOne, {1, 1, netcore::kGpuEpochLead + 1}),
            netcore::kGpuEpochLead + 1);
}

TEST(ResidentLinks, AnEpochIsFarAheadAndNeverFarBehind) {
  using netcore::is_far_epoch;
  EXPECT_FALSE(is_far_epoch(1, 0));
  EXPECT_FALSE(is_far_epoch(1, netcore::kGpuEpochLead + 1));
  EXPECT_TRUE(is_far_epoch(1, netcore::kGpuEpochLead + 2));
  EXPECT_FALSE(is_far_epoch(netcore::kGpuEpochMax, 1));
  EXPECT_FALSE(is_far_epoch(netcore::kGpuEpochMax, netcore::kGpuEpochMax));
  EXPECT_TRUE(is_far_epoch(netcore::kGpuEpochMax, netcore::kGpuEpochMax + 1));
  EXPECT_FALSE(is_far_epoch(netcore::kGpuEpochMax, netcore::kGpuEpochLead));
  EXPECT_TRUE(is_far_epoch(netcore::kGpuEpochMax, netcore::kGpuEpochLead + 1));
  constexpr std::uint32_t kHalf = netcore::kGpuEpochMax / 2;
  EXPECT_TRUE(is_far_epoch(5, 5 + kHalf)) << "just opposite";
  EXPECT_FALSE(is_far_epoch(5, 6 + kHalf)) << "behind";
  EXPECT_FALSE(is_far_epoch(kHalf, 0)) << "none";
}

TEST(ResidentLinks, TheEpochOfAProxyGoesRound) {
  constexpr std::uint32_t kLast = netcore::kGpuEpochMax;
  EXPECT_EQ(proxy_epoch(kOne, kTwo, {kLast, kLast - 1, 0}), kLast);
  EXPECT_EQ(proxy_epoch(kOne, kTwo, {kLast, 2, 0}), 2u);
  EXPECT_EQ(proxy_epoch(kOne, kTwo, {2, kLast, 0}), 2u);
  EXPECT_EQ(proxy_epoch(kTwo, kOne, {kLast, 1, 2}), 2u) << "the lower one went round";
  EXPECT_EQ(proxy_epoch(kTwo, kOne, {2, 1, kLast}), 0u) << "it has not yet";
}

TEST(ResidentReady, SaysWhatItWasGiven) {
  ResidentReady ready;
  ready.state = ResidentState::Connected;
  ready.wish = ResidentPeers::Proxy;
  ready.mapping = Mapping::NoAccess;
  ready.way = ResidentLinkKind::Proxy;
  ready.epoch = 7;
  ready.epoch_next = 8;
  ready.place = own_place();
  const auto read = read_resident_ready(write_resident_ready(ready));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->state, ready.state);
  EXPECT_EQ(read->wish, ready.wish);
  EXPECT_EQ(read->mapping, ready.mapping);
  EXPECT_EQ(read->way, ready.way);
  EXPECT_EQ(read->epoch, 7u);
  EXPECT_EQ(read->epoch_next, 8u);
  EXPECT_TRUE(read->place == ready.place);
  EXPECT_TRUE(read->tells_folder);
}

// The word where those of before name their folder is zero, by which they take the proxy.
TEST(ResidentReady, ANodeOfAReleaseOfBeforeTellsOfNoFolderAndIsToldThatThereIsNone) {
  ResidentReady ready;
  ready.place = own_place();
  ResidentReadyBytes bytes = write_resident_ready(ready);
  constexpr std::size_t kMeeting = 16;
  EXPECT_TRUE(std::all_of(bytes.begin() + kMeeting,
                          bytes.begin() + kMeeting + 8,
                          [](std::byte each) { return each == std::byte{0}; }));
  bytes[5] = std::byte{0};
  std::fill_n(bytes.begin() + kMeeting, 8, std::byte{0x55});
  const auto read = read_resident_ready(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(read->tells_folder);
}

TEST(ResidentReady, WhatNoNodeSaysIsNoSuchMessage) {
  const ResidentReadyBytes good = write_resident_ready({});
  EXPECT_TRUE(read_resident_ready(good).has_value());
  EXPECT_FALSE(read_resident_ready({}).has_value());
  EXPECT_FALSE(read_resident_ready(std::span{good}.first(kReadyBytes - 1)).has_value());
  for (std::size_t at = 0; at < 5; ++at) {  // Kind, state, wish, mapping, way.
    ResidentReadyBytes bad = good;
    bad[at] = std::byte{0xff};
    EXPECT_FALSE(read_resident_ready(bad).has_value()) << at;
  }
  for (const std::size_t epoch : {8u, 12u}) {
    ResidentReadyBytes bad = good;
    std::fill_n(bad.begin() + epoch, 4, std::byte{0xff});
    EXPECT_FALSE(read_resident_ready(bad).has_value()) << epoch;
  }
}

}  // namespace
}  // namespace gcoord::server
