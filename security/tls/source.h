// Contexts out of files that change: certificates are renewed while connections live.
//
// current() gives the newest good context; refresh() loads the files again when one of them has
// become another (by time, size or inode) and keeps the old context if that fails. A half-written
// set fails, as key and certificate do not match, and the next refresh() after the rest came takes
// it. Whoever renews calls refresh() about every second, and at a signal. Any thread; refresh() and
// replace() one at a time.
#pragma once

#include "common/status.h"
#include "security/tls/context.h"
#include "security/tls/files.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace gcoord::security {

class TlsSource {
 public:
  // Says whether a context that was made of these files may be used; its failure is that of the
  // call that made it, and the files in use stay in use.
  using Judge = std::function<Status(const TlsContext&, const TlsFiles&)>;

  // The side, and who judges; without a judge everything may be used.
  struct Use {
    Use(TlsSide of_side, Judge by_judge = {}) : side(of_side), judge(std::move(by_judge)) {}

    TlsSide side;
    Judge judge;
  };

  // Errors: as TlsContext::load(), and the judge's.
  static Result<std::unique_ptr<TlsSource>> open(const Use& use,
                                                 const TlsFiles& files,
                                                 const TlsPolicy& policy);

  std::shared_ptr<const TlsContext> current() const;

  // True: current() is another one now. A failure is reported once per change of the files.
  Result<bool> refresh();

  // Other files and rules from now on; after a failure the old ones stay.
  Status replace(const TlsFiles& files, const TlsPolicy& policy);

 private:
  // What says that a file has become another.
  struct Stamp {
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    std::uint64_t bytes = 0;
    std::uint64_t inode = 0;
    std::uint64_t device = 0;

    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  using Stamps = std::array<Stamp, 4>;

  explicit TlsSource(const Use& use) : use_(use) {}

  Result<std::shared_ptr<const TlsContext>> load(const TlsFiles& files,
                                                 const TlsPolicy& policy) const;

  static Stamps stamps_of(const TlsFiles& files);

  Use use_;
  TlsFiles files_;
  TlsPolicy policy_;
  Stamps stamps_{};  // As of the last attempt.
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsContext> current_;
};

}  // namespace gcoord::security
