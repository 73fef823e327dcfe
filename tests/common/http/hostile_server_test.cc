// Servers that never come to an end, or lie about where it is: no client waits, or takes in, more
// than its limits allow.
#include "common/http/client.h"
#include "tests/common/http/scripted_server.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord {
namespace {

constexpr std::size_t kBodyBytesMax = 1000;
// Only a server that went on talking could be waited for that long.
constexpr HttpLimits kPatient{.timeout = std::chrono::minutes{5}, .body_bytes_max = kBodyBytesMax};
constexpr HttpLimits kBrief{.timeout = std::chrono::milliseconds{200},
                            .body_bytes_max = kBodyBytesMax};
constexpr const char* kHead = "HTTP/1.1 200 OK\r\n";
constexpr const char* kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

Result<HttpResponse> ask(const ScriptedAnswer& answer, const HttpLimits& limits = kPatient) {
  const ScriptedServer server({{answer}});
  return HttpClient(server.origin()).get("/", limits);
}

StatusCode code_of(const ScriptedAnswer& answer, const HttpLimits& limits = kPatient) {
  return ask(answer, limits).status().code();
}

TEST(HostileServer, AHeadWithoutEndIsDataLoss) {
  const std::string line(1000, 'a');
  EXPECT_EQ(code_of({kHead, "X-" + line + ": b\r\n"}), StatusCode::DataLoss);
  EXPECT_EQ(code_of({kHead, line}), StatusCode::DataLoss) << "a line without end";
  EXPECT_EQ(code_of({"", line}), StatusCode::DataLoss) << "nothing but such a line";
  EXPECT_EQ(code_of({"", "HTTP/1.1 100 Continue\r\n\r\n"}), StatusCode::DataLoss);
  EXPECT_EQ(code_of({std::string{kChunked} + "0\r\n", "X: b\r\n"}), StatusCode::DataLoss)
      << "trailers";
}

TEST(HostileServer, ABodyWithoutEndIsCutAtTheLimit) {
  for (const ScriptedAnswer& answer : {ScriptedAnswer{std::string{kHead} + "\r\n", "aaaaaaaa"},
                                       ScriptedAnswer{kChunked, "8\r\naaaaaaaa\r\n"}}) {
    const auto answered = ask(answer).value();
    EXPECT_EQ(answered.extent, HttpBody::TooLong);
    EXPECT_EQ(answered.body, std::string(kBodyBytesMax, 'a'));
  }
}

TEST(HostileServer, AnAnnouncedGigabyteIsNotWaitedFor) {
  const auto answered =
      ask(then_silence(std::string{kHead} + "Content-Length: 1073741824\r\n\r\nabc")).value();
  EXPECT_EQ(answered.extent, HttpBody::TooLong);
  EXPECT_EQ(answered.body, "abc");
  // Above what any number holds.
  const auto endless =
      ask({std::string{kHead} + "Content-Length: 99999999999999999999\r\n\r\n", "aaaaaaaa"});
  EXPECT_TRUE(!endless.ok() || endless.value().extent == HttpBody::TooLong);
}

TEST(HostileServer, SilenceAndTricklesEndWithTheTimeLimit) {
  EXPECT_EQ(code_of(then_silence(""), kBrief), StatusCode::Unavailable);
  EXPECT_EQ(code_of(then_silence("HTTP/1.1 200"), kBrief), StatusCode::Unavailable);
  EXPECT_EQ(code_of(then_silence(std::string{kHead} + "Content-Length: 3\r\n\r\na"), kBrief),
            StatusCode::Unavailable);
  EXPECT_EQ(code_of(then_silence(std::string{kChunked} + "3\r\na"), kBrief),
            StatusCode::Unavailable);
  // Bytes without end that are no part of a body.
  EXPECT_EQ(code_of({std::string{kChunked} + "1;", "aaaaaaaa"}, kBrief), StatusCode::Unavailable);
}

TEST(HostileServer, ALengthThatIsWrongIsFoundOrIgnored) {
  EXPECT_EQ(ask(std::string{kHead} + "Content-Length: 5\r\n\r\nabc").value().extent, HttpBody::Cut);
  EXPECT_EQ(ask(std::string{kHead} + "Content-Length: 2\r\n\r\nabc").value().body, "ab");
  EXPECT_EQ(code_of(std::string{kHead} + "Content-Length: x\r\n\r\nabc"), StatusCode::DataLoss);
}

// The rest of an answer must not be taken for the next one.
TEST(HostileServer, AKeptConnectionWithBytesLeftIsNotUsedAgain) {
  const std::string lie =
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake";
  const std::string truth = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue";
  ScriptedServer server({{lie, truth}, {truth}});
  HttpClient client(server.origin(), {.connection = HttpConnection::Kept});
  EXPECT_EQ(client.get("/1", kPatient).value().body, "ab");
  EXPECT_EQ(client.get("/2", kPatient).value().body, "true");
  static_cast<void>(client.get("/3", kBrief));  // So that the server has its requests.
}

}  // namespace
}  // namespace gcoord
