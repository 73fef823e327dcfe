// A name server on loopback that answers as a test says.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {

// The bytes of an answer, put together by hand.
class DnsBytes {
 public:
  DnsBytes& number(std::uint16_t value) {
    bytes_ += static_cast<char>(value >> 8);
    bytes_ += static_cast<char>(value & 0xff);
    return *this;
  }

  DnsBytes& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  DnsBytes& name(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('.');
      const std::string_view label = text.substr(0, end);
      bytes_ += static_cast<char>(label.size());
      bytes_ += label;
      text = end == text.npos ? std::string_view{} : text.substr(end + 1);
    }
    bytes_ += '\0';
    return *this;
  }

  // A record whose owner is the question's name.
  DnsBytes& record(std::uint16_t type, const std::string& content) {
    return number(0xc00c)
        .number(type)
        .number(1)
        .number(0)
        .number(60)
        .number(static_cast<std::uint16_t>(content.size()))
        .raw(content);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct SrvFields {
  std::uint16_t priority;
  std::uint16_t weight;
  std::uint16_t port;
  std::string_view target;
};

inline std::string srv_content(const SrvFields& fields) {
  return DnsBytes{}
      .number(fields.priority)
      .number(fields.weight)
      .number(fields.port)
      .name(fields.target)
      .bytes();
}

// A record of any owner.
inline std::string record_of(std::string_view owner, std::uint16_t type, std::string_view content) {
  return DnsBytes{}
      .name(owner)
      .number(type)
      .number(1)
      .number(0)
      .number(60)
      .number(static_cast<std::uint16_t>(content.size()))
      .raw(content)
      .bytes();
}

inline std::string address_record(std::string_view host, std::string_view octets) {
  return record_of(host, 1, octets);
}

// The question of a query, as it stands there.
inline std::string question_of(const std::string& query) {
  const std::size_t end = query.find('\0', 12);
  return end == query.npos ? "" : query.substr(12, end + 5 - 12);
}

struct DnsRecords {
  std::uint16_t answers = 0;  // So many of them are said to be answers,
  std::string bytes{};
  std::uint16_t additional = 0;  // and so many the records behind these.
  std::uint16_t flags = 0x8180;
};

// An answer to this query with these records behind it.
inline std::string dns_answer(const std::string& query, const DnsRecords& records) {
  return query.substr(0, 2) +
         DnsBytes{}
             .number(records.flags)
             .number(1)
             .number(records.answers)
             .number(0)
             .number(records.additional)
             .bytes() +
         question_of(query) + records.bytes;
}

class DnsServer {
 public:
  // All messages that one query gets.
  using Answers = std::function<std::vector<std::string>(const std::string& query)>;

  // With streams it listens for TCP, too, at the same port; no message: the connection stays
  // silent.
  explicit DnsServer(Answers answers, Answers streams = {})
      : answers_(std::move(answers)), streams_(std::move(streams)) {
    // A port may be free for one of the two only.
    for (int tries = 0; tries < 100 && !listen(); ++tries) {
      close_sockets();
    }
    static_cast<void>(::pipe(stop_.data()));
    thread_ = std::thread([this] { serve(); });
  }

  ~DnsServer() {
    ::close(stop_[1]);
    thread_.join();
    ::close(stop_[0]);
    close_sockets();
    for (const int connection : connections_) {
      ::close(connection);
    }
  }

  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;

  // "127.0.0.1:PORT".
  const std::string& text() const { return text_; }

 private:
  bool listen() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    static_cast<void>(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size));
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    text_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    if (!streams_) {
      return true;
    }
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
           ::listen(listener_, 8) == 0;
  }

  void close_sockets() {
    ::close(std::exchange(socket_, -1));
    ::close(std::exchange(listener_, -1));
  }

  void serve() {
    for (;;) {
      std::array<pollfd, 3> waiting{
          pollfd{socket_, POLLIN, 0}, pollfd{listener_, POLLIN, 0}, pollfd{stop_[0], POLLIN, 0}};
      if (::poll(waiting.data(), waiting.size(), -1) < 0 || waiting[2].revents != 0) {
        return;
      }
      if (waiting[0].revents != 0) {
        answer_datagram();
      }
      if (waiting[1].revents != 0) {
        answer_stream();
      }
    }
  }

  void answer_datagram() {
    std::string query(4096, '\0');
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(
        socket_, query.data(), query.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 12) {
      return;
    }
    query.resize(static_cast<std::size_t>(got));
    for (const std::string& answer : answers_(query)) {
      ::sendto(socket_, answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
    }
  }

  // A length, and the query in one piece behind it, as one client sends it here.
  void answer_stream() {
    const int connection = ::accept(listener_, nullptr, nullptr);
    connections_.push_back(connection);
    std::string query(4096, '\0');
    const ssize_t got = ::recv(connection, query.data(), query.size(), 0);
    if (got < 14) {
      return;
    }
    query = query.substr(2, static_cast<std::size_t>(got) - 2);
    for (const std::string& answer : streams_(query)) {
      const std::string framed =
          DnsBytes{}.number(static_cast<std::uint16_t>(answer.size())).raw(answer).bytes();
      // In two pieces, as it may come.
      ::send(connection, framed.data(), 1, MSG_NOSIGNAL);
      ::send(connection, framed.data() + 1, framed.size() - 1, MSG_NOSIGNAL);
    }
  }

  Answers answers_;
  Answers streams_;
  int socket_ = -1;
  int listener_ = -1;
  std::vector<int> connections_;
  std::array<int, 2> stop_{-1, -1};
  std::string text_;
  std::thread thread_;
};

}  // namespace gcoord::client
