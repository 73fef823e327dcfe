// Nodes that a client's watches may be served by, in the order in which they are tried, and what is
// shown to them: the login, and the keys of sessions that are watched.
//
// One thread.
#pragma once

#include "client/credentials/connection_login.h"
#include "client/credentials/login.h"
#include "client/credentials/session_keyring.h"
#include "common/assert.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::client {

class WatchNodes {
 public:
  // Not all clients begin at the same node.
  WatchNodes(std::vector<std::string> addresses, std::uint64_t seed)
      : seed_(seed), addresses_(std::move(addresses)) {
    GCOORD_ASSERT(!addresses_.empty());
    at_ = static_cast<std::size_t>(seed % addresses_.size());
  }

  // The login at each of them; nullptr: none.
  void set_login(std::shared_ptr<Login> login) { login_ = std::move(login); }

  // The keys of the client's sessions; nullptr: none.
  void set_keyring(std::shared_ptr<const SessionKeyring> keyring) { keyring_ = std::move(keyring); }

  // What the present connection sends before it watches the session: at most once on a connection,
  // and nothing where the key is not known.
  std::vector<SessionKeyring::Shown> shown_before(std::uint64_t session_id) {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::WatchOpen;
    slot.session = session_id;
    return keyring_ == nullptr ? std::vector<SessionKeyring::Shown>{}
                               : keyring_->before(slot, {}, attached_);
  }

  // nullptr where there is nothing to show.
  Login* login() const { return login_ != nullptr && login_->wanted() ? login_.get() : nullptr; }

  // Of the present connection.
  ConnectionLogin& shown() { return shown_; }

  // A connection to the current one begins.
  void note_begun() {
    shown_ = ConnectionLogin{seed_};
    attached_.clear();
  }

  std::size_t size() const { return addresses_.size(); }

  const std::string& current() const { return addresses_[at_]; }

  void go_to_next() { at_ = (at_ + 1) % addresses_.size(); }

  void learn(const std::string& address) {
    if (!address.empty() && addresses_.size() < kAddressesMax &&
        std::ranges::find(addresses_, address) == addresses_.end()) {
      addresses_.push_back(address);
    }
  }

  // An attempt with a node has ended.
  void note_ended() { ++ended_since_; }

  // All watches can have what they need.
  void forget_lacking() { lacking_.clear(); }

  // The current one cannot do what a watch needs: whether to look for one that can. Until all were
  // asked, each once, however often one of them says welcome; or, where some do not answer, for a
  // few rounds.
  bool seeks_another() {
    constexpr std::size_t kRounds = 3;
    if (lacking_.insert(current()).second) {
      ended_since_ = 0;
    }
    return lacking_.size() < addresses_.size() && ended_since_ < kRounds * addresses_.size();
  }

 private:
  // Far more than a Welcome lists; a node that names others each time is not followed for ever.
  static constexpr std::size_t kAddressesMax = 256;

  std::uint64_t seed_;
  std::shared_ptr<Login> login_;
  std::shared_ptr<const SessionKeyring> keyring_;
  ConnectionLogin shown_;
  SessionKeyring::Attached attached_;  // By the present connection.
  std::vector<std::string> addresses_;
  std::size_t at_ = 0;
  std::set<std::string> lacking_;  // Those that cannot do what a watch needs.
  std::size_t ended_since_ = 0;    // Attempts that ended since one of these was new.
};

}  // namespace gcoord::client
