#include "security/tls/source.h"

#include <sys/stat.h>

#include <cstddef>
#include <utility>

namespace gcoord::security {
namespace {

std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

TlsSource::Stamps TlsSource::stamps_of(const TlsFiles& files) {
  Stamps stamps;
  std::size_t next = 0;
  for (const std::string* path :
       {&files.certificate, &files.key, &files.authority, &files.revoked}) {
    struct stat facts {};

    if (!path->empty() && ::stat(path->c_str(), &facts) == 0) {
      stamps[next] = {.modified_ns = ns_of(facts.st_mtim),
                      .changed_ns = ns_of(facts.st_ctim),
                      .bytes = static_cast<std::uint64_t>(facts.st_size),
                      .inode = facts.st_ino,
                      .device = facts.st_dev};
    }
    ++next;
  }
  return stamps;
}

Result<std::unique_ptr<TlsSource>> TlsSource::open(const Use& use,
                                                   const TlsFiles& files,
                                                   const TlsPolicy& policy) {
  std::unique_ptr<TlsSource> source(new TlsSource(use));
  GCOORD_TRY_STATUS(source->replace(files, policy));
  return source;
}

Result<std::shared_ptr<const TlsContext>> TlsSource::load(const TlsFiles& files,
                                                          const TlsPolicy& policy) const {
  GCOORD_TRY(auto context, TlsContext::load(use_.side, files, policy));
  if (use_.judge) {
    GCOORD_TRY_STATUS(use_.judge(*context, files));
  }
  return context;
}

std::shared_ptr<const TlsContext> TlsSource::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

// The stamps are taken before the files are read: what changes meanwhile is seen the next time.
Status TlsSource::replace(const TlsFiles& files, const TlsPolicy& policy) {
  const Stamps stamps = stamps_of(files);
  GCOORD_TRY(auto context, load(files, policy));
  files_ = files;
  policy_ = policy;
  stamps_ = stamps;
  const std::lock_guard lock(mutex_);
  current_ = std::move(context);
  return Status{};
}

Result<bool> TlsSource::refresh() {
  const Stamps stamps = stamps_of(files_);
  if (stamps == stamps_) {
    return false;
  }
  stamps_ = stamps;
  GCOORD_TRY(auto context, load(files_, policy_));
  const std::lock_guard lock(mutex_);
  current_ = std::move(context);
  return true;
}

}  // namespace gcoord::security
