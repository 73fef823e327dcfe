#include "security/audit/note.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/text/cut.h"
#include "common/text/printable.h"
#include "common/utf8.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

namespace gcoord::security {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMappedZeros = 10;

bool is_mapped_four(const AddressBytes& address) {
  return std::all_of(address.begin(),
                     address.begin() + kMappedZeros,
                     [](unsigned char each) { return each == 0; }) &&
         address[10] == 0xff && address[11] == 0xff;
}

AddressClass class_of_four(const AddressBytes& address) {
  const unsigned a = address[12];
  const unsigned b = address[13];
  if (a == 127) {
    return AddressClass::Loopback;
  }
  const bool inner = a == 10 || (a == 172 && (b & 0xf0u) == 16) || (a == 192 && b == 168) ||
                     (a == 169 && b == 254);
  return inner ? AddressClass::Private : AddressClass::Public;
}

bool is_sound(const ClientOrigin& origin) {
  const bool anonymous = origin.principal.kind == PrincipalKind::Anonymous;
  return origin.principal.kind <= PrincipalKind::Local && origin.type <= AddressClass::Local &&
         anonymous == origin.principal.name.empty() &&
         origin.principal.name.size() <= kPrincipalNameBytesMax &&
         origin.client.size() <= kNoteClientBytesMax && utf8_well_formed(origin.principal.name) &&
         utf8_well_formed(origin.client);
}

bool is_sound(const AuditNote& note) {
  const bool order = note.kind == NoteKind::Order;
  return (order || note.kind == NoteKind::Session) && note.number != 0 &&
         (order ? note.order != 0 : note.order == 0 && note.object.empty()) &&
         note.object.size() <= kNoteObjectBytesMax && utf8_well_formed(note.object) &&
         is_sound(note.origin);
}

void write_address(const AddressBytes& address, ByteWriter& writer) {
  writer.bytes(address.data(), address.size());
}

AddressBytes read_address(ByteReader& reader) {
  AddressBytes address{};
  const std::string_view bytes = reader.bytes(address.size());
  std::copy(bytes.begin(), bytes.end(), address.begin());
  return address;
}

}  // namespace

std::string_view address_class_name(AddressClass type) {
  switch (type) {
    case AddressClass::Loopback:
      return "loopback";
    case AddressClass::Private:
      return "private";
    case AddressClass::Public:
      return "public";
    case AddressClass::Local:
      return "local";
    case AddressClass::Unknown:
      break;
  }
  return "unknown";
}

AddressClass address_class(const AddressBytes& address) {
  if (is_mapped_four(address)) {
    return class_of_four(address);
  }
  if (std::all_of(
          address.begin(), address.end() - 1, [](unsigned char each) { return each == 0; })) {
    return address.back() == 1 ? AddressClass::Loopback : AddressClass::Unknown;
  }
  const bool unique_local = (address[0] & 0xfeu) == 0xfc;
  const bool link_local = address[0] == 0xfe && (address[1] & 0xc0u) == 0x80;
  return unique_local || link_local ? AddressClass::Private : AddressClass::Public;
}

std::string address_text(AddressClass type, const AddressBytes& address) {
  if (type == AddressClass::Unknown || type == AddressClass::Local) {
    return "-";
  }
  char text[INET6_ADDRSTRLEN] = {};
  const bool four = is_mapped_four(address);
  const void* const start = four ? address.data() + 12 : address.data();
  const char* const made = inet_ntop(four ? AF_INET : AF_INET6, start, text, sizeof text);
  return made == nullptr ? "-" : made;
}

std::string note_text(std::string_view said, std::size_t bytes_max) {
  std::string text = shown(said);
  cut_utf8(text, bytes_max);
  return text;
}

void encode_note(const AuditNote& note, std::vector<std::byte>& out) {
  GCOORD_ASSERT(is_sound(note));
  const ClientOrigin& origin = note.origin;
  ByteWriter writer{out};
  writer.integer(kVersion);
  writer.integer(static_cast<std::uint8_t>(note.kind));
  writer.integer(static_cast<std::uint8_t>(origin.principal.kind));
  writer.integer(static_cast<std::uint8_t>(origin.type));
  writer.integer(note.order);
  writer.integer(static_cast<std::uint8_t>(origin.principal.name.size()));
  writer.integer(static_cast<std::uint8_t>(origin.client.size()));
  writer.integer(static_cast<std::uint16_t>(note.object.size()));
  writer.integer(note.number);
  write_address(origin.address, writer);
  writer.bytes(origin.principal.name);
  writer.bytes(origin.client);
  writer.bytes(note.object);
}

std::optional<AuditNote> decode_note(std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  AuditNote note;
  const auto version = reader.integer<std::uint8_t>();
  note.kind = NoteKind{reader.integer<std::uint8_t>()};
  note.origin.principal.kind = PrincipalKind{reader.integer<std::uint8_t>()};
  note.origin.type = AddressClass{reader.integer<std::uint8_t>()};
  note.order = reader.integer<std::uint16_t>();
  const auto principal_bytes = reader.integer<std::uint8_t>();
  const auto client_bytes = reader.integer<std::uint8_t>();
  const auto object_bytes = reader.integer<std::uint16_t>();
  note.number = reader.integer<std::uint64_t>();
  note.origin.address = read_address(reader);
  note.origin.principal.name = reader.bytes(principal_bytes);
  note.origin.client = reader.bytes(client_bytes);
  note.object = reader.bytes(object_bytes);
  const bool whole = reader.ok() && reader.rest_bytes() == 0 && version == kVersion;
  return whole && is_sound(note) ? std::optional(std::move(note)) : std::nullopt;
}

void encode_origin(const ClientOrigin& origin, std::vector<std::byte>& out) {
  GCOORD_ASSERT(is_sound(origin));
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(origin.principal.kind));
  writer.integer(static_cast<std::uint8_t>(origin.type));
  writer.integer(static_cast<std::uint8_t>(origin.principal.name.size()));
  writer.integer(static_cast<std::uint8_t>(origin.client.size()));
  write_address(origin.address, writer);
  writer.bytes(origin.principal.name);
  writer.bytes(origin.client);
}

std::optional<ClientOrigin> read_origin(std::span<const std::byte>& bytes) {
  ByteReader reader{bytes};
  ClientOrigin origin;
  origin.principal.kind = PrincipalKind{reader.integer<std::uint8_t>()};
  origin.type = AddressClass{reader.integer<std::uint8_t>()};
  const auto principal_bytes = reader.integer<std::uint8_t>();
  const auto client_bytes = reader.integer<std::uint8_t>();
  origin.address = read_address(reader);
  origin.principal.name = reader.bytes(principal_bytes);
  origin.client = reader.bytes(client_bytes);
  if (!reader.ok() || !is_sound(origin)) {
    return std::nullopt;
  }
  bytes = bytes.last(reader.rest_bytes());
  return origin;
}

std::vector<std::pair<std::string, std::string>> note_facts(const AuditNote& note) {
  const bool order = note.kind == NoteKind::Order;
  const ClientOrigin& origin = note.origin;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"kind", order ? "order_note" : "session_note"}};
  if (order) {
    facts.emplace_back("order", std::to_string(note.order));
    facts.emplace_back("object", note.object);
  } else {
    facts.emplace_back("session", std::to_string(note.number));
  }
  facts.emplace_back("principal_kind", principal_kind_name(origin.principal.kind));
  facts.emplace_back("principal", origin.principal.name);
  facts.emplace_back("address_class", address_class_name(origin.type));
  facts.emplace_back("address", address_text(origin.type, origin.address));
  facts.emplace_back("client", origin.client);
  return facts;
}

}  // namespace gcoord::security
