// Transport between two nodes: links that carry whole messages. One implementation per file.
//
// A message is one frame (frame.h): a multiple of 64 bytes, at most kFrameBytesMax. A link delivers
// messages in order and whole, or goes down; only the simulated transport may also lose, repeat or
// reorder them. A transport knows neither nodes nor handshakes: the peer network greets on a new
// link before it trusts it.
//
// Time is a parameter (now_ms, the caller's monotonic clock). Single-threaded. Nothing here blocks.
// What arrives is hostile: a transport bounds its memory per link and drops links, never asserts.
#pragma once

#include "common/status.h"
#include "common/strong_id.h"
#include "netcore/channel/drop_reason.h"
#include "security/secret/bytes.h"
#include "security/tls/peer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gcoord::netcore {

// Names one link for as long as the transport lives; never reused. 0 is never valid.
using LinkId = StrongId<struct LinkIdTag, std::uint64_t>;

// What `progress` tells. A callback may call send, close and connect.
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;

  // Somebody connected to the listener. `from` is for people.
  virtual void on_accepted(LinkId link, std::string_view from) = 0;
  // A link made by connect() can carry messages now.
  virtual void on_connected(LinkId link) = 0;
  // `message` starts on a 64-byte boundary and is valid only inside the call.
  virtual void on_message(LinkId link, std::span<const std::byte> message) = 0;
  // The link is gone and its id is dead. Not told for links that close() ended. `drop` tells
  // whether the peer broke the protocol below the level of frames.
  virtual void on_closed(LinkId link, DropReason drop, std::string_view reason) = 0;

  // A message was dropped and the link lives on: somebody else may have put it there.
  virtual void on_dropped(LinkId /*link*/, DropReason /*drop*/) {}
};

class Transport {
 public:
  virtual ~Transport() = default;

  // "tcp", "ucx": for status and logs.
  virtual std::string_view name() const = 0;

  // Starts to accept. Port 0 lets the system choose; the bound port is returned.
  virtual Result<std::uint16_t> listen(const std::string& host, std::uint16_t port) = 0;

  // Starts a link; on_connected or on_closed follows. Fails at once only on a bad address or when
  // resources are gone.
  virtual Result<LinkId> connect(const std::string& host, std::uint16_t port) = 0;

  // Takes messages from the front of the list and returns how many it took. A message that was
  // taken has been copied. Fewer than all: the link is busy, offer the rest after later progress.
  virtual std::size_t send(LinkId link, std::span<const std::span<const std::byte>> messages) = 0;

  // A stranger may send only one small message at a time (kStrangerBytesMax), until this call.
  virtual void trust(LinkId link) = 0;

  // Ends a link. What send() took leaves if it can do so without waiting. No callback follows.
  virtual void close(LinkId link) = 0;

  // What carries the frames of a link now, and why if that is not what was asked for: "tcp", "ucx",
  // "tcp, because ucx: no route". For people.
  virtual std::string route(LinkId /*link*/) const { return std::string{name()}; }

  // Whether what the link carries is encrypted; and who its other end is by a certificate of the
  // cluster's authority, nullptr: it has shown none. Until the link is closed.
  virtual bool is_encrypted(LinkId /*link*/) const { return false; }

  virtual const security::TlsPeer* certificate(LinkId /*link*/) const { return nullptr; }

  // The secret that the link's TLS gives for sealed frames (sealed_frames.h); empty: it has none.
  virtual security::SecretBytes frame_secret(LinkId /*link*/) const { return {}; }

  // Moves bytes and calls back. Bounded work per link and call.
  virtual void progress(std::uint64_t now_ms, LinkEvents& events) = 0;

  // As PeerNetwork::event_fd and arm.
  virtual int event_fd() const = 0;
  virtual bool arm() = 0;
};

}  // namespace gcoord::netcore
