#include "server/trust/stranger_lines.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using netcore::DroppedStranger;
using netcore::DropReason;

TEST(StrangerLinesTest, NameTheAddressAndAreFewForEachReason) {
  StrangerLines lines;
  DroppedStranger junk{.address = "192.0.2.7:4711",
                       .reason = DropReason::BadMagic,
                       .text = netcore::stranger_text(DropReason::BadMagic),
                       .now_ms = 1'000};
  int said = 0;
  for (int k = 0; k < 100; ++k) {
    said += lines.line_of(junk).has_value() ? 1 : 0;
  }
  EXPECT_EQ(said, static_cast<int>(LogRateLimit::kAtOnce));
  // Another reason is not silenced by it.
  const auto revoked = lines.line_of({.address = "192.0.2.8:1",
                                      .reason = DropReason::CertificateRevoked,
                                      .text = "TLS: revoked (GC3105)",
                                      .now_ms = 1'000});
  ASSERT_TRUE(revoked.has_value());
  EXPECT_EQ(*revoked,
            "peer port: 192.0.2.8:1 was turned away (certificate_revoked): TLS: revoked (GC3105)");
  junk.now_ms += LogRateLimit::kPauseMs;
  const auto later = lines.line_of(junk);
  ASSERT_TRUE(later.has_value());
  EXPECT_NE(later->find("so it was 96 more times"), std::string::npos) << *later;
}

}  // namespace
}  // namespace gcoord::server
