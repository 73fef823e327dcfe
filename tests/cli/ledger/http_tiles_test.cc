#include "cli/ledger/http_tiles.h"

#include "ledger/base/error_details.h"
#include "ledger/tiles/tile_reader.h"
#include "ledger/tiles/tlog_tiles.h"
#include "tests/cli/served_ledger.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{30'000};

HttpAddress loopback(std::uint16_t port, const std::string& prefix = "") {
  return {.host = "127.0.0.1", .port = std::to_string(port), .prefix = prefix};
}

struct Served : ServedLedger {
  Served() : ServedLedger(2) {
    ledger.append(1, 700);
    ledger.publish();
  }
};

TEST(HttpTiles, AShardIsReadAndCheckedOverHttp) {
  const Served served;
  const HttpTiles tiles(loopback(served.endpoint->port(), "/shard/1"), kPatience);
  const auto& tree = *served.ledger.shard(ShardId{1});
  const auto root = ledger::root_at(tree, 700).value();
  const auto reader = ledger::TileReader::open(tiles, 700, root).value();
  EXPECT_EQ(reader->entries(600, 100).value(), tree.entries(600, 100).value());
}

TEST(HttpTiles, WhatIsNotThereSaysSo) {
  const Served served;
  const HttpTiles tiles(loopback(served.endpoint->port()), kPatience);
  EXPECT_TRUE(tiles.read("checkpoint", 10'000).ok());
  EXPECT_EQ(tiles.read("checkpoint", 10).status().detail(), ledger::kLedgerOversized);
  EXPECT_EQ(tiles.read("tile/0/000", 8192).status().detail(), ledger::kLedgerAbsent);
  EXPECT_EQ(tiles.read("nonsense", 8192).status().detail(), ledger::kLedgerUnreachable);
}

TEST(HttpTiles, UrlsNameAHostAndAPort) {
  const HttpAddress place = parse_http_place("http://[::1]:80/a/b/").value();
  EXPECT_EQ(place.host, "::1");
  EXPECT_EQ(place.port, "80");
  EXPECT_EQ(place.prefix, "/a/b");
  for (const char* url : {"",
                          "http://",
                          "http://a",
                          "http://:1",
                          "http://a:",
                          "http://a:x",
                          "http://a:99999",
                          "https://a",
                          "ftp://a:1",
                          "a:1"}) {
    EXPECT_FALSE(parse_http_place(url).ok()) << url;
  }
}

// One connection of a server that says something else.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answer = std::move(answer)] {
      const int socket = ::accept(listener_, nullptr, nullptr);
      std::string request(4096, '\0');
      EXPECT_GT(::recv(socket, request.data(), request.size(), 0), 0);
      static_cast<void>(::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL));
      ::close(socket);
    });
  }

  ~OneAnswer() {
    thread_.join();
    ::close(listener_);
  }

  std::uint32_t detail(std::size_t bytes_max) const {
    return HttpTiles(loopback(port_), kPatience).read("x", bytes_max).status().detail();
  }

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST(HttpTiles, AnswersThatAreNoneAreRefused) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
  EXPECT_EQ(OneAnswer(head + "abcd").detail(4), 0u);
  EXPECT_EQ(OneAnswer(head + "abc").detail(4), ledger::kLedgerUnreachable);
  EXPECT_EQ(OneAnswer(head + "abcde").detail(8), 0u) << "the fifth byte is no part of the answer";
  EXPECT_EQ(OneAnswer(head + "abcd").detail(3), ledger::kLedgerOversized);
  EXPECT_EQ(OneAnswer("HTTP/1.1 200 OK\r\n\r\nabcd").detail(4), ledger::kLedgerUnreachable);
  EXPECT_EQ(OneAnswer("").detail(4), ledger::kLedgerUnreachable);
  EXPECT_EQ(OneAnswer("220 mail ready\r\n\r\n").detail(4), ledger::kLedgerUnreachable);
  EXPECT_EQ(OneAnswer(std::string(100'000, 'x')).detail(4), ledger::kLedgerUnreachable);
  EXPECT_EQ(OneAnswer("HTTP/1.1 410 Gone\r\n\r\n").detail(4), ledger::kLedgerPruned);
  EXPECT_EQ(OneAnswer("HTTP/1.1 500 x\r\n\r\n").detail(4), ledger::kLedgerUnreachable);
}

// What a request that is not GET or HEAD, or no request at all, is answered with.
std::string answer_to(std::uint16_t port, const std::string& request) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_GT(::send(socket, request.data(), request.size(), MSG_NOSIGNAL), 0);
  std::string answer;
  std::string piece(4096, '\0');
  for (ssize_t got = 1; got > 0;) {
    got = ::recv(socket, piece.data(), piece.size(), 0);
    answer.append(piece, 0, got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  ::close(socket);
  return answer.substr(0, 12);
}

TEST(LedgerEndpoint, OnlyReadsAreAnswered) {
  const Served served;
  const std::uint16_t port = served.endpoint->port();
  EXPECT_EQ(answer_to(port, "GET /key HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 200");
  EXPECT_EQ(answer_to(port, "HEAD /key HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 200");
  EXPECT_EQ(
      answer_to(port,
                "POST /key HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
      "HTTP/1.1 405");
  EXPECT_EQ(answer_to(port, "DELETE /key HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 405");
  EXPECT_NE(
      answer_to(port, "GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
      "HTTP/1.1 200");
  EXPECT_NE(answer_to(port, "GET /" + std::string(10'000, 'a') + " HTTP/1.1\r\n\r\n"),
            "HTTP/1.1 200");
  EXPECT_NE(answer_to(port, std::string(100, '\xff') + "\r\n\r\n"), "HTTP/1.1 200");
  EXPECT_EQ(answer_to(port, "GET /key HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 200");
}

TEST(LedgerEndpoint, APortThatIsTakenIsSaid) {
  const Served served;
  MetricsRegistry metrics;
  const auto again = server::LedgerEndpoint::open(
      "127.0.0.1:" + std::to_string(served.endpoint->port()), served.ledger, {metrics});
  EXPECT_EQ(again.status().code(), StatusCode::FailedPrecondition);
}

}  // namespace
}  // namespace gcoord::cli
