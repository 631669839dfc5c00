#pragma once
// The text that is compiled for a request.
#include <string>

#include "host/compiler/catalog.hpp"
#include "host/compiler/kernel_library.hpp"
#include "host/compiler/model_source.hpp"

namespace manyfold {

/// The text that is compiled for a kernel.
struct KernelUnit {
  std::string text;
  std::string content;  ///< the same wherever the model's file lies, for the key in the cache
};

/// The translation unit: the model, the library's part and its entry point. Throws UsageError for a file without model.
KernelUnit kernel_unit(const KernelRequest& request, const ModelSource& source, const std::string& header,
                       const std::string& entry_point);

/// The method of `request` for `model`: what "auto" stands for at its precision and tolerance. Throws UsageError for
/// unknown choices, and for those that the method does not have.
const MethodDescription& method_of(const KernelRequest& request, const ModelDescription& model);

}  // namespace manyfold
