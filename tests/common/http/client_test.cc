#include "common/http/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord {
namespace {

constexpr HttpLimits kLimits{.timeout = std::chrono::seconds{30}, .body_bytes_max = 64};

// A server of one connection after another: each request that comes gets the next answer.
class Answers {
 public:
  using Connections = std::vector<std::vector<std::string>>;

  explicit Answers(Connections connections) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, connections = std::move(connections)] {
      for (const auto& answers : connections) {
        serve(answers);
      }
    });
  }

  ~Answers() {
    end();
    ::close(listener_);
  }

  HttpOrigin origin() const { return {.host = "127.0.0.1", .port = port_}; }

  // The requests, after the last answer.
  const std::vector<std::string>& end() {
    if (thread_.joinable()) {
      thread_.join();
    }
    return requests_;
  }

 private:
  void serve(const std::vector<std::string>& answers) {
    const int socket = ::accept(listener_, nullptr, nullptr);
    for (const std::string& answer : answers) {
      std::string request(4096, '\0');
      const ssize_t got = ::recv(socket, request.data(), request.size(), 0);
      requests_.push_back(request.substr(0, got > 0 ? static_cast<std::size_t>(got) : 0));
      EXPECT_EQ(::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer.size()));
    }
    ::close(socket);
  }

  int listener_ = -1;
  std::string port_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

HttpResponse answer_of(const std::string& bytes) {
  const Answers server({{bytes}});
  return HttpClient(server.origin()).get("/", kLimits).value();
}

TEST(HttpClient, AKeptConnectionCarriesRequestAfterRequest) {
  Answers server({{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none",
                   "HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n",
                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "2\r\nth\r\n3;x\r\nree\r\n0\r\n\r\n"}});
  HttpClient client(server.origin(), HttpClient::Connection::Kept);
  const auto first = client.post("/a", {.type = "text/plain", .body = "question"}, kLimits).value();
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.extent, HttpBody::Whole);
  EXPECT_EQ(first.body, "one");
  EXPECT_EQ(client.get("/b", kLimits).value().status, 404);
  EXPECT_EQ(client.get("/c", kLimits).value().body, "three");
  const auto& requests = server.end();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_TRUE(requests[0].starts_with("POST /a HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_TRUE(requests[0].ends_with("Content-Length: 8\r\n\r\nquestion"));
  EXPECT_TRUE(requests[1].starts_with("GET /b HTTP/1.1\r\n"));
}

TEST(HttpClient, AConnectionThatEndedIsOpenedAgain) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  const Answers server({{answer}, {answer}});
  HttpClient client(server.origin(), HttpClient::Connection::Kept);
  EXPECT_TRUE(client.get("/", kLimits).ok());
  EXPECT_FALSE(client.get("/", kLimits).ok()) << "the server had closed it";
  EXPECT_TRUE(client.get("/", kLimits).ok());
}

TEST(HttpClient, TheExtentOfABodyIsKnown) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(answer_of(head + "Content-Length: 2\r\n\r\nab").extent, HttpBody::Whole);
  EXPECT_EQ(answer_of(head + "Content-Length: 2\r\n\r\na").extent, HttpBody::Cut);
  EXPECT_EQ(answer_of(head + "Content-Length: 2\r\n\r\nabc").extent, HttpBody::Cut);
  EXPECT_EQ(answer_of(head + "\r\nab").extent, HttpBody::Unsized);
  EXPECT_EQ(answer_of(head + "Content-Length: 65\r\n\r\na").extent, HttpBody::TooLong);
  EXPECT_EQ(answer_of(head + "\r\n" + std::string(1000, 'a')).extent, HttpBody::TooLong);
  EXPECT_EQ(answer_of(chunked + "1\r\na\r\n0\r\n\r\n").extent, HttpBody::Whole);
  for (const char* cut : {"",
                          "1",
                          "1\r\n",
                          "1\r\na",
                          "1\r\na\r\n",
                          "1\r\na\r\n0\r\n",
                          "x\r\na\r\n0\r\n\r\n",
                          "ffffffffffffffff\r\na\r\n0\r\n\r\n"}) {
    EXPECT_EQ(answer_of(chunked + cut).extent, HttpBody::Cut) << cut;
  }
}

TEST(HttpClient, AServerThatSpeaksSomethingElseIsDataLoss) {
  for (const char* bytes :
       {"", "220 mail ready\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 x00 OK\r\n\r\n"}) {
    const Answers server({{bytes}});
    const auto answer = HttpClient(server.origin()).get("/", kLimits);
    EXPECT_EQ(answer.status().code(), StatusCode::DataLoss) << bytes;
  }
}

TEST(HttpClient, NobodyAtThePortIsUnavailable) {
  HttpOrigin origin;
  {
    const Answers server({});
    origin = server.origin();
  }
  EXPECT_EQ(HttpClient(origin).get("/", kLimits).status().code(), StatusCode::Unavailable);
}

}  // namespace
}  // namespace gcoord
