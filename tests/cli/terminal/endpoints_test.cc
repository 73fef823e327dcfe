#include "cli/terminal/endpoints.h"

#include "protocol/error_codes.h"

#include <gtest/gtest.h>

namespace gcoord::cli {
namespace {

using Endpoints = std::vector<std::string>;

TEST(Endpoints, TakeTheDefaultPortWhereNoneIsGiven) {
  EXPECT_EQ(parse_endpoints("127.0.0.1").value(), Endpoints{"127.0.0.1:7400"});
  EXPECT_EQ(parse_endpoints("a.example:7401,b.example,[::1],[::1]:7402").value(),
            (Endpoints{"a.example:7401", "b.example:7400", "[::1]:7400", "[::1]:7402"}));
  EXPECT_EQ(parse_endpoints("a:1,,b:2,").value(), (Endpoints{"a:1", "b:2"}));
}

TEST(Endpoints, LeaveNamesInDnsAsTheyAre) {
  EXPECT_EQ(parse_endpoints("srv:_gcoord._tcp.example.org@127.0.0.1:8600,a").value(),
            (Endpoints{"srv:_gcoord._tcp.example.org@127.0.0.1:8600", "a:7400"}));
}

TEST(Endpoints, LeavePathsOfThisHostAsTheyAre) {
  EXPECT_EQ(parse_endpoints("shm:/data/1/client.shm,unix:/run/s,a").value(),
            (Endpoints{"shm:/data/1/client.shm", "unix:/run/s", "a:7400"}));
}

TEST(Endpoints, WhatIsNoAddressIsRefusedByItsName) {
  for (const char* text : {",",
                           "a:b",
                           "a:0",
                           "a:65536",
                           ":7400",
                           "a b:7400",
                           "::1",
                           "shm:data/client.shm",
                           "shm:",
                           "shm:/data/",
                           "unix:s",
                           "::1:7400",
                           "good:1,http://bad:2",
                           "[::1]x"}) {
    const auto parsed = parse_endpoints(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().detail(),
              static_cast<std::uint32_t>(protocol::ErrorCode::OptionInvalid));
  }
  EXPECT_NE(parse_endpoints("good:1,a:b").status().message().find("'a:b'"), std::string::npos);
  // As etcdctl and consul take it.
  EXPECT_NE(parse_endpoints("http://127.0.0.1:7400").status().message().find("is a URL"),
            std::string::npos);
}

}  // namespace
}  // namespace gcoord::cli
