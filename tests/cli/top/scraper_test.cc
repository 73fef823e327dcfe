#include "cli/top/scraper.h"

#include <gtest/gtest.h>

namespace gcoord::cli::top {
namespace {

std::string origin_text(const std::string& told, const std::string& endpoint) {
  const auto origin = metrics_origin(told, endpoint);
  return origin.ok() ? origin.value().host + " " + origin.value().port : "";
}

TEST(Scraper, ANodeIsReadAtThePortThatItReports) {
  EXPECT_EQ(origin_text("10.0.0.1:7600", "10.0.0.1:7400"), "10.0.0.1 7600");
  EXPECT_EQ(origin_text("0.0.0.0:7600", "node-1.example:7400"), "node-1.example 7600");
  EXPECT_EQ(origin_text("[::]:7600", "[2001:db8::1]:7400"), "2001:db8::1 7600");
  EXPECT_EQ(origin_text("127.0.0.1:7601", "127.0.0.1:7401"), "127.0.0.1 7601");
}

TEST(Scraper, AReportChoosesNoHost) {
  EXPECT_EQ(origin_text("169.254.169.254:80", "10.0.0.1:7400"), "10.0.0.1 80");
  EXPECT_EQ(origin_text("intranet.example:7600", "node-1.example:7400"), "node-1.example 7600");
  EXPECT_EQ(origin_text("127.0.0.2:7600", "localhost:7400"), "localhost 7600");
  EXPECT_EQ(origin_text("[2001:db8::2]:7600", "[2001:db8::1]:7400"), "2001:db8::1 7600");
}

TEST(Scraper, AnotherMachinesLoopbackIsNotOurs) {
  EXPECT_EQ(metrics_origin("127.0.0.1:7600", "10.0.0.1:7400").status().code(),
            StatusCode::Unavailable);
}

TEST(Scraper, WhatIsNoAddressIsNotAsked) {
  EXPECT_FALSE(metrics_origin("", "10.0.0.1:7400").ok());
  EXPECT_FALSE(metrics_origin("none", "10.0.0.1:7400").ok());
  EXPECT_FALSE(metrics_origin("10.0.0.1:0", "10.0.0.1:7400").ok());
  const std::string long_one(100'000, 'x');
  EXPECT_LT(metrics_origin(long_one, "10.0.0.1:7400").status().message().size(), 100u);
}

}  // namespace
}  // namespace gcoord::cli::top
