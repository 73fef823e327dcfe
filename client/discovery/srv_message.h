// Messages of DNS for one question: where a service is (SRV, RFC 2782, in the form of RFC 1035).
//
// The C library's resolver reads and writes them (docs/adr/0089); what of an answer is believed is
// decided here. The server is not trusted: a message that the resolver finds malformed is
// none, and no more than kRecordsMax of its records are looked at. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::client {

// Of a datagram: what every network carries in one piece (DNS flag day 2020), and what is asked for
// (RFC 6891).
inline constexpr std::size_t kMessageBytesMax = 1232;
// More than any cluster has nodes, with an address of each.
inline constexpr std::size_t kRecordsMax = 64;

// Result codes (RFC 1035, 4.1.1).
inline constexpr int kDnsFormatError = 1;
inline constexpr int kDnsNoSuchName = 3;

struct SrvRecord {
  std::uint16_t priority = 0;  // Lower ones first.
  std::uint16_t weight = 0;    // Of the same priority higher ones first.
  std::uint16_t port = 0;
  std::string target;                  // A host name, without the dot at its end.
  std::vector<std::string> addresses;  // Those of the target that came along.
};

struct SrvAnswer {
  int result = 0;                  // 0: the name exists.
  bool truncated = false;          // The server had more to say than fits.
  std::vector<SrvRecord> records;  // In their order. Those that lead nowhere are left out.
};

// Labels of letters, digits, '-' and '_', as hosts and services have them; a dot may stand at the
// end.
bool is_dns_name(std::string_view name);

enum class DnsExtension : std::uint8_t {
  Edns,  // Answers may have kMessageBytesMax bytes.
  None,  // 512 bytes; for servers that know no extension.
};

// The name is one that is_dns_name() allows.
std::vector<std::byte> encode_srv_query(std::uint16_t id,
                                        std::string_view name,
                                        DnsExtension extension);

// Nothing for what is no answer to this query, or malformed; of an answer that is truncated in the
// midst of a record only that it is truncated. Services are believed only in the answer section,
// under this name or one that aliases (CNAME) there lead to.
std::optional<SrvAnswer> decode_srv_answer(std::span<const std::byte> message,
                                           std::uint16_t id,
                                           std::string_view name);

}  // namespace gcoord::client
