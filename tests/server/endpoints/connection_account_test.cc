#include "server/endpoints/connection_account.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using Verdict = ConnectionAccount::Verdict;
using Share = ConnectionAccount::Share;

ClientSource from(const std::string& address) {
  return ClientSource::of(asio::ip::make_address(address));
}

// As many connections of a source as get a place.
std::vector<Share> take_all(ConnectionAccount& account, const std::string& address) {
  std::vector<Share> shares;
  for (;;) {
    ConnectionAccount::Admission admission = account.admit(from(address));
    if (admission.verdict != Verdict::Admitted) {
      return shares;
    }
    shares.push_back(std::move(admission.share));
  }
}

TEST(ConnectionAccountTest, OneSourceNeverHasAllPlaces) {
  ConnectionAccount account({.connections_max = 64});
  const std::vector<Share> flood = take_all(account, "192.0.2.1");
  EXPECT_EQ(flood.size(), 48u);
  EXPECT_EQ(account.admit(from("192.0.2.1")).verdict, Verdict::SourceFull);
  EXPECT_EQ(account.admit(from("192.0.2.2")).verdict, Verdict::Admitted);
}

TEST(ConnectionAccountTest, TheLastPlacesAreForSourcesWithFewAndThenForThisHost) {
  ConnectionAccount account({.connections_max = 64});  // Four are kept.
  const std::vector<Share> first = take_all(account, "192.0.2.1");
  const std::vector<Share> second = take_all(account, "192.0.2.2");
  EXPECT_EQ(first.size() + second.size(), 60u);
  const std::vector<Share> few = take_all(account, "192.0.2.3");
  EXPECT_EQ(few.size(), 2u);
  EXPECT_EQ(account.admit(from("192.0.2.4")).verdict, Verdict::NodeFull);
  const std::vector<Share> operators = take_all(account, "127.0.0.1");
  EXPECT_EQ(operators.size(), 2u);
  EXPECT_EQ(account.connection_count(), 64u);
}

TEST(ConnectionAccountTest, OperatorsFromElsewhereGetAFewOfTheLastPlacesOnceTheyProveIt) {
  ConnectionAccount account({.connections_max = 512});  // Of 16 of this host, 8 for operators.
  std::vector<Share> all;
  for (int host = 1; host <= 200; ++host) {
    for (Share& share : take_all(account, "192.0.2." + std::to_string(host))) {
      all.push_back(std::move(share));
    }
  }
  EXPECT_EQ(all.size(), 496u);
  EXPECT_EQ(account.admit(from("198.51.100.1")).verdict, Verdict::NodeFull);
  std::vector<Share> trying;
  for (int host = 1; host <= 9; ++host) {
    auto admission = account.admit_to_prove(from("198.51.100." + std::to_string(host)));
    EXPECT_EQ(admission.verdict == Verdict::Admitted, host <= 8) << host;
    if (admission.share.placed()) {
      EXPECT_TRUE(admission.share.unsettled());
      trying.push_back(std::move(admission.share));
    }
  }
  trying.pop_back();
  trying.pop_back();
  // One that has proven it makes room for another one that may; a place it keeps.
  trying[0].settle();
  EXPECT_FALSE(trying[0].unsettled());
  EXPECT_EQ(account.admit_to_prove(from("198.51.100.10")).verdict, Verdict::Admitted);
  // Of one source a quarter at a time, even where it has all its places.
  trying.clear();
  std::vector<Share> one;
  for (int k = 0; k < 3; ++k) {
    auto admission = account.admit_to_prove(from("198.51.100.1"));
    EXPECT_EQ(admission.verdict == Verdict::Admitted, k < 2) << k;
    one.push_back(std::move(admission.share));
  }
  for (Share& share : one) {
    share.settle();
  }
  // This host keeps places that nobody else gets.
  while (true) {
    auto admission = account.admit_to_prove(from("198.51.100.2"));
    if (admission.verdict != Verdict::Admitted) {
      break;
    }
    admission.share.settle();
    one.push_back(std::move(admission.share));
  }
  EXPECT_EQ(account.connection_count(), 504u);
  EXPECT_EQ(take_all(account, "127.0.0.1").size(), 8u);
}

TEST(ConnectionAccountTest, APlaceIsGivenBackWithAllThatWasHeld) {
  ConnectionAccount account({.connections_max = 64});
  {
    Share share = std::move(account.admit(from("192.0.2.1")).share);
    share.hold(HeldBytes::Out, 1000);
    share.hold(HeldBytes::Out, 300);
    share.hold(HeldBytes::Begun, 7);
    EXPECT_EQ(account.held(HeldBytes::Out), 300u);
    EXPECT_EQ(share.source_held(HeldBytes::Begun), 7u);
    EXPECT_EQ(account.source_count(), 1u);
  }
  EXPECT_EQ(account.held(HeldBytes::Out), 0u);
  EXPECT_EQ(account.held(HeldBytes::Begun), 0u);
  EXPECT_EQ(account.connection_count(), 0u);
  EXPECT_EQ(account.source_count(), 0u);
}

TEST(ConnectionAccountTest, ASourceIsCrowdedBeforeAllAre) {
  ConnectionAccount account({.connections_max = 64, .bytes_max = 800});
  Share one = std::move(account.admit(from("192.0.2.1")).share);
  Share other = std::move(account.admit(from("192.0.2.2")).share);
  one.hold(HeldBytes::Out, 300);
  EXPECT_FALSE(one.crowded(HeldBytes::Out));
  one.hold(HeldBytes::Out, 301);
  EXPECT_TRUE(one.source_crowded(HeldBytes::Out));
  EXPECT_FALSE(other.crowded(HeldBytes::Out));
  other.hold(HeldBytes::Out, 100);
  EXPECT_TRUE(other.crowded(HeldBytes::Out)) << "401 of 400";
  EXPECT_FALSE(other.source_crowded(HeldBytes::Out));
  EXPECT_FALSE(one.crowded(HeldBytes::In)) << "each use has its own bound";
}

TEST(ConnectionAccountTest, AHostIsOneSourceWhateverAddressOfItsNetworkItTakes) {
  EXPECT_EQ(from("2001:db8::1").bits, from("2001:db8::ffff:2").bits);
  EXPECT_NE(from("2001:db8::1").bits, from("2001:db8:0:1::1").bits);
  EXPECT_NE(from("192.0.2.1").bits, from("192.0.2.2").bits);
  EXPECT_EQ(from("192.0.2.1").bits, from("::ffff:192.0.2.1").bits);
  EXPECT_TRUE(from("127.0.0.9").loopback);
  EXPECT_TRUE(from("::ffff:127.0.0.9").loopback);
  EXPECT_TRUE(from("::1").loopback);
  EXPECT_FALSE(from("2001:db8::1").loopback);
}

TEST(ConnectionAccountTest, ThreadsThatShareItLoseNothing) {
  ConnectionAccount account({.connections_max = 1000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&account, t] {
      for (std::size_t round = 0; round < 2000; ++round) {
        Share share = std::move(account.admit(from("192.0.2." + std::to_string(t % 2 + 1))).share);
        share.hold(HeldBytes::In, round);
        share.hold(HeldBytes::In, round / 2);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(account.connection_count(), 0u);
  EXPECT_EQ(account.source_count(), 0u);
  EXPECT_EQ(account.held(HeldBytes::In), 0u);
}

}  // namespace
}  // namespace gcoord::server
