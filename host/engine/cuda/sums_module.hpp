#pragma once
// The program that adds up batches on a device.
#include <utility>

#include "host/engine/cuda/driver.hpp"

namespace manyfold::cuda {

/// The functions of kernels/device/sums_kernel.hpp on a device, loaded as long as anybody has them.
class SumsModule {
 public:
  /// In the context of the calling thread.
  SumsModule(CUcontext context, const char* code) : context_(context) {
    driver().check(driver().load_module(&module_, code), "cuModuleLoadData");
    try {
      for (const auto& [function, name] :
           {std::pair{&reduce, "manyfold_reduce"}, std::pair{&add_up, "manyfold_add_up"},
            std::pair{&count_digits, "manyfold_count_digits"}, std::pair{&count_bins, "manyfold_count_bins"},
            std::pair{&sort_runs, "manyfold_sort_runs"}, std::pair{&merge_runs, "manyfold_merge_runs"},
            std::pair{&count_summaries, "manyfold_count_summaries"},
            std::pair{&merge_summaries, "manyfold_merge_summaries"}}) {
        driver().check(driver().get_function(function, module_, name), "cuModuleGetFunction");
      }
    } catch (...) {
      driver().unload_module(module_);
      throw;
    }
  }
  SumsModule(const SumsModule&) = delete;
  SumsModule& operator=(const SumsModule&) = delete;
  ~SumsModule() {
    driver().set_current(context_);
    driver().unload_module(module_);
  }
  CUcontext context() const { return context_; }

  CUfunction reduce = nullptr;
  CUfunction add_up = nullptr;
  CUfunction count_digits = nullptr;
  CUfunction count_bins = nullptr;
  CUfunction sort_runs = nullptr;
  CUfunction merge_runs = nullptr;
  CUfunction count_summaries = nullptr;
  CUfunction merge_summaries = nullptr;

 private:
  CUcontext context_;
  CUmodule module_ = nullptr;
};

}  // namespace manyfold::cuda
