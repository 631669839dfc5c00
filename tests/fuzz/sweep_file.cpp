// Sweep files of any bytes: they are refused with a place, or make sense.
#include <cmath>
#include <string>
#include <vector>

#include "host/io/sweep_file.hpp"
#include "tests/fuzz/input_file.hpp"

namespace {

using namespace manyfold;

const std::vector<std::string> methods = {"radau5", "esdirk54", "bdf", "auto"};

/// The names of Robertson's kinetics, which most seeds use.
ModelDescription kinetics() {
  ModelDescription model;
  model.name = "robertson";
  model.t_end = 1e5;
  for (const char* name : {"y1", "y2", "y3"}) model.variables.push_back({name, "1", name, 1.0, false, 1});
  for (const char* name : {"k1", "k2", "k3"}) model.parameters.push_back({name, "s-1", name, 1.0});
  return model;
}

void expect_sense(const Sweep& sweep) {
  const auto positive = [](const char* what, double x) {
    if (!(x > 0.0)) fuzz::fail(std::string(what) + " was taken as " + std::to_string(x));
  };
  positive("rtol", sweep.options.rtol);
  positive("max_step", sweep.options.max_step);
  positive("max_steps", static_cast<double>(sweep.options.max_steps));
  if (!std::isfinite(sweep.options.first_step) || sweep.options.first_step < 0.0) fuzz::fail("first_step");
  if (sweep.options.threads < 0 || sweep.options.event_log < 0) fuzz::fail("a negative count");
  for (const double atol : sweep.options.atol) {
    if (!(atol >= 0.0)) fuzz::fail("atol");
  }
  if (!(sweep.verify >= 0.0 && sweep.verify <= 1.0)) fuzz::fail("verify");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::InputFile file(data, size, ".toml");
  try {
    const Sweep sweep = parse_sweep_file(file.path(), methods);
    expect_sense(sweep);
    const ModelDescription model = kinetics();
    const ResolvedSweep resolved = resolve(sweep, model);
    if (resolved.inputs.instances() < 1) fuzz::fail("no instances");
    if (resolved.times.count() < 1) fuzz::fail("no times");
    if (resolved.options.atol.size() != model.variables.size()) fuzz::fail("atol of some variables");
    for (const int variable : resolved.saved) {
      if (variable < 0 || variable >= static_cast<int>(model.variables.size())) fuzz::fail("no such variable");
    }
  } catch (const UsageError& error) {
    fuzz::expect_place(error.what(), file.path());
  }
  return 0;
}
