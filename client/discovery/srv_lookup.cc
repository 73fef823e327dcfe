#include "client/discovery/srv_lookup.h"

#include "client/discovery/exchange.h"
#include "client/net/failure.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

constexpr int kRounds = 2;

// Whether the name is decided by this answer, or another server may know more.
bool decides(const SrvAnswer& answer) {
  const bool whole = !answer.truncated || !answer.records.empty();
  return (answer.result == 0 && whole) || answer.result == kDnsNoSuchName;
}

// What did not fit in a datagram comes by a stream; where the server has none, the records that
// came whole are better than nothing.
Heard ask_on(Heard cut, const Question& question) {
  Heard whole = ask_by_stream(question);
  const bool better = whole.answer && !whole.answer->truncated && decides(*whole.answer);
  if (!better) {
    cut.failure = "the answer is truncated" +
                  (whole.failure.empty() ? "" : ", and over TCP: " + whole.failure);
  }
  return better ? std::move(whole) : std::move(cut);
}

Heard ask(Question question) {
  Heard heard = ask_by_datagram(question);
  if (heard.answer && heard.answer->result == kDnsFormatError) {
    question.extension = DnsExtension::None;
    heard = ask_by_datagram(question);
  }
  if (heard.answer && heard.answer->truncated && heard.answer->result == 0) {
    return ask_on(std::move(heard), question);
  }
  if (heard.answer && !decides(*heard.answer)) {
    heard.failure = "refused with code " + std::to_string(heard.answer->result);
  }
  return heard;
}

}  // namespace

Result<std::vector<SrvRecord>> look_up_srv(const std::string& name,
                                           const std::vector<NameServer>& servers,
                                           milliseconds timeout) {
  const milliseconds end = monotonic_now() + timeout;
  std::vector<std::string> failures(servers.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const auto turns = static_cast<std::int64_t>(servers.size()) * (kRounds - round) -
                         static_cast<std::int64_t>(i);
      const milliseconds now = monotonic_now();
      const Heard heard =
          ask({.server = servers[i], .name = name, .until = now + (end - now) / turns});
      if (heard.answer && decides(*heard.answer)) {
        return heard.answer->records;
      }
      failures[i] = heard.failure;
    }
  }
  std::string evidence = name + (servers.empty() ? ": no name server is known" : "");
  for (std::size_t i = 0; i < servers.size(); ++i) {
    evidence += (i == 0 ? ": " : ", ") + servers[i].text + ": " + failures[i];
  }
  return failure(protocol::ErrorCode::Unreachable, evidence);
}

}  // namespace gcoord::client
