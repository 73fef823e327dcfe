#include "server/log/escaped_text.h"

#include "common/utf8.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

namespace {

constexpr std::string_view kHex = "0123456789abcdef";

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  // Else `code` is a byte that is not UTF-8.
};

std::size_t bytes_of(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = bytes_of(lead);
  if (bytes > text.size() || !utf8_well_formed(text.substr(0, bytes))) {
    return {lead, 1, false};
  }
  std::uint32_t code = bytes == 1 ? lead : lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  return {code, bytes, true};
}

bool is_dangerous(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string hex(std::uint32_t code) {
  std::string digits;
  do {
    digits.insert(digits.begin(), kHex[code & 15]);
    code >>= 4;
  } while (code != 0);
  return digits;
}

// Four digits: nothing that is escaped lies beyond U+FFFF.
std::string json_escape(std::uint32_t code) {
  const std::string digits = hex(code);
  return "\\u" + std::string(4 - digits.size(), '0') + digits;
}

}  // namespace

std::string escape_for_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character next = first_character(text);
    if (!next.valid) {
      out += "\\x{" + hex(next.code) + "}";
    } else if (is_dangerous(next.code)) {
      out += "\\u{" + hex(next.code) + "}";
    } else {
      out += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  return out;
}

std::string escape_for_json(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character next = first_character(text);
    if (!next.valid) {
      out += json_escape(0xfffd);
    } else if (is_dangerous(next.code)) {
      out += json_escape(next.code);
    } else if (next.code == '"' || next.code == '\\') {
      out += '\\';
      out += static_cast<char>(next.code);
    } else {
      out += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace gcoord::server
