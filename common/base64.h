// Base64 as RFC 4648 section 4 spells it: with padding, without line breaks.
//
// Bytes have exactly one spelling here: what is padded too little or too much, or carries bits
// beyond its last byte, is refused, so that a changed character is always a changed meaning.
// Pure; thread-safe; host only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord {

std::string to_base64(std::span<const std::byte> bytes);

// Nothing if this is not the spelling of any bytes.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace gcoord
