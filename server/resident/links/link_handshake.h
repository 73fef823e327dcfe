// The message by which resident nodes find out how far each other is and how to join: what it says,
// and its bytes.
//
//   kind 7 | state | wish | mapping | way | tells | hello | 0 | epoch 4 | epoch_next 4 | 0 8
//   | facts 72
//
// `tells` is 1 of a node that tells of its folder for sockets, and wants to be told
// (socket_folder.h). Nodes of before met in the folder for temporary files, and named it where 8
// zeros are now: with those they take the proxy. `hello` is 1 of a node that says a hello
// (hello.h), and wants to be told one; those of before do not look there.
//
// Little-endian; never renumber. It is said over and over, so one that is lost costs nothing. What
// arrives is judged in form: read_resident_ready() refuses what no node says. Pure.
#pragma once

#include "server/resident/links/links.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gcoord::server {

// resident_states.h owns 5 and 6.
inline constexpr std::byte kReadyKind{7};
inline constexpr std::size_t kReadyBytes = 96;

// How far a node is.
enum class ResidentState : std::uint8_t {
  Seeks = 0,  // It looks for its peers.
  Runs = 1,
  Connected = 2,  // It waits for others only.
};

struct ResidentReady {
  ResidentState state = ResidentState::Seeks;
  ResidentPeers wish = ResidentPeers::Auto;
  Mapping mapping = Mapping::Unknown;  // Of the receiver's memory by the sender.
  // By what way, and in which epoch, the sender holds a channel to the receiver; 0: it has none.
  ResidentLinkKind way = ResidentLinkKind::Undecided;
  std::uint32_t epoch = 0;
  std::uint32_t epoch_next = 0;  // The least that the sender accepts for another one.
  bool tells_folder = true;
  bool says_hello = true;
  ResidentAddress place;  // Without its folder, which has a message of its own.
};

using ResidentReadyBytes = std::array<std::byte, kReadyBytes>;

ResidentReadyBytes write_resident_ready(const ResidentReady& ready);

// Whether it means to be one.
bool is_resident_ready(std::span<const std::byte> message);

// Nothing: it is no such message, or says what no node says.
std::optional<ResidentReady> read_resident_ready(std::span<const std::byte> message);

}  // namespace gcoord::server
