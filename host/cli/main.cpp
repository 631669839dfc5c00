// The command `manyfold`: reads the command line and calls the subcommand.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "build_config.hpp"
#include "host/cli/arguments.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/engine/signal_stack.hpp"
#include "host/io/unfinished_file.hpp"
#include "host/text/printable.hpp"

namespace manyfold {
namespace {

/// Errors of files already carry their place; all others get the program's name.
void print_error(const std::string& message) {
  const bool placed = message.find(": error: ") != std::string::npos;
  std::cerr << (placed ? "" : "manyfold: error: ") << printable(message, "\n\t") << std::endl;
}

/// What a crash of a model's code, or of a library that has no memory, says and leaves behind.
void end_at_crash(int signal) {
  // Several threads come here where all integrate the same model: one of them ends the process.
  static std::atomic_flag begun = ATOMIC_FLAG_INIT;
  if (begun.test_and_set()) sleep(10);
  const bool removed = UnfinishedFile::remove_all();
  for (const std::string_view part :
       {std::string_view("manyfold: error: crashed: "), std::string_view(sigdescr_np(signal)),
        std::string_view(signal == SIGSEGV ? " (a bad address, or a stack that is too small: ulimit -s)" : ""),
        std::string_view(removed ? "; the unfinished result is removed\n" : "\n")}) {
    if (write(STDERR_FILENO, part.data(), part.size()) < 0) break;
  }
  _exit(cli::internal_error);
}

/// Sanitizers handle crashes themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

void handle_crashes() {
  if (sanitized) return;
  struct sigaction action {};
  action.sa_handler = end_at_crash;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

/// A subcommand and what it does.
struct Command {
  CLI::App* app;
  std::function<int()> call;
};

/// An option for a number, which is written as everywhere else.
template <class Number>
CLI::Option* add_number(CLI::App* app, const std::string& name, Number& target, const std::string& text) {
  const auto take = [&target, name](const std::string& given) { target = cli::number(given, name); };
  return app->add_option_function<std::string>(name, take, text)->type_name("NUMBER");
}

/// The same for an integer from `least` to `most`.
template <class Integer>
CLI::Option* add_integer(CLI::App* app, const std::string& name, Integer& target, std::int64_t least, std::int64_t most,
                         const std::string& text) {
  const auto take = [&target, name, least, most](const std::string& given) {
    target = cli::integer(given, name, least, most);
  };
  return app->add_option_function<std::string>(name, take, text)->type_name("NUMBER");
}

constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

std::string shown(double number) {
  return fmt::format("{}", number);
}

/// What needs no more than a model.
void add_inquiries(CLI::App& app, std::string& model, bool& json, std::vector<Command>& commands) {
  CLI::App* list = app.add_subcommand("list", "List the built-in models");
  list->add_flag("--json", json, "Print JSON");

  CLI::App* describe = app.add_subcommand("describe", "Show a model's variables, parameters and defaults");
  describe->add_option("MODEL", model, "Built-in name or model file")->required();
  describe->add_flag("--json", json, "Print JSON");

  CLI::App* check = app.add_subcommand("check", "Say what is wrong with a model, without integrating");
  check->add_option("MODEL", model, "Built-in name or model file")->required();
  check->footer(
      "Compiles the model, looks at its names, and evaluates its equations, their derivatives and its root functions\n"
      "once at the initial values. Exit codes: 0 no problems found, 2 problems, one per line on standard error.");

  CLI::App* info = app.add_subcommand("info", "Show processor lanes, threads, devices, methods, versions and paths");
  info->add_flag("--json", json, "Print JSON");
  commands.push_back({list, [&json] { return cli::list(json); }});
  commands.push_back({describe, [&] { return cli::describe(model, json); }});
  commands.push_back({check, [&model] { return cli::check(model); }});
  commands.push_back({info, [&json] { return cli::info(json); }});
}

void add_cache(CLI::App& app, cli::CacheArguments& arguments, std::vector<Command>& commands) {
  CLI::App* cache = app.add_subcommand("cache", "Show or delete the compiled kernels that are kept");
  CLI::Option* cache_list =
      cache->add_flag("--list")->description("Model, method, size and last use of each, the default");
  CLI::Option* cache_clear = cache->add_flag("--clear", arguments.clear, "Delete them");
  cache_clear->excludes(cache_list);
  add_number(cache, "--limit", arguments.limit,
             "Delete the least recently used ones until the rest has at most so many MiB")
      ->excludes(cache_list)
      ->excludes(cache_clear);
  cache->add_flag("--json", arguments.json, "Print JSON");
  commands.push_back({cache, [&arguments] { return cli::cache(arguments); }});
}

void add_compile(CLI::App& app, cli::CompileArguments& arguments, std::vector<Command>& commands) {
  CLI::App* compile = app.add_subcommand("compile", "Say what becomes of a Modelica file: index, states, blocks, C++");
  compile->add_option("MODEL", arguments.model, "Base Modelica file (.mo)")->required();
  compile->add_flag("--explain", arguments.explain, "Every step in words");
  compile->add_option("--picture", arguments.picture, "Draw the incidence of equations and unknowns into an SVG file");
  compile->add_option("--emit", arguments.emit, "Write the model as C++, to keep and to edit");
  compile->add_flag("--json", arguments.json, "Print one JSON object");
  commands.push_back({compile, [&arguments] { return cli::compile(arguments); }});
}

void add_run(CLI::App& app, cli::RunArguments& arguments, std::vector<Command>& commands) {
  CLI::App* run = app.add_subcommand("run", "Run the ensemble that a sweep file describes");
  run->add_option("SWEEP", arguments.sweep, "Sweep file (TOML)")->required();
  run->add_option("--out", arguments.output, "Result file, instead of the sweep file's");
  SweepOverrides& overrides = arguments.overrides;
  run->add_option("--set", arguments.parameters, "Parameter of all instances: NAME=VALUE; the option once for each")
      ->allow_extra_args(false);
  add_integer(run, "--instances", overrides.instances, 1, most_instances, "Number of instances");
  add_integer(run, "--seed", overrides.seed, 0, any_size, "Seed of the sampler");
  run->add_option("--method", overrides.method, "Method, see 'manyfold info'");
  add_number(run, "--rtol", overrides.rtol, "Relative tolerance");
  run->add_option("--atol", arguments.atol, "Absolute tolerance: VALUE for all variables, NAME=VALUE for one")
      ->allow_extra_args(false);
  run->add_option("--backend", overrides.backend, "auto, cpu or cuda");
  add_integer(run, "--threads", overrides.threads, 0, 65536, "Worker threads; 0: one per processor");
  run->add_option("--linear-solver", overrides.linear_solver,
                  "auto, own, cublas or cusolver: who factorises full matrices on a GPU");
  add_number(run, "--verify", overrides.verify,
             "Share of the instances to verify with other methods at a tighter tolerance: 0.01");
  run->add_flag("--force", arguments.force, "Replace the result file if there is one");
  run->add_flag("--json", arguments.json, "Print one JSON object on standard output");
  run->footer(
      "What is given here stands in place of what the sweep file says.\n"
      "Exit codes: 0 all instances succeeded, 3 some failed or were not verified, 2 misuse or bad input, 130 "
      "interrupted\n"
      "(what was finished is on disk), 1 internal error.");
  commands.push_back({run, [&arguments] { return cli::run(arguments); }});
}

void add_solve(CLI::App& app, cli::SolveArguments& arguments, std::vector<Command>& commands) {
  CLI::App* solve = app.add_subcommand("solve", "Integrate one instance and print it");
  solve->add_option("MODEL", arguments.model, "Built-in name or model file")->required();
  solve->add_option("--set", arguments.parameters, "Parameter: NAME=VALUE; the option once for each")
      ->allow_extra_args(false);
  solve->add_option("--initial", arguments.initial, "Initial value: NAME=VALUE; the option once for each")
      ->allow_extra_args(false);
  solve
      ->add_option(
          "--initial-conditions", arguments.options.initial_conditions,
          "What is given at the start: steady_state, projected, or names of variables and derivatives: x,der(y)")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_number(solve, "--t-end", arguments.t_end, "End time; default: the model's");
  solve->add_option("--times", arguments.times,
                    "Output times: a count, at equal distances with both ends, or t1,t2,...");
  add_number(solve, "--rtol", arguments.options.rtol, "Relative tolerance")->default_str(shown(arguments.options.rtol));
  solve
      ->add_option("--atol", arguments.atol,
                   "Absolute tolerance: VALUE for all variables, default 1e-09, or NAME=VALUE for one")
      ->allow_extra_args(false);
  add_number(solve, "--max-step", arguments.options.max_step, "Longest step; default: none");
  add_number(solve, "--first-step", arguments.options.first_step, "First step; default: chosen from y and y'");
  add_integer(solve, "--max-steps", arguments.options.max_steps, 1, std::int64_t{1} << 62,
              "Step attempts before it ends with max_steps")
      ->default_str(fmt::format("{}", arguments.options.max_steps));
  solve->add_option("--method", arguments.options.method, "Method, see 'manyfold info'")->capture_default_str();
  solve->add_option("--backend", arguments.options.backend, "auto, cpu or cuda")->capture_default_str();
  solve
      ->add_option("--linear-solver", arguments.options.linear_solver,
                   "auto | own | cublas | cusolver: who factorises full matrices on a GPU")
      ->capture_default_str();
  solve->add_option("--precision", arguments.options.precision, "float64 | float32 | mixed")->capture_default_str();
  solve->add_flag("--projection", arguments.options.projection,
                  "Project every step on the model's constraints and invariants");
  solve->add_option("--jacobian", arguments.options.jacobian, "automatic | dual_numbers | finite_differences")
      ->capture_default_str();
  solve
      ->add_option("--jacobian-reuse", arguments.options.jacobian_reuse,
                   "automatic | every_step | contraction | cameron | dassl")
      ->capture_default_str();
  solve
      ->add_option("--error-test", arguments.options.error_test,
                   "all | differential: whether errors of algebraic variables count")
      ->capture_default_str();
  solve
      ->add_option("--inline", arguments.options.inline_integration,
                   "automatic | always | never: whether stages are solved for the unknowns that the equations leave")
      ->capture_default_str();
  CLI::Option* solve_json = solve->add_flag("--json", arguments.json, "Print one JSON object with the end state");
  solve->add_option("--csv", arguments.csv, "Write the output times to a CSV file; - is standard output")
      ->excludes(solve_json);
  commands.push_back({solve, [&arguments] { return cli::solve(arguments); }});
}

void add_verify(CLI::App& app, cli::VerifyArguments& arguments, std::vector<Command>& commands) {
  CLI::App* verify = app.add_subcommand(
      "verify", "Check the accuracy of a model's solutions against other methods at a tighter tolerance");
  verify->add_option("MODEL", arguments.model, "Built-in name or model file")->required();
  add_integer(verify, "--instances", arguments.instances, 0, any_size,
              "Instances with perturbed parameters, beside the nominal")
      ->default_str(fmt::format("{}", arguments.instances));
  verify->add_option("--method", arguments.method, "Method to verify, see 'manyfold info'")->capture_default_str();
  const auto take_rtol = [&arguments](const std::vector<std::string>& given) {
    arguments.rtol.clear();
    for (const std::string& text : given) arguments.rtol.push_back(cli::number(text, "--rtol"));
  };
  verify
      ->add_option_function<std::vector<std::string>>("--rtol", take_rtol, "Relative tolerance, or several: 1e-3,1e-6")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NUMBER")
      ->default_str(shown(arguments.rtol.front()));
  add_number(verify, "--atol", arguments.atol, "Absolute tolerance; default: rtol / 1000");
  add_number(verify, "--perturb", arguments.perturb, "Share by which every parameter varies at most")
      ->default_str(shown(arguments.perturb));
  verify->add_option("--set", arguments.parameters, "Parameter: NAME=VALUE; the option once for each")
      ->allow_extra_args(false);
  add_number(verify, "--t-end", arguments.t_end, "End time; default: the model's");
  add_integer(verify, "--seed", arguments.seed, 0, any_size, "Of the perturbations")
      ->default_str(fmt::format("{}", arguments.seed));
  verify->add_flag("--json", arguments.json, "Print one JSON object on standard output");
  verify->footer(
      "Errors are in units of atol + rtol |y|; up to 100 of them are taken as accurate (times 1/h and 1/h^2 for\n"
      "variables of index 2 and 3, h: the mean step). 'doubt' is how far two references are apart.\n"
      "Exit codes: 0 verified, 3 not: inaccurate, failed, or the references disagree; 2 misuse.");
  commands.push_back({verify, [&arguments] { return cli::verify(arguments); }});
}

/// What is wrong with the words of the command line.
std::string misuse_text(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  const CLI::App& at = given.empty() ? app : *given.front();
  const std::string command = given.empty() ? "" : at.get_name() + " ";
  const std::string place = given.empty() ? "" : at.get_name() + ": ";
  const std::vector<std::string> left = at.remaining();
  const bool too_many = given.empty() || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (!too_many || left.empty()) return fmt::format("{}{}: see 'manyfold {}--help'", place, error.what(), command);
  const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  const auto option = std::find_if(left.begin(), left.end(), is_option);
  if (option == left.end() && !given.empty()) return fmt::format("{}'{}' is one word too many", place, left.front());
  std::vector<std::string> known;
  if (option == left.end()) {
    for (const CLI::App* one : app.get_subcommands({})) known.push_back(one->get_name());
    return fmt::format("unknown subcommand '{}'{}", left.front(), did_you_mean(left.front(), known));
  }
  for (const CLI::Option* one : at.get_options()) {
    if (is_option(one->get_name())) known.push_back(one->get_name());
  }
  const std::string name = option->substr(0, option->find('='));
  return fmt::format("{}unknown option '{}'{}", place, name, did_you_mean(name, known));
}

int dispatch(int argc, char** argv) {
  CLI::App app{
      "Integrates ensembles of small differential-algebraic systems.\n\n"
      "  manyfold list                          the built-in models\n"
      "  manyfold check my_model.hpp            what is wrong with a model\n"
      "  manyfold solve robertson --t-end 100   one instance, as a table\n"
      "  manyfold run sweep.toml                an ensemble, into a netCDF-4 file\n"
      "  manyfold compile circuit.mo            what becomes of a Modelica model\n"
      "  manyfold verify robertson              achieved against asked accuracy\n\n"
      "MODEL is a built-in name or the path of a model file (.hpp, .mo)."};
  app.set_version_flag("--version", std::string("manyfold ") + build::version);
  app.require_subcommand(1);
  bool json = false;
  std::string model;
  cli::CacheArguments cache_arguments;
  cli::CompileArguments compile_arguments;
  cli::RunArguments run_arguments;
  cli::SolveArguments solve_arguments;
  cli::VerifyArguments verify_arguments;
  for (int i = 0; i < argc; ++i) run_arguments.command_line += (i > 0 ? " " : "") + std::string(argv[i]);
  std::vector<Command> commands;
  add_inquiries(app, model, json, commands);
  add_cache(app, cache_arguments, commands);
  add_compile(app, compile_arguments, commands);
  add_run(app, run_arguments, commands);
  add_solve(app, solve_arguments, commands);
  add_verify(app, verify_arguments, commands);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has codes of its own: anything but help and version is misuse.
    if (error.get_exit_code() != 0) throw UsageError(misuse_text(app, error));
    app.exit(error);
    return cli::all_succeeded;
  }
  return std::find_if(commands.begin(), commands.end(), [](const Command& command) { return command.app->parsed(); })
      ->call();
}

}  // namespace
}  // namespace manyfold

int main(int argc, char** argv) {
  using namespace manyfold;
  // Beyond a limit of file sizes writes fail like any other, instead of ending the process.
  signal(SIGXFSZ, SIG_IGN);
  const SignalStack stack;
  handle_crashes();
  // Scripts read what is printed: it is there as a whole, or the exit code says that it is not.
  std::cout.exceptions(std::ios::badbit);
  try {
    const int code = dispatch(argc, argv);
    std::cout.flush();
    return code;
  } catch (const UsageError& error) {
    std::cout.exceptions(std::ios::goodbit);
    print_error(error.what());
    return cli::misuse;
  } catch (const std::bad_alloc&) {
    std::cout.exceptions(std::ios::goodbit);
    print_error("no memory is left");
    return cli::internal_error;
  } catch (const std::exception& error) {
    const int reason = errno;
    std::cout.exceptions(std::ios::goodbit);  // what is printed on standard error flushes it again
    print_error(std::cout.bad() ? fmt::format("standard output cannot be written: {}", std::strerror(reason))
                                : error.what());
    return cli::internal_error;
  }
}
