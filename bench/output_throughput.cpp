// What output costs: Robertson's problem with its end alone, with 81 output times that nobody wants, with statistics,
// quantiles and trajectories of them, in turn; the disk's own rate for as many bytes; and the hand-out of instances
// alone, to a kernel that does nothing. Processor seconds are those of the whole process.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "host/engine/processors.hpp"
#include "host/io/result_file.hpp"
#include "host/run/job.hpp"

namespace manyfold {
namespace {

class Forget : public ResultSink {
 public:
  void write(const Chunk&) override {}
};

struct Cost {
  double wall = 0.0;
  double processor = 0.0;
};

Cost cost_of(const std::function<void()>& work) {
  const auto processor_seconds = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  };
  const double before = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          processor_seconds() - before};
}

/// A way to run the sweep.
struct Way {
  std::string name;
  OutputTimes times = OutputTimes::end();
  bool forget = false;  ///< nothing is written
  bool trajectories = false;
  std::vector<StatisticRequest> statistics;
  int threads = 0;
};

class Sweep {
 public:
  Sweep(std::int64_t instances, std::filesystem::path folder) : instances_(instances), folder_(std::move(folder)) {}

  Cost run(const Way& way) const {
    PreparedJob job = prepare(way);
    const std::filesystem::path path = folder_ / "output_throughput.nc";
    return cost_of([&] {
      if (way.forget) {
        Forget sink;
        job.run(sink);
        return;
      }
      ResultFile file(settings(way, job), OutputFile(path, true));
      job.run(file);
      file.finish();
    });
  }

  /// As many bytes as the trajectories have, by plain writes of a megabyte.
  Cost write_plainly() const {
    const std::filesystem::path path = folder_ / "output_throughput.bytes";
    const Cost cost = cost_of([&] {
      const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      const std::vector<char> bytes(1 << 20, 'x');
      for (std::int64_t left = instances_ * 81 * 3 * 8; left > 0;) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written <= 0) throw std::runtime_error("cannot write " + path.string());
        left -= written;
      }
      ::close(file);
    });
    std::filesystem::remove(path);
    return cost;
  }

 private:
  PreparedJob prepare(const Way& way) const {
    Job job;
    job.model = "robertson";
    job.options.method = "radau5";
    job.options.backend = "cpu";
    job.options.rtol = 1e-6;
    job.options.atol = {1e-6};
    job.options.threads = way.threads;
    const ModelDescription model = describe(job);
    std::vector<SampledQuantity> quantities;
    for (const ParameterDescription& parameter : model.parameters) {
      quantities.push_back(
          {SampledQuantity::Kind::parameter, parameter.name, Distribution::lognormal(parameter.value, 0.1), 0});
    }
    EnsembleInputs inputs = EnsembleInputs::sampled(model, {"sobol", instances_, 1}, quantities);
    inputs.set_t_span(model.t_begin, model.t_end);
    set_inputs(job, inputs, way.times);
    return PreparedJob(std::move(job));
  }

  ResultFileSettings settings(const Way& way, const PreparedJob& job) const {
    ResultFileSettings settings;
    settings.model = job.model();
    settings.instances = instances_;
    settings.saved = job.job().saved;
    settings.times = way.times;
    settings.t_span = {job.model().t_begin, job.model().t_end};
    settings.sampled_parameters = {0, 1, 2};
    settings.trajectories = way.trajectories;
    settings.statistics = way.statistics;
    settings.options = job.job().options;
    return settings;
  }

  std::int64_t instances_;
  std::filesystem::path folder_;
};

/// Takes instances by the pack and stores them at once.
void do_nothing(const KernelOptions&, KernelFeed& feed, Utilisation&) {
  constexpr int pack = 8;
  Assignment assignments[pack];
  while (const int count = feed.take(feed.context, assignments, pack, true)) {
    for (int k = 0; k < count; ++k) {
      InstanceOutcome outcome;
      outcome.status = Status::success;
      feed.store(feed.context, assignments[k], outcome);
    }
  }
}

double handed_out_per_second(int threads) {
  static const Kernel kernel = {kernel_interface_version,      "",         "", 8, 0, nullptr,
                                [](const double*, double*) {}, &do_nothing};
  EnsembleRun run;
  run.kernel = &kernel;
  run.shape.parameters = 3;
  run.shape.initial = 3;
  run.shape.variables = 3;
  run.instances = 20'000'000;
  run.fill_instance = [](std::int64_t instance, double* parameters, double* initial, double* t_span) {
    std::fill_n(parameters, 3, static_cast<double>(instance));
    std::fill_n(initial, 3, 1.0);
    t_span[0] = 0.0;
    t_span[1] = 1.0;
  };
  run.fill_times = [](double, double end, double* times) { times[0] = end; };
  run.saved = {0, 1, 2};
  run.options.atol = {1e-6, 1e-6, 1e-6};
  run.options.threads = threads;
  Forget sink;
  return static_cast<double>(run.instances) / run_ensemble(run, sink).wall_seconds;
}

std::vector<Way> ways() {
  const OutputTimes times = OutputTimes::equal_steps(81);
  const auto request = [](const char* text) { return *StatisticRequest::parse(text); };
  std::vector<Way> all(8);
  all[0] = {"end only", OutputTimes::end(), false, false, {}, 0};
  all[1] = {"end only, one thread", OutputTimes::end(), false, false, {}, 1};
  all[2] = {"end only, not written", OutputTimes::end(), true, false, {}, 0};
  all[3] = {"81 times, not written", times, true, false, {}, 0};
  all[4] = {"81 times, mean to maximum",
            times,
            false,
            false,
            {request("mean"), request("std"), request("min"), request("max")},
            0};
  all[5] = {"81 times, three quantiles",
            times,
            false,
            false,
            {request("quantile(0.05)"), request("quantile(0.5)"), request("quantile(0.95)")},
            0};
  all[6] = {"81 times, trajectories", times, false, true, {}, 0};
  all[7] = {"81 times, all of these", times, false, true, {request("mean"), request("quantile(0.5)")}, 0};
  return all;
}

}  // namespace
}  // namespace manyfold

int main(int argc, char** argv) {
  using namespace manyfold;
  CLI::App app("What output costs");
  std::int64_t instances = 200'000;
  int rounds = 7;
  std::string folder = ".";
  app.add_option("--instances", instances);
  app.add_option("--rounds", rounds);
  app.add_option("--folder", folder, "where the files go");
  CLI11_PARSE(app, argc, argv);
  const Sweep sweep(instances, folder);
  std::map<std::string, std::vector<Cost>> costs;
  const std::vector<Way> all = ways();
  for (int round = 0; round < rounds; ++round) {
    for (const Way& way : all) costs[way.name].push_back(sweep.run(way));
    costs["plain writes"].push_back(sweep.write_plainly());
  }
  const auto median = [&](const std::string& name, double Cost::*member) {
    std::vector<double> numbers;
    for (const Cost& cost : costs[name]) numbers.push_back(cost.*member);
    std::nth_element(numbers.begin(), numbers.begin() + std::ssize(numbers) / 2, numbers.end());
    return numbers[numbers.size() / 2];
  };
  const auto print = [&](const std::string& name) {
    const double wall = median(name, &Cost::wall);
    const double processor = median(name, &Cost::processor);
    fmt::print("{:28} {:10.0f} {:10.2f} {:14.2f} {:10.2f}\n", name, static_cast<double>(instances) / wall,
               median(all[0].name, &Cost::wall) / wall, 1e6 * processor / static_cast<double>(instances),
               median(all[0].name, &Cost::processor) / processor);
  };
  fmt::print("{} instances, {} processors, medians of {} rounds; rates relative to the first line\n", instances,
             available_processors(), rounds);
  fmt::print("{:28} {:>10} {:>10} {:>14} {:>10}\n", "", "per second", "relative", "processor us", "relative");
  for (const Way& way : all) print(way.name);
  print("plain writes");
  for (const int threads : {1, 2, 64}) {
    fmt::print("a kernel that does nothing, {:2} threads: {:.3g} instances per second\n", threads,
               handed_out_per_second(threads));
  }
}
