#include "client/discovery/srv_message.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

namespace gcoord::client {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kLabelBytesMax = 63;
constexpr std::size_t kNameBytesMax = 253;  // As text.
// Labels and pointers of one name; a name has at most 127 labels.
constexpr int kStepsMax = 255;

constexpr std::uint16_t kTypeA = 1;
constexpr std::uint16_t kTypeCname = 5;
constexpr std::uint16_t kTypeAaaa = 28;
constexpr std::uint16_t kTypeSrv = 33;
constexpr std::uint16_t kTypeOpt = 41;
constexpr std::uint16_t kClassInternet = 1;

constexpr std::uint16_t kIsAnswer = 0x8000;
constexpr std::uint16_t kOpcode = 0x7800;
constexpr std::uint16_t kTruncated = 0x0200;
constexpr std::uint16_t kRecursionDesired = 0x0100;
constexpr std::uint16_t kResultCode = 0x000f;

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

// A place in a message. What does not fit, or is no name, makes it bad for good.
class Reader {
 public:
  Reader(std::span<const std::byte> message, std::size_t at) : message_(message), at_(at) {}

  bool good() const { return good_; }

  std::size_t at() const { return at_; }

  std::uint8_t octet() {
    good_ = good_ && at_ < message_.size();
    return good_ ? static_cast<std::uint8_t>(message_[at_++]) : std::uint8_t{0};
  }

  std::uint16_t number() {
    const std::uint16_t high = octet();
    return static_cast<std::uint16_t>(high << 8 | octet());
  }

  void skip(std::size_t bytes) {
    good_ = good_ && bytes <= message_.size() - at_;
    at_ += good_ ? bytes : 0;
  }

  // With dots between its labels. One with other characters than hosts have comes as "?", which is
  // the name of no host.
  std::string name() {
    std::string text;
    bool usable = true;
    std::size_t from = at_;             // Of the labels that are read now.
    std::size_t lowest = at_;           // Pointers lead below this.
    std::optional<std::size_t> behind;  // Where the name ends at its own place.
    for (int step = 0; step < kStepsMax && good_; ++step) {
      Reader reader(message_, from);
      const std::uint8_t first = reader.octet();
      if (first >= 0xc0) {
        const std::size_t to = std::size_t{first & 0x3fu} << 8 | reader.octet();
        behind = behind.value_or(reader.at());
        good_ = reader.good() && to < lowest;
        from = lowest = to;
      } else if (first > kLabelBytesMax) {
        good_ = false;
      } else if (first == 0) {
        good_ = reader.good();
        at_ = behind.value_or(reader.at());
        return usable && text.size() <= kNameBytesMax ? text : "?";
      } else {
        text += text.empty() ? "" : ".";
        for (std::uint8_t left = first; left > 0 && reader.good(); --left) {
          const char c = static_cast<char>(reader.octet());
          usable = usable && is_label_character(c);
          text += c;
        }
        good_ = reader.good() && text.size() <= kNameBytesMax;
        from = reader.at();
      }
    }
    good_ = false;
    return "?";
  }

 private:
  std::span<const std::byte> message_;
  std::size_t at_;
  bool good_ = true;
};

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

enum class Section : std::uint8_t { Answer, Other };

std::string address_of(Reader& reader, std::uint16_t type) {
  std::array<std::uint8_t, 16> octets{};
  for (std::size_t i = 0; i < (type == kTypeA ? 4u : 16u); ++i) {
    octets[i] = reader.octet();
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(type == kTypeA ? AF_INET : AF_INET6, octets.data(), text.data(), text.size());
  return text.data();
}

SrvRecord service_of(Reader& reader) {
  SrvRecord record;
  record.priority = reader.number();
  record.weight = reader.number();
  record.port = reader.number();
  record.target = reader.name();
  return record;
}

// One record; false when the message is malformed.
bool take_record(Reader& reader, Section section, Records& records) {
  std::string owner = reader.name();
  const std::uint16_t type = reader.number();
  const bool internet = reader.number() == kClassInternet;
  const bool answer = internet && section == Section::Answer;
  reader.skip(4);  // How long it may be kept.
  const std::uint16_t bytes = reader.number();
  Reader content = reader;
  reader.skip(bytes);
  if (!reader.good()) {
    return false;
  }
  if (answer && type == kTypeSrv) {
    records.services.push_back({std::move(owner), service_of(content)});
  } else if (answer && type == kTypeCname) {
    records.aliases.push_back({std::move(owner), content.name()});
  } else if (internet && ((type == kTypeA && bytes == 4) || (type == kTypeAaaa && bytes == 16))) {
    records.glue.push_back({std::move(owner), address_of(content, type)});
  }
  return content.good() && content.at() <= reader.at();
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
  for (std::string_view rest = without_last_dot(name); !rest.empty();) {
    const std::size_t bytes = std::min(rest.find('.'), rest.size());
    out.push_back(static_cast<std::byte>(bytes));
    std::ranges::transform(rest.substr(0, bytes), std::back_inserter(out), [](char c) {
      return static_cast<std::byte>(c);
    });
    rest.remove_prefix(std::min(bytes + 1, rest.size()));
  }
  out.push_back(std::byte{0});
  put(out, kTypeSrv);
  put(out, kClassInternet);
  if (edns) {
    out.push_back(std::byte{0});  // The root, whose "class" is the size of answers.
    put(out, kTypeOpt);
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
  if (message.size() < kHeaderBytes || message.size() > kMessageBytesMax) {
    return std::nullopt;
  }
  Reader reader(message, 0);
  const bool own = reader.number() == id;
  const std::uint16_t flags = reader.number();
  const std::uint16_t questions = reader.number();
  const std::size_t answers = reader.number();
  const std::size_t authorities = reader.number();
  const std::size_t additional = reader.number();
  const bool answer = (flags & kIsAnswer) != 0 && (flags & kOpcode) == 0;
  if (!own || !answer || questions != 1) {
    return std::nullopt;
  }
  const bool same = same_name(reader.name(), without_last_dot(name));
  const bool srv = reader.number() == kTypeSrv;
  const bool internet = reader.number() == kClassInternet;
  if (!reader.good() || !same || !srv || !internet) {
    return std::nullopt;
  }
  Records records;
  const std::size_t count = std::min(answers + authorities + additional, kRecordsMax);
  for (std::size_t i = 0; i < count; ++i) {
    if (!take_record(reader, i < answers ? Section::Answer : Section::Other, records)) {
      return std::nullopt;
    }
  }
  return SrvAnswer{.result = flags & kResultCode,
                   .truncated = (flags & kTruncated) != 0,
                   .records = services_of(without_last_dot(name), records)};
}

}  // namespace gcoord::client
