#include "common/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace gcoord {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> digit_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t value = 0; value < kDigits.size(); ++value) {
    values[static_cast<unsigned char>(kDigits[value])] = static_cast<std::uint8_t>(value);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> kValues = digit_values();

}  // namespace

std::string to_base64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word =
          word << 8 | (at + i < bytes.size() ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
    }
    const std::size_t digits = std::min<std::size_t>(bytes.size() - at, 3) + 1;
    for (std::size_t i = 0; i < 4; ++i) {
      text.push_back(i < digits ? kDigits[word >> (18 - 6 * i) & 63] : '=');
    }
  }
  return text;
}

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) {
    text.remove_suffix(1);
  }
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t pending = 0;
  unsigned pending_bits = 0;
  for (const char letter : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(letter)];
    if (value == kNoDigit) {
      return std::nullopt;
    }
    pending = pending << 6 | value;
    pending_bits += 6;
    if (pending_bits >= 8) {
      pending_bits -= 8;
      bytes.push_back(static_cast<std::byte>(pending >> pending_bits));
      pending &= (1u << pending_bits) - 1;
    }
  }
  // Of four characters one alone says nothing: "A===" had its padding cut to "A=".
  return pending == 0 && pending_bits < 6 ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace gcoord
