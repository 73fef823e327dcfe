#include "client/discovery/srv_message.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <iterator>
#include <utility>

namespace gcoord::client {
namespace {

constexpr std::size_t kLabelBytesMax = 63;
constexpr std::size_t kNameBytesMax = 253;             // As text.
constexpr std::size_t kQuestionBytes = NS_QFIXEDSZ;    // Behind its name.
constexpr std::size_t kServiceBytes = 3 * NS_INT16SZ;  // Of an SRV record, before its target.

constexpr std::uint16_t kRecursionDesired = 0x0100;

bool is_label_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view without_last_dot(std::string_view name) {
  return name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
}

void put(std::vector<std::byte>& out, std::uint16_t number) {
  out.push_back(static_cast<std::byte>(number >> 8));
  out.push_back(static_cast<std::byte>(number & 0xff));
}

const unsigned char* octets_of(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

struct Glue {
  std::string host;
  std::string address;
};

struct Alias {
  std::string owner;
  std::string target;
};

struct OwnedService {
  std::string owner;
  SrvRecord record;
};

// What a message has, whomever it concerns.
struct Records {
  std::vector<OwnedService> services;
  std::vector<Alias> aliases;
  std::vector<Glue> glue;
};

struct NameAt {
  std::string text;
  std::size_t bytes = 0;
};

// The name that begins a record's content, with dots between its labels, and how many bytes it
// takes there. A character that hosts do not have comes with a backslash. Nothing when it is
// malformed.
std::optional<NameAt> name_at(const ns_msg& message, std::span<const unsigned char> content) {
  std::array<char, NS_MAXDNAME> text{};
  const int bytes = content.empty() ? -1
                                    : ns_name_uncompress(ns_msg_base(message),
                                                         ns_msg_end(message),
                                                         content.data(),
                                                         text.data(),
                                                         text.size());
  if (bytes < 0 || static_cast<std::size_t>(bytes) > content.size()) {
    return std::nullopt;
  }
  return NameAt{.text = text.data(), .bytes = static_cast<std::size_t>(bytes)};
}

std::string address_of(int family, std::span<const unsigned char> content) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, content.data(), text.data(), text.size());
  return text.data();
}

std::optional<SrvRecord> service_of(const ns_msg& message, std::span<const unsigned char> content) {
  if (content.size() < kServiceBytes) {
    return std::nullopt;
  }
  const auto number = [&](std::size_t at) {
    return static_cast<std::uint16_t>(ns_get16(content.data() + at * NS_INT16SZ));
  };
  auto target = name_at(message, content.subspan(kServiceBytes));
  if (!target) {
    return std::nullopt;
  }
  return SrvRecord{.priority = number(0),
                   .weight = number(1),
                   .port = number(2),
                   .target = std::move(target->text),
                   .addresses = {}};
}

bool is(const ns_rr& record, ns_type type) {
  return ns_rr_class(record) == ns_c_in && ns_rr_type(record) == type;
}

std::span<const unsigned char> content_of(const ns_rr& record) {
  return {ns_rr_rdata(record), ns_rr_rdlen(record)};
}

// An address, of whatever section.
void take_glue(const ns_rr& record, Records& records) {
  const auto content = content_of(record);
  if (is(record, ns_t_a) && content.size() == NS_INADDRSZ) {
    records.glue.push_back({ns_rr_name(record), address_of(AF_INET, content)});
  } else if (is(record, ns_t_aaaa) && content.size() == NS_IN6ADDRSZ) {
    records.glue.push_back({ns_rr_name(record), address_of(AF_INET6, content)});
  }
}

// A record of the answer section; false when its content is malformed.
bool take_answer(const ns_msg& message, const ns_rr& record, Records& records) {
  if (is(record, ns_t_srv)) {
    auto service = service_of(message, content_of(record));
    if (service) {
      records.services.push_back({ns_rr_name(record), *std::move(service)});
    }
    return service.has_value();
  }
  if (is(record, ns_t_cname)) {
    auto target = name_at(message, content_of(record));
    if (target) {
      records.aliases.push_back({ns_rr_name(record), std::move(target->text)});
    }
    return target.has_value();
  }
  take_glue(record, records);
  return true;
}

// The first kRecordsMax of a message; nothing when one of them is malformed.
std::optional<Records> records_of(ns_msg& message) {
  Records records;
  std::size_t left = kRecordsMax;
  for (const ns_sect section : {ns_s_an, ns_s_ns, ns_s_ar}) {
    const std::size_t count = std::min<std::size_t>(ns_msg_count(message, section), left);
    for (std::size_t i = 0; i < count; ++i) {
      ns_rr record;
      if (ns_parserr(&message, section, static_cast<int>(i), &record) != 0 ||
          (section == ns_s_an && !take_answer(message, record, records))) {
        return std::nullopt;
      }
      if (section != ns_s_an) {
        take_glue(record, records);
      }
    }
    left -= count;
  }
  return records;
}

bool parse(std::span<const std::byte> bytes, ns_msg& message) {
  return bytes.size() >= NS_HFIXEDSZ &&
         ns_initparse(octets_of(bytes), static_cast<int>(bytes.size()), &message) == 0;
}

// The header and the question alone, with counts that say so. Empty when they are not whole.
std::vector<std::byte> head_of(std::span<const std::byte> message) {
  if (message.size() < NS_HFIXEDSZ) {
    return {};
  }
  const unsigned char* begin = octets_of(message);
  const int name_bytes = ::dn_skipname(begin + NS_HFIXEDSZ, begin + message.size());
  const std::size_t bytes =
      NS_HFIXEDSZ + static_cast<std::size_t>(std::max(name_bytes, 0)) + kQuestionBytes;
  if (name_bytes < 0 || bytes > message.size()) {
    return {};
  }
  std::vector<std::byte> head(message.begin(),
                              message.begin() + static_cast<std::ptrdiff_t>(bytes));
  std::fill(head.begin() + 3 * NS_INT16SZ, head.begin() + NS_HFIXEDSZ, std::byte{0});
  return head;
}

bool answers(ns_msg& message, std::uint16_t id, std::string_view name) {
  ns_rr question;
  return ns_msg_id(message) == id && ns_msg_getflag(message, ns_f_qr) != 0 &&
         ns_msg_getflag(message, ns_f_opcode) == ns_o_query &&
         ns_msg_count(message, ns_s_qd) == 1 && ns_parserr(&message, ns_s_qd, 0, &question) == 0 &&
         same_name(ns_rr_name(question), without_last_dot(name)) &&
         ns_rr_type(question) == ns_t_srv && ns_rr_class(question) == ns_c_in;
}

// The name itself and those that aliases lead to from there, in whatever order they came.
std::vector<std::string> names_of(std::string_view name, const std::vector<Alias>& aliases) {
  std::vector<std::string> names{std::string{name}};
  const auto is_last = [&](const Alias& alias) { return same_name(alias.owner, names.back()); };
  // Each alias leads one step further, unless they lead in a circle.
  while (names.size() <= aliases.size()) {
    const auto next = std::ranges::find_if(aliases, is_last);
    if (next == aliases.end() || !is_dns_name(next->target)) {
      break;
    }
    names.push_back(next->target);
  }
  return names;
}

// The services of this name that lead somewhere, with their addresses.
std::vector<SrvRecord> services_of(std::string_view name, const Records& records) {
  const std::vector<std::string> names = names_of(name, records.aliases);
  std::vector<SrvRecord> services;
  for (const auto& [owner, record] : records.services) {
    const bool own = std::ranges::any_of(
        names, [&owner = owner](const std::string& each) { return same_name(each, owner); });
    // The root as a target says that there is no such service.
    if (!own || record.port == 0 || !is_dns_name(record.target)) {
      continue;
    }
    services.push_back(record);
    for (const Glue& each : records.glue) {
      if (same_name(each.host, record.target)) {
        services.back().addresses.push_back(each.address);
      }
    }
  }
  return services;
}

// What an answer that could be read says.
std::optional<SrvAnswer> answer_of(ns_msg& message, std::uint16_t id, std::string_view name) {
  if (!answers(message, id, name)) {
    return std::nullopt;
  }
  const auto records = records_of(message);
  if (!records) {
    return std::nullopt;
  }
  return SrvAnswer{.result = ns_msg_getflag(message, ns_f_rcode),
                   .truncated = ns_msg_getflag(message, ns_f_tc) != 0,
                   .records = services_of(without_last_dot(name), *records)};
}

}  // namespace

bool is_dns_name(std::string_view name) {
  name = without_last_dot(name);
  if (name.size() > kNameBytesMax) {
    return false;
  }
  std::size_t label = 0;
  for (const char c : name) {
    if (c == '.' ? label == 0 : label == kLabelBytesMax || !is_label_character(c)) {
      return false;
    }
    label = c == '.' ? 0 : label + 1;
  }
  return label > 0;
}

std::vector<std::byte> encode_srv_query(std::uint16_t id,
                                        std::string_view name,
                                        DnsExtension extension) {
  std::vector<std::byte> out;
  const bool edns = extension == DnsExtension::Edns;
  for (const std::uint16_t field : {id,
                                    kRecursionDesired,
                                    std::uint16_t{1},
                                    std::uint16_t{0},
                                    std::uint16_t{0},
                                    static_cast<std::uint16_t>(edns ? 1 : 0)}) {
    put(out, field);
  }
  std::array<unsigned char, NS_MAXCDNAME> wire{};
  const std::string text{without_last_dot(name)};
  const int bytes =
      ::dn_comp(text.c_str(), wire.data(), static_cast<int>(wire.size()), nullptr, nullptr);
  std::ranges::transform(std::span{wire}.first(static_cast<std::size_t>(std::max(bytes, 0))),
                         std::back_inserter(out),
                         [](unsigned char octet) { return std::byte{octet}; });
  put(out, ns_t_srv);
  put(out, ns_c_in);
  if (edns) {
    out.push_back(std::byte{0});  // The root, whose "class" is the size of answers.
    put(out, ns_t_opt);
    put(out, static_cast<std::uint16_t>(kMessageBytesMax));
    put(out, 0);
    put(out, 0);
    put(out, 0);
  }
  return out;
}

std::optional<SrvAnswer> decode_srv_answer(std::span<const std::byte> message,
                                           std::uint16_t id,
                                           std::string_view name) {
  ns_msg parsed;
  if (parse(message, parsed)) {
    return answer_of(parsed, id, name);
  }
  const std::vector<std::byte> head = head_of(message);
  const bool truncated =
      !head.empty() && parse(head, parsed) && ns_msg_getflag(parsed, ns_f_tc) != 0;
  return truncated ? answer_of(parsed, id, name) : std::nullopt;
}

}  // namespace gcoord::client
