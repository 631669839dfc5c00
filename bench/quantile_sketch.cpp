// Approximate quantiles beside exact ones: error in ranks over distributions that are hard for sketches, time and
// memory. Seconds are those of the processor.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "host/engine/processors.hpp"
#include "host/io/quantile_sketch.hpp"
#include "host/io/quantiles.hpp"
#include "kernels/statistics/split_mix.hpp"

namespace {

using namespace manyfold;

constexpr std::int64_t rows_of_chunk = 1000;
constexpr double probabilities[] = {0.0, 0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1.0};

double uniform(std::uint64_t counter) {
  return (static_cast<double>(split_mix(counter) >> 11U) + 0.5) * 0x1p-53;
}

struct Distribution {
  std::string name;
  std::function<double(std::int64_t i, std::int64_t count)> value;
};

std::vector<Distribution> distributions() {
  const auto number = [](std::int64_t i) { return static_cast<std::uint64_t>(i); };
  return {
      {"uniform", [=](std::int64_t i, std::int64_t) { return uniform(number(i)); }},
      {"ascending", [](std::int64_t i, std::int64_t) { return static_cast<double>(i); }},
      {"descending", [](std::int64_t i, std::int64_t) { return -static_cast<double>(i); }},
      {"alternating",
       [](std::int64_t i, std::int64_t) { return i % 2 == 0 ? static_cast<double>(i) : -static_cast<double>(i); }},
      {"heavy tails (Cauchy)",
       [=](std::int64_t i, std::int64_t) { return std::tan(std::numbers::pi * (uniform(number(i)) - 0.5)); }},
      {"ten values", [=](std::int64_t i, std::int64_t) { return std::floor(10.0 * uniform(number(i))); }},
      {"two clusters",
       [=](std::int64_t i, std::int64_t) { return (i % 5 == 0 ? 440.0 : 336.0) + 1e-3 * uniform(number(i)); }},
      {"99 % missing",
       [=](std::int64_t i, std::int64_t) {
         return uniform(number(i)) < 0.01 ? uniform(number(-i)) : std::numeric_limits<double>::quiet_NaN();
       }},
  };
}

/// Of the processor, by all threads.
double seconds_of(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

/// The distance of `value` from the rank that was asked for, as a share of `sorted`.
double rank_error(const std::vector<double>& sorted, double value, double probability) {
  const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
  const double rank = probability * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<double>(first - sorted.begin());
  const auto high = static_cast<double>(last - sorted.begin());
  return std::max({0.0, low - 1.0 - rank, rank - high}) / static_cast<double>(sorted.size());
}

void compare_errors(std::int64_t count, std::size_t most_values) {
  fmt::print("{:<22} {:>12} {:>12} {:>9} {:>9} {:>9}\n", "distribution", "largest", "stated", "sketch s", "select s",
             "sort s");
  for (const Distribution& distribution : distributions()) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(distribution.value(i, count));
    QuantileSketch sketch(1, count, most_values);
    const double sketched = seconds_of([&] {
      for (std::int64_t first = 0; first < count; first += rows_of_chunk) {
        const std::int64_t rows = std::min(rows_of_chunk, count - first);
        sketch.put(first, {values.data() + first, static_cast<std::size_t>(rows)});
      }
      sketch.end();
    });
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    std::vector<double> copy = values;
    const double selected = seconds_of([&] { quantiles_of(copy, probabilities); });
    const double sorted = seconds_of([&] { std::sort(values.begin(), values.end()); });
    const ApproximateQuantiles found = sketch.quantiles(0, probabilities, values.front(), values.back());
    double largest = 0.0;
    for (std::size_t k = 0; k < std::size(probabilities); ++k) {
      largest = std::max(largest, rank_error(values, found.values[k], probabilities[k]));
    }
    fmt::print("{:<22} {:>11.5f}% {:>11.5f}% {:>9.2f} {:>9.2f} {:>9.2f}\n", distribution.name, 100.0 * largest,
               100.0 * found.rank_error, sketched, selected, sorted);
  }
}

/// As in a run: chunks of many columns from several threads.
void time_columns(std::int64_t count, std::size_t columns, std::size_t most_values, int threads) {
  const auto width = static_cast<std::size_t>(rows_of_chunk) * columns;
  std::vector<double> pool(width + 65536);
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = uniform(i);
  const double before = peak_megabytes();
  QuantileSketch sketch(columns, count, most_values);
  const double filled = seconds_of([&] {
    in_threads(threads, static_cast<std::size_t>((count + rows_of_chunk - 1) / rows_of_chunk), [&](std::size_t chunk) {
      const auto first = static_cast<std::int64_t>(chunk) * rows_of_chunk;
      const auto rows = static_cast<std::size_t>(std::min(rows_of_chunk, count - first));
      sketch.put(first, {pool.data() + split_mix(chunk) % 65536, rows * columns});
    });
    sketch.end();
  });
  const double asked = seconds_of([&] {
    in_threads(threads, columns, [&](std::size_t column) { sketch.quantiles(column, probabilities, 0.0, 1.0); });
  });
  const double number = static_cast<double>(count) * static_cast<double>(columns);
  fmt::print("{} instances, {} columns, {} values in a summary, {} threads: {:.1f} s, {:.1f} ns for a value\n", count,
             columns, most_values, threads, filled, 1e9 * filled / number);
  fmt::print("  quantiles {:.2f} s; {:.0f} MB, bound {:.0f} MB, all values {:.0f} MB\n", asked,
             peak_megabytes() - before, QuantileSketch::bytes_of(columns, count, most_values) / 1e6, 8e-6 * number);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Approximate quantiles beside exact ones");
  std::int64_t count = 10'000'000;
  std::size_t columns = 243;
  std::size_t most_values = 4096;
  int threads = available_processors();
  bool errors = false;
  app.add_option("--instances", count, "instances");
  app.add_option("--columns", columns, "output times, times variables");
  app.add_option("--values", most_values, "values in a summary");
  app.add_option("--threads", threads, "threads");
  app.add_flag("--errors", errors,
               "errors of one column, of hard distributions, in place of the time for many columns");
  CLI11_PARSE(app, argc, argv);
  if (errors) {
    compare_errors(count, most_values);
  } else {
    time_columns(count, columns, most_values, threads);
  }
}
