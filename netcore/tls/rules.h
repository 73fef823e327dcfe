// Rules of a node for TLS on the links to its peers: whether they have it, and by which files.
//
// Both ends show a certificate of the same authority; who it must name is in node_names.h. The mode
// and the files may change while links live: a link goes on with what it began with, unless a new
// revocation list has the certificate of its other end. Any thread.
#pragma once

#include "common/status.h"
#include "security/tls/context.h"
#include "security/tls/source.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace gcoord::netcore {

enum class LinkTlsMode : std::uint8_t {
  Off,         // None.
  Permissive,  // Calls with it, and without where that is not answered; accepts both.
  Required,    // Every link.
};

class LinkTlsRules {
 public:
  // Off, and without files until change() brings some: so a node that began without TLS comes to it
  // while it lives.
  static std::shared_ptr<LinkTlsRules> none();

  // The files have certificate, key and authority. Failures: those of TlsContext::load.
  static Result<std::shared_ptr<LinkTlsRules>> open(LinkTlsMode mode,
                                                    const security::TlsFiles& files);

  LinkTlsMode mode() const { return mode_.load(std::memory_order_acquire); }

  // Who says whether files may be used. Once, before the first ones come.
  void set_judge(security::TlsSource::Judge judge) { judge_ = std::move(judge); }

  // Rises when other files are in use.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // Whether a revocation list in use has this certificate, or one of its chain.
  bool revokes(const security::TlsPeer& peer) const;

  // Where there are files, or to Off.
  void set_mode(LinkTlsMode mode);

  // For the side that is called, and for the one that calls. The mode is, or was, not Off.
  std::shared_ptr<const security::TlsContext> called() const;
  std::shared_ptr<const security::TlsContext> caller() const;

  // The next two by one thread at a time; after a failure the files stay that were. Loads files
  // that have changed.
  Status refresh();
  // Other files and another mode from now on.
  Status change(LinkTlsMode mode, const security::TlsFiles& files);

 private:
  LinkTlsRules() = default;

  // Released with the mode, after the sources: whoever sees TLS on finds them.
  std::atomic<LinkTlsMode> mode_{LinkTlsMode::Off};
  std::atomic<std::uint64_t> version_{0};  // Released after the sources have changed.
  security::TlsSource::Judge judge_;
  mutable std::mutex mutex_;                     // Guards which sources there are.
  std::unique_ptr<security::TlsSource> called_;  // Both or none; once there they stay.
  std::unique_ptr<security::TlsSource> caller_;
};

}  // namespace gcoord::netcore
