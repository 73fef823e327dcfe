#include "common/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace gcoord {
namespace {

Result<int> parse_digit(char character) {
  if (character < '0' || character > '9') {
    return Status{StatusCode::InvalidArgument, "not a digit", 1102};
  }
  return character - '0';
}

Result<int> sum_of(char left, char right) {
  GCOORD_TRY(const int first, parse_digit(left));
  GCOORD_TRY(const int second, parse_digit(right));
  return first + second;
}

Status check(const Status& inner, bool* passed_the_check) {
  GCOORD_TRY_STATUS(inner);
  *passed_the_check = true;
  return {};
}

TEST(Status, IsOkUnlessTold) {
  EXPECT_TRUE(Status{}.ok());
  EXPECT_EQ(Status{}.to_string(), "OK");
}

TEST(Status, PrintsCodeMessageAndStableNumber) {
  const Status status{StatusCode::Unavailable, "no leader for shard 7", 5001};
  EXPECT_EQ(status.to_string(), "UNAVAILABLE: no leader for shard 7 (GC5001)");
  EXPECT_EQ((Status{StatusCode::Aborted, ""}.to_string()), "ABORTED");
  EXPECT_EQ((Status{StatusCode::Internal, "x", 7}.to_string()), "INTERNAL: x (GC0007)");
}

TEST(Status, NamesEveryCodeAsGrpcDoes) {
  EXPECT_EQ(status_code_name(StatusCode::Ok), "OK");
  EXPECT_EQ(status_code_name(StatusCode::FailedPrecondition), "FAILED_PRECONDITION");
  EXPECT_EQ(status_code_name(StatusCode::Unauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(status_code_name(static_cast<StatusCode>(200)), "UNKNOWN");
}

TEST(Result, CarriesAValueOrAFailure) {
  const auto digit = parse_digit('7');
  ASSERT_TRUE(digit.ok());
  EXPECT_EQ(digit.value(), 7);
  EXPECT_EQ(parse_digit('x').status().detail(), 1102u);
}

TEST(Result, MovesOutWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result{std::make_unique<int>(3)};
  const std::unique_ptr<int> owned = std::move(result).value();
  EXPECT_EQ(*owned, 3);
}

TEST(GcoordTry, ReturnsTheFirstFailureToTheCaller) {
  EXPECT_EQ(sum_of('2', '3').value(), 5);
  EXPECT_EQ(sum_of('x', '3').status().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(sum_of('2', 'y').status().message(), "not a digit");
}

TEST(GcoordTryStatus, GoesOnOnlyAfterSuccess) {
  bool passed_the_check = false;
  EXPECT_FALSE(check(Status{StatusCode::DataLoss, "rot"}, &passed_the_check).ok());
  EXPECT_FALSE(passed_the_check);
  EXPECT_TRUE(check(Status{}, &passed_the_check).ok());
  EXPECT_TRUE(passed_the_check);
}

TEST(ResultDeathTest, StopsWhoTakesTheValueOfAFailure) {
  EXPECT_DEATH(static_cast<void>(parse_digit('x').value()), "assertion failed: ok\\(\\)");
}

TEST(StatusDeathTest, StopsWhoCallsSuccessAFailure) {
  EXPECT_DEATH(static_cast<void>(Status{StatusCode::Ok, "fine"}),
               "assertion failed: code != StatusCode::Ok");
}

}  // namespace
}  // namespace gcoord
