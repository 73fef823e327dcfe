// The hello of a link: its bytes, what two nodes cannot speak and by which number, and the layout
// that every release of version 1 has.
#include "server/resident/links/hello.h"

#include "server/resident/engine/shape.h"
#include "server/resident/node/node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gcoord::server {
namespace {

constexpr NodeId kOne{1};
constexpr NodeId kTwo{2};
constexpr std::uint64_t kFeatures = 0b1011;

LinkHello hello() {
  return own_link_hello({.stripe_count = 16, .log_slots = 128}, 1024, kFeatures);
}

TEST(LinkHello, SaysWhatItWasGiven) {
  LinkHello said = hello();
  said.layout_max = 3;
  said.used = 0b10;
  const LinkHelloBytes bytes = write_link_hello(said);
  EXPECT_TRUE(is_link_hello(bytes));
  EXPECT_TRUE(read_link_hello(bytes) == said);
}

TEST(LinkHello, ALaterReleaseMaySayMoreBehindIt) {
  const LinkHelloBytes bytes = write_link_hello(hello());
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.resize(longer.size() + 24, std::byte{0xab});
  EXPECT_TRUE(read_link_hello(longer) == hello());
}

TEST(LinkHello, WhatNoNodeSaysIsNone) {
  const LinkHelloBytes good = write_link_hello(hello());
  EXPECT_FALSE(read_link_hello({}).has_value());
  EXPECT_FALSE(read_link_hello(std::span{good}.first(kLinkHelloBytes - 1)).has_value());
  LinkHelloBytes bad = good;
  bad[0] = std::byte{10};
  EXPECT_FALSE(read_link_hello(bad).has_value());
  LinkHello none = hello();
  none.layout_min = 0;
  EXPECT_FALSE(read_link_hello(write_link_hello(none)).has_value());
  LinkHello backwards = hello();
  backwards.layout_min = backwards.layout_max + 1;
  EXPECT_FALSE(read_link_hello(write_link_hello(backwards)).has_value());
  LinkHello uses_what_it_lacks = hello();
  uses_what_it_lacks.used = 0b100;
  EXPECT_FALSE(read_link_hello(write_link_hello(uses_what_it_lacks)).has_value());
}

// The number by which both ends refuse the link; 0: they speak.
std::uint32_t refusal(const LinkHello& one, const LinkHello& two) {
  const auto here = find_contradiction({kOne, one}, {kTwo, two});
  const auto there = find_contradiction({kTwo, two}, {kOne, one});
  EXPECT_EQ(here.has_value(), there.has_value());
  if (!here.has_value() || !there.has_value()) {
    return 0;
  }
  EXPECT_EQ(here->code, there->code);
  EXPECT_NE(here->text.find("GC" + std::to_string(here->code)), std::string::npos);
  return here->code;
}

TEST(LinkHello, ReleasesWithOneVersionInCommonSpeak) {
  LinkHello later = hello();
  later.layout_max = 2;
  later.features |= 0b100;
  EXPECT_EQ(refusal(hello(), hello()), 0u);
  EXPECT_EQ(refusal(hello(), later), 0u);
  later.layout_min = 2;
  EXPECT_EQ(refusal(hello(), later), kLinkLayoutUnknown);
}

TEST(LinkHello, OneThatCannotBeReadIsRefusedWithoutItsWords) {
  const LinkContradiction why = unread_hello(kTwo);
  EXPECT_EQ(why.code, kLinkLayoutUnknown);
  EXPECT_EQ(why.text, "what node 2 says of its lanes cannot be read (GC6730)");
}

TEST(LinkHello, NodesThatAreCutOtherwiseDoNotSpeak) {
  for (std::uint32_t LinkHello::*const word : {&LinkHello::stripes,
                                               &LinkHello::ring_slots,
                                               &LinkHello::entries_max,
                                               &LinkHello::log_slots}) {
    LinkHello other = hello();
    other.*word += 1;
    EXPECT_EQ(refusal(hello(), other), kLinkLayoutDiffers);
  }
  LinkHello other = hello();
  other.voters = 5;
  EXPECT_EQ(refusal(hello(), other), kLinkLayoutDiffers);
}

// A feature that was used is in the log for good; one that was not stands in nobody's way.
TEST(LinkHello, ANodeWithoutAFeatureThatEntriesUseIsRefused) {
  LinkHello before = hello();
  before.features = 0b0011;
  EXPECT_EQ(refusal(hello(), before), 0u);
  LinkHello used = hello();
  used.used = 0b1000;
  EXPECT_EQ(refusal(used, before), kLinkFeatureUsed);
  EXPECT_NE(find_contradiction({kOne, used}, {kTwo, before})->text.find("node 2 lacks"),
            std::string::npos);
  EXPECT_NE(find_contradiction({kTwo, before}, {kOne, used})->text.find("node 2 lacks"),
            std::string::npos);
}

// The layout of version 1, as nodes have it that say no hello. Whoever changes a number here makes
// a version 2 (hello.h), or nodes of two releases cannot share a cluster any more.
TEST(LinkHello, VersionOneIsCutAsReleasesOfBeforeCutIt) {
  struct Cut {
    std::uint32_t shards;
    std::uint32_t stripes;
  };

  for (const Cut cut :
       {Cut{4, 1}, Cut{64, 16}, Cut{65'536, 16}, Cut{262'144, 64}, Cut{1 << 20, 256}}) {
    ReplicaOptions options;
    options.shard_count = cut.shards;
    options.peers = {{.id = kTwo}, {.id = NodeId{3}}};
    const LinkHello said =
        own_link_hello(resident_shape(options), ResidentNodeOptions{}.ring_slots, 0);
    EXPECT_EQ(said.layout_min, 1u);
    EXPECT_EQ(said.stripes, cut.stripes) << cut.shards;
    EXPECT_EQ(said.ring_slots, 1024u);
    EXPECT_EQ(said.entries_max, 16u);
    EXPECT_EQ(said.log_slots, 128u);
    EXPECT_EQ(said.voters, 3u);
  }
}

}  // namespace
}  // namespace gcoord::server
