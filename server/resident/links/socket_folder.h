// The folder in which a resident node waits for its peers by sockets: its data directory, where
// nobody else can make names; and the message by which it tells them where that is.
//
//   kind 10 | 0 0 0 | owner 4 | device 8 | inode 8 | path 1 to 1024
//
// Little-endian; never renumber. Sockets are named by way of a descriptor of the folder, so that
// its path may be longer than a socket's, and no link leads elsewhere. What a peer tells is judged
// in form here, and the folder itself when it is opened: it must be the one that the peer means, be
// this user's and be closed to others. Thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/transport/fd_socket.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

// Owned by nobody else of the messages between nodes.
inline constexpr std::byte kSocketFolderKind{10};
inline constexpr std::size_t kSocketFolderPathMax = 1024;

struct SocketFolder {
  std::string path;  // Absolute; empty: there is none.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t owner = 0;  // The user.
};

bool operator==(const SocketFolder& a, const SocketFolder& b);

// Of this node. FailedPrecondition: it is no directory of this user alone.
Result<SocketFolder> find_socket_folder(const std::string& path);

// A folder as its node describes it, to be used with socket_path() below. Unavailable: this process
// does not see it, which may be over in a moment. FailedPrecondition: another folder is there, or
// one that others may enter.
Result<netcore::OwnedFd> open_socket_folder(const SocketFolder& folder);

// Where the node of the folder waits for node `caller`; short, and valid while `folder` is open.
std::string socket_path(const netcore::OwnedFd& folder, NodeId caller);

// `folder` has a path.
std::vector<std::byte> write_socket_folder(const SocketFolder& folder);

// Whether it means to be such a message.
bool is_socket_folder(std::span<const std::byte> message);

// Nothing: it is none, or says what no node says.
std::optional<SocketFolder> read_socket_folder(std::span<const std::byte> message);

}  // namespace gcoord::server
