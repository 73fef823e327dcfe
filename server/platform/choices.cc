#include "server/platform/choices.h"

#include <array>
#include <cstddef>

namespace gcoord::server {

namespace {

constexpr std::array<std::string_view, 3> kMethodNames = {"raft", "bully", "ring"};

constexpr std::array<std::string_view, 3> kIoBackendNames = {"auto", "io_uring", "epoll"};

constexpr std::array<std::string_view, 4> kSessionKeyModeNames{
    "auto", "off", "permissive", "required"};

constexpr std::array<std::string_view, 3> kSessionNotesNames{"identified", "all", "off"};

}  // namespace

std::string_view resident_peers_name(ResidentPeers wish) {
  switch (wish) {
    case ResidentPeers::Auto:
      return "auto";
    case ResidentPeers::Mapped:
      return "mapped";
    case ResidentPeers::Proxy:
      return "proxy";
  }
  return "unknown";
}

std::string_view coordinator_method_name(CoordinatorMethod method) {
  const auto number = static_cast<std::size_t>(method);
  return number < kMethodNames.size() ? kMethodNames[number] : "unknown";
}

std::optional<CoordinatorMethod> parse_coordinator_method(std::string_view text) {
  for (std::size_t k = 0; k < kMethodNames.size(); ++k) {
    if (text == kMethodNames[k]) {
      return CoordinatorMethod{static_cast<std::uint8_t>(k)};
    }
  }
  return std::nullopt;
}

std::string_view io_backend_wish_name(IoBackendWish wish) {
  const auto number = static_cast<std::size_t>(wish);
  return number < kIoBackendNames.size() ? kIoBackendNames[number] : "unknown";
}

std::optional<IoBackendWish> parse_io_backend_wish(std::string_view text) {
  for (std::size_t k = 0; k < kIoBackendNames.size(); ++k) {
    if (text == kIoBackendNames[k]) {
      return IoBackendWish{static_cast<std::uint8_t>(k)};
    }
  }
  return std::nullopt;
}

std::optional<SessionKeyMode> parse_session_key_mode(std::string_view text) {
  for (std::size_t k = 0; k < kSessionKeyModeNames.size(); ++k) {
    if (text == kSessionKeyModeNames[k]) {
      return SessionKeyMode{static_cast<std::uint8_t>(k)};
    }
  }
  return std::nullopt;
}

std::optional<SessionNotes> parse_session_notes(std::string_view text) {
  for (std::size_t k = 0; k < kSessionNotesNames.size(); ++k) {
    if (text == kSessionNotesNames[k]) {
      return SessionNotes{static_cast<std::uint8_t>(k)};
    }
  }
  return std::nullopt;
}

}  // namespace gcoord::server
