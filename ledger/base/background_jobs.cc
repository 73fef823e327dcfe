#include "ledger/base/background_jobs.h"

#include "common/host/background_thread.h"

#include <rocksdb/listener.h>

namespace gcoord::ledger {
namespace {

thread_local bool merges = false;

class BackgroundJobs final : public rocksdb::EventListener {
 public:
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
    merges = false;
    make_background_thread();
  }

  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    merges = true;
    make_background_thread();
  }

  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    merges = false;
  }
};

}  // namespace

std::shared_ptr<rocksdb::EventListener> background_jobs() {
  return std::make_shared<BackgroundJobs>();
}

bool this_thread_merges() {
  return merges;
}

}  // namespace gcoord::ledger
