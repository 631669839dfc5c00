// What the command line says in place of a sweep file.
#include <algorithm>

#include <fmt/format.h>

#include <manyfold/tolerances.hpp>

#include "host/io/sweep_values.hpp"
#include "host/text/nearest_name.hpp"

namespace manyfold {
namespace {

constexpr SourcePosition on_command_line = {0, 0};

class Overriding {
 public:
  Overriding(Sweep& sweep, SweepProblems& problems) : sweep_(sweep), problems_(problems) {}

  void apply(const SweepOverrides& given, std::span<const std::string> methods) {
    set_solver(given, methods);
    set_tolerances(given);
    if (given.instances) set_instances(*given.instances);
    if (given.seed) set_seed(*given.seed);
    for (const auto& [name, value] : given.parameters) set_parameter(name, value);
  }

 private:
  void wrong(const std::string& message) { problems_.add(on_command_line, message); }

  void replace(const char* key, const std::optional<std::string>& given, std::string& value) {
    if (!given) return;
    value = *given;
    sweep_.solver_positions.erase(key);
  }

  void set_solver(const SweepOverrides& given, std::span<const std::string> methods) {
    SolverOptions& options = sweep_.options;
    if (given.method && std::find(methods.begin(), methods.end(), *given.method) == methods.end()) {
      wrong(fmt::format("--method: unknown method '{}'{}", *given.method,
                        did_you_mean(*given.method, {methods.begin(), methods.end()})));
    }
    replace("method", given.method, options.method);
    replace("backend", given.backend, options.backend);
    replace("linear_solver", given.linear_solver, options.linear_solver);
    if (given.threads) options.threads = static_cast<int>(*given.threads);
    if (!given.verify) return;
    sweep_.verify = *given.verify;
    if (!(sweep_.verify >= 0.0 && sweep_.verify <= 1.0)) {
      wrong(fmt::format("--verify {}: needs the share of the instances to verify, from 0 to 1", sweep_.verify));
    }
  }

  void set_tolerances(const SweepOverrides& given) {
    if (given.rtol) {
      sweep_.options.rtol = *given.rtol;
      sweep_.solver_positions.erase("rtol");
      const std::string problem = rtol_problem(*given.rtol, sweep_.options.precision);
      if (!problem.empty()) wrong("--rtol " + problem);
    }
    if (given.atol) {
      sweep_.options.atol = {*given.atol};
      sweep_.atol.clear();
      sweep_.solver_positions.erase("atol");
    }
    for (const auto& [name, value] : given.atol_by_variable) {
      std::erase_if(sweep_.atol, [&](const PlacedTolerance& one) { return one.variable.name == name; });
      sweep_.atol.push_back({{name, on_command_line}, value});
    }
  }

  void set_instances(std::int64_t count) {
    sweep_.sampling.instances = count;
    sweep_.instances_position = on_command_line;
  }

  void set_seed(std::int64_t seed) {
    const std::string& sampler = sweep_.sampling.sampler;
    if (sampler == "grid" || sampler == "table") {
      wrong(fmt::format("--seed {}: the sampler \"{}\" draws nothing", seed, sampler));
    }
    sweep_.sampling.seed = static_cast<std::uint64_t>(seed);
  }

  /// In the place of what the file says of it, so that the others are drawn as before where they can be.
  void set_parameter(const std::string& name, double value) {
    SweepQuantity constant;
    constant.quantity.name = name;
    constant.quantity.distribution = Distribution::constant(value);
    constant.position = constant.value_position = on_command_line;
    const auto known = std::find_if(sweep_.quantities.begin(), sweep_.quantities.end(), [&](const SweepQuantity& one) {
      return one.quantity.kind == SampledQuantity::Kind::parameter && one.quantity.name == name;
    });
    if (known != sweep_.quantities.end()) {
      *known = constant;
    } else {
      sweep_.quantities.push_back(constant);
    }
  }

  Sweep& sweep_;
  SweepProblems& problems_;
};

}  // namespace

void apply(const SweepOverrides& overrides, std::span<const std::string> methods, Sweep& sweep,
           SweepProblems& problems) {
  Overriding(sweep, problems).apply(overrides, methods);
}

}  // namespace manyfold
