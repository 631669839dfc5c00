// The texts that a device's compiler gets.
#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/compiler/cache_key.hpp"
#include "host/compiler/kernel_cache.hpp"
#include "host/compiler/kernel_unit.hpp"
#include "host/compiler/toolchain.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

/// Threads of a block on a GPU at most: enough to fill a multiprocessor's registers with few blocks, few enough that
/// blocks that have run out of instances make room for others.
constexpr int most_threads_of_block = 128;

/// Keeps what is compiled of `source` under `key`.
void keep_in_cache(DeviceSource& source, const CacheLabel& label, const std::string& key) {
  if (key.empty()) return;
  const auto name = [key, stem = source.stem](const std::string& target) {
    return fmt::format("{}-{}-{}", stem, target, key);
  };
  source.find = [name, note = source.announce](const std::string& target) -> std::optional<std::string> {
    const KernelCache cache(kernel_cache(), note, kernel_cache_limit());
    const auto entry = cache.find(name(target));
    return entry ? file_content(cache.path(*entry)) : std::nullopt;
  };
  source.keep = [name, label, note = source.announce](const std::string& target, const std::string& code) {
    const KernelCache cache(kernel_cache(), note, kernel_cache_limit());
    if (const auto content = cache.put(code, ".device")) {
      cache.keep({name(target), {label.model, label.method, fmt::format("{} {}", label.target, target)}, *content, {}});
    }
  };
}

/// The program of kernels/device/NAME_kernel.hpp, which gives the host's numbers to the last bit.
DeviceSource exact_source(const std::string& name, const std::function<void(const std::string&)>& announce) {
  const fs::path header = header_root() / "kernels" / "device" / (name + "_kernel.hpp");
  DeviceSource result;
  result.text = fmt::format("#include \"{}\"\n", header.string());
  result.stem = name;
  result.include_paths = {header_root() / "include", header_root()};
  result.announce = announce;
  result.contracted = false;
  keep_in_cache(result, {"", name, "float64"}, device_key(result.text, header));
  return result;
}

}  // namespace

DeviceSource device_source(const KernelRequest& request, const DeviceShape& shape,
                           const std::function<void(const std::string&)>& announce) {
  const ModelSource source = find_model(request.model);
  const MethodDescription& method = method_of(request, describe(request, announce));
  DeviceSource result;
  result.tier = shape.tier;
  const int block = shape.block > 0 ? shape.block : most_threads_of_block;
  const bool inlined = request.options.inline_integration == "always";
  if (inlined && shape.tile > 1) {
    throw UsageError(fmt::format("inline = true needs a thread per instance, but device_tile is {}", shape.tile));
  }
  const KernelUnit unit =
      shape.tier == Tier::phased
          ? kernel_unit(request, source, "kernels/device/phased_kernel.hpp",
                        fmt::format("MANYFOLD_PHASED_KERNEL({}, kernel_spec, {})", method.template_name, block))
          : kernel_unit(request, source, "kernels/device/fused_kernel.hpp",
                        fmt::format("MANYFOLD_DEVICE_KERNEL({}, kernel_spec, {}, {}, {})", method.template_name, block,
                                    shape.block > 0, inlined ? 1 : shape.tile));
  result.text = unit.text;
  result.stem = fmt::format("{}-{}-{}", short_stem(source), method.name, request.options.precision);
  result.include_paths = {header_root() / "include", header_root()};
  result.announce = announce;
  keep_in_cache(result, {request.model, method.name, request.options.precision}, device_key(unit.content, source.file));
  return result;
}

DeviceSource sampling_source(const std::function<void(const std::string&)>& announce) {
  return exact_source("sampling", announce);
}

DeviceSource sums_source(const std::function<void(const std::string&)>& announce) {
  return exact_source("sums", announce);
}

}  // namespace manyfold
