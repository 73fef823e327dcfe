#include "server/http/connection_table.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

namespace gcoord::server {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

HttpSource ip4(const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  EXPECT_EQ(::inet_pton(AF_INET, text, &address.sin_addr), 1);
  return http_source(reinterpret_cast<const sockaddr*>(&address));
}

HttpSource ip6(const char* text) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  EXPECT_EQ(::inet_pton(AF_INET6, text, &address.sin6_addr), 1);
  return http_source(reinterpret_cast<const sockaddr*>(&address));
}

const HttpServerLimits kLimits{.connections = 4,
                               .connections_per_source = 2,
                               .spare_connections = 0,
                               .header_time = milliseconds{10},
                               .request_time = milliseconds{100},
                               .idle_time = milliseconds{30}};

TEST(HttpSource, IsAnIpv4AddressOrTheNetworkOfAnIpv6Address) {
  EXPECT_EQ(ip4("10.0.0.1"), ip4("10.0.0.1"));
  EXPECT_NE(ip4("10.0.0.1"), ip4("10.0.0.2"));
  EXPECT_EQ(ip6("2001:db8::1"), ip6("2001:db8::2"));
  EXPECT_NE(ip6("2001:db8::1"), ip6("2001:db8:0:1::1"));
  EXPECT_EQ(ip6("::ffff:10.0.0.1"), ip4("10.0.0.1"));
  EXPECT_EQ(http_source(nullptr), HttpSource{});
}

TEST(HttpConnectionTable, AHeaderThatTakesTooLongIsLateWhateverComes) {
  HttpConnectionTable table(kLimits);
  table.open(1, ip4("10.0.0.1"), 100);
  EXPECT_EQ(table.until_late_ms(104, 1000), 6u);
  EXPECT_THAT(table.take_late(109).sockets, IsEmpty());
  const auto late = table.take_late(110);
  EXPECT_THAT(late.sockets, ElementsAre(1));
  EXPECT_EQ(late.slow, 1u);
  EXPECT_THAT(table.take_late(1000).sockets, IsEmpty());  // Named once.
  EXPECT_EQ(table.size(), 1u);
  table.close(1);
  EXPECT_EQ(table.size(), 0u);
}

TEST(HttpConnectionTable, EachStateHasItsTime) {
  HttpConnectionTable table(kLimits);
  table.open(1, ip4("10.0.0.1"), 0);
  table.on_header(1, 5);
  EXPECT_THAT(table.take_late(104).sockets, IsEmpty());
  table.on_answered(1, 104);
  EXPECT_EQ(table.until_late_ms(104, 1000), 30u);
  EXPECT_THAT(table.take_late(133).sockets, IsEmpty());
  table.on_header(1, 133);
  EXPECT_THAT(table.take_late(232).sockets, IsEmpty());
  EXPECT_EQ(table.take_late(233).slow, 1u);
}

TEST(HttpConnectionTable, AnIdleConnectionEndsWithoutBlame) {
  HttpConnectionTable table(kLimits);
  table.open(1, ip4("10.0.0.1"), 0);
  table.on_header(1, 0);
  table.on_answered(1, 0);
  const auto late = table.take_late(30);
  EXPECT_THAT(late.sockets, ElementsAre(1));
  EXPECT_EQ(late.slow, 0u);
}

TEST(HttpConnectionTable, ASourceAtItsLimitMakesRoomByItsOwnOldest) {
  HttpConnectionTable table(kLimits);
  table.open(1, ip4("10.0.0.9"), 0);
  table.open(2, ip4("10.0.0.1"), 1);
  table.open(3, ip4("10.0.0.1"), 2);
  EXPECT_EQ(table.make_room(ip4("10.0.0.1")).cut, 2);
  EXPECT_FALSE(table.make_room(ip4("10.0.0.2")).cut.has_value());
}

TEST(HttpConnectionTable, AFullPortMakesRoomByTheOldestOfAll) {
  HttpConnectionTable table(kLimits);
  for (int i = 0; i < 4; ++i) {
    table.open(i, ip4(("10.0.0." + std::to_string(i)).c_str()), static_cast<std::uint64_t>(i));
  }
  const auto room = table.make_room(ip4("10.0.1.1"));
  EXPECT_TRUE(room.taken);
  EXPECT_EQ(room.cut, 0);
  table.open(9, ip4("10.0.1.1"), 9);
  EXPECT_EQ(table.make_room(ip4("10.0.1.2")).cut, 1);  // Not the same again, though it is open yet.
  EXPECT_EQ(table.size(), 5u);
}

TEST(HttpConnectionTable, WhoIsBeingAnsweredIsNeverCutForANewcomer) {
  HttpConnectionTable table(kLimits);
  table.open(1, ip4("10.0.0.1"), 0);
  table.open(2, ip4("10.0.0.1"), 1);
  table.on_header(1, 2);
  EXPECT_EQ(table.make_room(ip4("10.0.0.1")).cut, 2);
  table.close(2);
  table.open(2, ip4("10.0.0.1"), 3);  // The system gives numbers again.
  table.on_header(2, 4);
  EXPECT_FALSE(table.make_room(ip4("10.0.0.1")).taken);
  table.on_answered(2, 5);
  EXPECT_EQ(table.make_room(ip4("10.0.0.1")).cut, 2);
}

// A probe of health beside a client with as many slow requests as it may have was refused.
TEST(HttpConnectionTable, WhereAllAreBeingAnsweredASpareOneIsTakenForWhatIsQuick) {
  HttpServerLimits limits = kLimits;
  limits.spare_connections = 1;
  HttpConnectionTable table(limits);
  for (const int socket : {1, 2}) {
    table.open(socket, ip4("10.0.0.1"), 0);
    table.on_header(socket, 0);
    EXPECT_TRUE(table.within_limits(socket));
  }
  EXPECT_TRUE(table.make_room(ip4("10.0.0.1")).taken);
  table.open(3, ip4("10.0.0.1"), 1);
  EXPECT_FALSE(table.within_limits(3));
  EXPECT_EQ(table.make_room(ip4("10.0.0.1")).cut, 3);  // It waits, and makes room.
  table.open(4, ip4("10.0.0.1"), 2);
  table.on_header(4, 2);
  EXPECT_FALSE(table.within_limits(4));
  EXPECT_FALSE(table.make_room(ip4("10.0.0.1")).taken);  // No more than one at once.
  EXPECT_TRUE(table.make_room(ip4("10.0.0.2")).taken);
  table.close(1);
  EXPECT_TRUE(table.within_limits(4));
  EXPECT_TRUE(table.within_limits(2));
  EXPECT_FALSE(table.within_limits(3));  // Cut.
}

TEST(HttpConnectionTable, AFullPortHasSpareOnesForOtherSources) {
  HttpServerLimits limits = kLimits;
  limits.spare_connections = 1;
  HttpConnectionTable table(limits);
  for (int i = 0; i < 4; ++i) {
    table.open(i, ip4(("10.0.0." + std::to_string(i)).c_str()), 0);
    table.on_header(i, 0);
  }
  EXPECT_TRUE(table.make_room(ip4("10.0.1.1")).taken);
  table.open(9, ip4("10.0.1.1"), 1);
  table.on_header(9, 1);
  EXPECT_FALSE(table.within_limits(9));
  EXPECT_FALSE(table.make_room(ip4("10.0.1.2")).taken);
}

TEST(HttpConnectionTable, WhoWaitsIsNamed) {
  HttpConnectionTable table(kLimits);
  for (const int socket : {1, 2, 3}) {
    table.open(socket, ip4("10.0.0.1"), 0);
  }
  table.on_header(1, 0);
  table.on_answered(1, 0);
  table.on_header(2, 0);
  EXPECT_THAT(table.waiting(), UnorderedElementsAre(1, 3));
}

TEST(HttpConnectionTable, AfterItsCutAConnectionIsNotHeardOfAgain) {
  HttpConnectionTable table(kLimits);
  table.open(1, ip4("10.0.0.1"), 0);
  EXPECT_THAT(table.take_late(10).sockets, UnorderedElementsAre(1));
  table.on_header(1, 11);  // It was on its way.
  EXPECT_THAT(table.take_late(10'000).sockets, IsEmpty());
  table.close(1);
  table.close(1);
  table.on_answered(1, 12);
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace gcoord::server
