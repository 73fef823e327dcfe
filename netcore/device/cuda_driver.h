// The driver's virtual memory calls, found at run time: no binary of ours needs libcuda to start.
//
// The runtime library is linked in and finds the driver itself; what only the driver offers (memory
// that can be exported as a file descriptor, and mapped for chosen devices) is asked from it by
// name. Host only; the table is made once and never changes.
//
// Refused: linking libcuda. It comes with the driver, so a program that needs it does not start on
// a machine without a GPU, where the same program must run its shards on the CPU.
#pragma once

#include "common/status.h"

#include <cuda.h>

namespace gcoord::netcore {

// Types are the declarations of cuda.h, so a changed signature does not compile.
struct CudaDriver {
  decltype(&::cuDeviceGetAttribute) device_get_attribute = nullptr;
  decltype(&::cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&::cuMemCreate) create = nullptr;
  decltype(&::cuMemRelease) release = nullptr;
  decltype(&::cuMemAddressReserve) address_reserve = nullptr;
  decltype(&::cuMemAddressFree) address_free = nullptr;
  decltype(&::cuMemMap) map = nullptr;
  decltype(&::cuMemUnmap) unmap = nullptr;
  decltype(&::cuMemSetAccess) set_access = nullptr;
  decltype(&::cuMemExportToShareableHandle) export_handle = nullptr;
  decltype(&::cuMemImportFromShareableHandle) import_handle = nullptr;
  decltype(&::cuGetErrorString) error_string = nullptr;
};

// The table, or why there is no driver that has all of it.
Result<const CudaDriver*> cuda_driver();

// A driver call's answer, as cuda_check.h does for the runtime.
Status driver_status(const CudaDriver& driver, CUresult code, const char* call);

}  // namespace gcoord::netcore
