#include "server/tls/metrics.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

AddressClass class_of(const char* text) {
  return address_class(asio::ip::make_address(text));
}

TEST(TlsMetrics, ClassOfAnAddress) {
  for (const char* text : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_EQ(class_of(text), AddressClass::Loopback) << text;
  }
  for (const char* text : {"10.1.2.3",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.168.0.1",
                           "169.254.1.1",
                           "fd00::1",
                           "fe80::1",
                           "::ffff:10.0.0.1"}) {
    EXPECT_EQ(class_of(text), AddressClass::Private) << text;
  }
  for (const char* text : {"11.1.2.3", "172.15.0.1", "172.32.0.1", "192.0.2.1", "2001:db8::1"}) {
    EXPECT_EQ(class_of(text), AddressClass::Public) << text;
  }
}

}  // namespace
}  // namespace gcoord::server
