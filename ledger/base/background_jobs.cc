#include "ledger/base/background_jobs.h"

#include "common/host/background_thread.h"

#include <rocksdb/listener.h>

namespace gcoord::ledger {
namespace {

class BackgroundJobs final : public rocksdb::EventListener {
 public:
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
    make_background_thread();
  }

  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    make_background_thread();
  }
};

}  // namespace

std::shared_ptr<rocksdb::EventListener> background_jobs() {
  return std::make_shared<BackgroundJobs>();
}

}  // namespace gcoord::ledger
