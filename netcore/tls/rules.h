// Rules of a node for TLS on the links to its peers: whether they have it, and by which files.
//
// Both ends show a certificate of the same authority; who it must name is in node_names.h. The mode
// and the files may change while links live: a link goes on with what it began with. Any thread.
#pragma once

#include "common/status.h"
#include "security/tls/context.h"
#include "security/tls/source.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace gcoord::netcore {

enum class LinkTlsMode : std::uint8_t {
  Off,         // None.
  Permissive,  // Calls with it, and without where that is not answered; accepts both.
  Required,    // Every link.
};

class LinkTlsRules {
 public:
  // The files have certificate, key and authority. Failures: those of TlsContext::load.
  static Result<std::shared_ptr<LinkTlsRules>> open(LinkTlsMode mode,
                                                    const security::TlsFiles& files);

  // Off, without files, which change() may bring.
  static std::shared_ptr<LinkTlsRules> off();

  // Acquire: pairs with the release in set_mode(), so that whoever sees another mode than Off sees
  // the files, too.
  LinkTlsMode mode() const { return mode_.load(std::memory_order_acquire); }

  // Another one than Off only where there are files.
  void set_mode(LinkTlsMode mode) { mode_.store(mode, std::memory_order_release); }

  // For the side that is called, and for the one that calls; once mode() was not Off.
  std::shared_ptr<const security::TlsContext> called() const { return called_->current(); }

  std::shared_ptr<const security::TlsContext> caller() const { return caller_->current(); }

  // The next two by one thread at a time; after a failure the files stay that were. Loads files
  // that have changed.
  Status refresh();
  // Other files and another mode from now on.
  Status change(LinkTlsMode mode, const security::TlsFiles& files);

 private:
  LinkTlsRules(LinkTlsMode mode,
               std::unique_ptr<security::TlsSource> called,
               std::unique_ptr<security::TlsSource> caller);

  std::atomic<LinkTlsMode> mode_;
  // Both are there or neither; written once, before the first mode that is not Off.
  std::unique_ptr<security::TlsSource> called_;
  std::unique_ptr<security::TlsSource> caller_;
};

}  // namespace gcoord::netcore
