// Account of what the client connections of a node hold, of each source and of all together:
// places, and bytes of memory by use.
//
// It only counts and compares. Whoever has a connection tells its share how much the connection
// holds; the front end closes the largest when crowded() says so. A source is an IPv4 address, or
// the first 64 bits of an IPv6 address, since a host has as many of the others as it likes, or a
// user of this machine by the Unix socket. No
// source takes more than three quarters of anything, so that one alone never has it all.
//
// Thread-safe: sums are relaxed atomics, because nothing is published by them; a mutex guards the
// table of sources, and is taken when a connection begins and when it ends. So threads that serve
// sockets of their own may share one account. A share belongs to one connection and its thread. The
// account outlives its shares.
#pragma once

#include <asio/ip/address.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace gcoord::server {

// What bytes are held for; labels a metric. Never renumber.
enum class HeldBytes : std::uint8_t {
  In = 0,     // Requests of whole frames that are not taken yet.
  Begun = 1,  // Frames whose last byte has not come.
  Out = 2,    // Replies that the client has not read.
  Count = 3,
};

inline constexpr std::size_t kHeldKinds = static_cast<std::size_t>(HeldBytes::Count);

// A source with fewer connections may use places that are kept from sources with more.
inline constexpr std::size_t kFewConnections = 8;

struct AccountLimits {
  std::size_t connections_max = 4096;
  // Of one source; 0: three quarters of all.
  std::size_t source_connections_max = 0;
  // All memory; half of it for replies, a quarter each for requests and for unfinished frames. 0:
  // 512 MiB, or 128 KiB for each connection where that is more.
  std::size_t bytes_max = 0;

  std::size_t connections_of_source() const;
  std::size_t bytes_of_all(HeldBytes kind) const;
  std::size_t bytes_of_source(HeldBytes kind) const;

  // Places that only this host and sources with few connections get; the last half of them only
  // this host.
  std::size_t reserve() const { return connections_max / 16; }

  // Of those of this host the places that operators from elsewhere get, too (admit_to_prove).
  std::size_t operators() const { return connections_max / 64; }
};

struct ClientSource {
  std::array<unsigned char, 16> bits{};
  bool loopback = false;

  static ClientSource of(const asio::ip::address& address);

  // A user of this machine, by the Unix socket: a source beside every address.
  static ClientSource of_user(std::uint32_t uid);
};

// All of an address, an IPv4 one mapped to IPv6.
std::array<unsigned char, 16> address_bits(const asio::ip::address& address);

class ConnectionAccount {
  using Sums = std::array<std::atomic<std::size_t>, kHeldKinds>;

  struct SourceSums {
    ClientSource source;
    std::atomic<std::size_t> connections{0};
    std::size_t unsettled = 0;  // Under the account's mutex.
    Sums held{};
  };

 public:
  // What one connection has of the account; gives all of it back at its end. An empty one, of a
  // connection that got no place, counts nothing.
  class Share {
   public:
    Share() = default;

    ~Share() { give_back(); }

    Share(Share&& other) noexcept { swap(other); }

    Share& operator=(Share&& other) noexcept {
      swap(other);
      return *this;
    }

    // The connection holds so many bytes from now on.
    void hold(HeldBytes kind, std::size_t byte_count);

    std::size_t held(HeldBytes kind) const { return held_[static_cast<std::size_t>(kind)]; }

    // Of all connections of its source.
    std::size_t source_held(HeldBytes kind) const;
    std::size_t source_connections() const;

    // Whether it has a place of the account.
    bool placed() const { return account_ != nullptr; }

    bool same_source(const Share& other) const { return source_ == other.source_; }

    bool of_source(const ClientSource& source) const {
      return source_ != nullptr && source_->source.bits == source.bits;
    }

    // Whether its source, or all together, hold more of this than they may.
    bool crowded(HeldBytes kind) const;
    bool source_crowded(HeldBytes kind) const;

    // Whether its source, or all together, hold half of what they may, of any kind.
    bool half_full() const;

    // Whether it has its place on the condition that it proves to be an operator, and has not yet.
    bool unsettled() const { return unsettled_; }

    // It has.
    void settle();

    bool loopback() const { return source_ != nullptr && source_->source.loopback; }

    // Everything, the place too; the share is empty then.
    void give_back();

   private:
    friend class ConnectionAccount;

    Share(ConnectionAccount& account, std::shared_ptr<SourceSums> source)
        : account_(&account), source_(std::move(source)) {}

    void swap(Share& other) noexcept;

    ConnectionAccount* account_ = nullptr;
    std::shared_ptr<SourceSums> source_;
    std::array<std::size_t, kHeldKinds> held_{};
    bool unsettled_ = false;
  };

  enum class Verdict : std::uint8_t { Admitted, SourceFull, NodeFull };

  struct Admission {
    Verdict verdict = Verdict::NodeFull;
    Share share;  // Empty unless admitted.
  };

  explicit ConnectionAccount(const AccountLimits& limits) : limits_(limits) {}

  ConnectionAccount(const ConnectionAccount&) = delete;
  ConnectionAccount& operator=(const ConnectionAccount&) = delete;

  // A connection of this source wants a place.
  Admission admit(const ClientSource& source);

  // The same of a source that admit() has refused, for a client that will have to prove to be an
  // operator: a place that is kept for such ones, with an unsettled share. As many as
  // AccountLimits::operators() are unsettled at a time, a quarter of them of one source
  // (SourceFull).
  Admission admit_to_prove(const ClientSource& source);

  std::size_t held(HeldBytes kind) const {
    return held_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }

  bool crowded(HeldBytes kind) const { return held(kind) > limits_.bytes_of_all(kind); }

  std::size_t connection_count() const { return connections_.load(std::memory_order_relaxed); }

  std::size_t source_count() const;

 private:
  Verdict judge(const ClientSource& source, std::size_t source_connections) const;
  Share take_place(const ClientSource& source);
  void leave(SourceSums& source);
  void settle(SourceSums& source);

  AccountLimits limits_;
  Sums held_{};
  std::atomic<std::size_t> connections_{0};
  std::size_t unsettled_ = 0;
  mutable std::mutex mutex_;  // Guards sources_, who joins and leaves them, and unsettled_.
  std::map<std::array<unsigned char, 16>, std::shared_ptr<SourceSums>> sources_;
};

}  // namespace gcoord::server
