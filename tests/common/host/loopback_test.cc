// Which addresses are of this machine's loopback.
#include "common/host/loopback.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>

namespace gcoord {
namespace {

bool is_loopback_text(const std::string& text) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    return is_loopback(reinterpret_cast<const sockaddr&>(v4));
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr), 1) << text;
  return is_loopback(reinterpret_cast<const sockaddr&>(v6));
}

TEST(Loopback, IsWhatNoOtherMachineSees) {
  for (const char* own : {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback_text(own)) << own;
  }
  for (const char* other : {"10.0.0.1",
                            "126.255.255.255",
                            "128.0.0.0",
                            "0.0.0.0",
                            "192.0.2.127",
                            "::",
                            "::2",
                            "::127.0.0.1",
                            "fe80::1",
                            "fd00::127",
                            "::ffff:10.0.0.1",
                            "::ffff:10.127.0.1"}) {
    EXPECT_FALSE(is_loopback_text(other)) << other;
  }
}

TEST(Loopback, IsNoAddressOfAnotherKind) {
  sockaddr unknown{};
  unknown.sa_family = AF_UNSPEC;
  EXPECT_FALSE(is_loopback(unknown));
}

}  // namespace
}  // namespace gcoord
