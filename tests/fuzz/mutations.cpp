// The fuzz targets without libFuzzer: every file of the corpus, and mutations of them that are the same in every run.
//   fuzz_mutations [--target NAME] [--mutations N] [--first N] SOURCE
// SOURCE: the root of the repository. What fails is kept in a file of the current folder, named with the target.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/input_file.hpp"

#define MANYFOLD_FUZZ_TARGET(NAME) extern "C" int fuzz_##NAME(const std::uint8_t* data, std::size_t size);
MANYFOLD_FUZZ_TARGET(sweep_file)
MANYFOLD_FUZZ_TARGET(table)
MANYFOLD_FUZZ_TARGET(compiler_output)
MANYFOLD_FUZZ_TARGET(modelica)

namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_input = 8192;
constexpr int longest_seconds = 20;  // of the processor: other programs may be busy

struct Target {
  const char* name;
  int (*function)(const std::uint8_t* data, std::size_t size);
  const char* extension;  ///< of the files of problems and examples that are seeds too; null: of none
  long mutations;         ///< for two seconds
};
constexpr Target targets[] = {{"sweep_file", fuzz_sweep_file, ".toml", 20000},
                              {"table", fuzz_table, nullptr, 30000},
                              {"compiler_output", fuzz_compiler_output, nullptr, 10000},
                              {"modelica", fuzz_modelica, ".mo", 6000}};

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Adds the files below `folder`, in the order of their names, so that runs are the same.
void add_seeds(const fs::path& folder, const char* extension, std::vector<std::string>& seeds) {
  std::vector<fs::path> files;
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    if (item.is_regular_file() && (extension == nullptr || item.path().extension() == extension)) {
      files.push_back(item.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) seeds.push_back(content_of(file));
}

/// The words of a dictionary of libFuzzer: in quotation marks, with \" \\ and \xNN.
std::vector<std::string> words_of(const fs::path& dictionary) {
  std::vector<std::string> words;
  std::ifstream stream(dictionary);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t begin = line.find('"');
    const std::size_t end = line.rfind('"');
    if (line.starts_with('#') || begin == std::string::npos || begin == end) continue;
    std::string word;
    for (std::size_t i = begin + 1; i < end; ++i) {
      if (line[i] == '\\' && line[i + 1] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
        i += 3;
      } else {
        word += line[i] == '\\' ? line[++i] : line[i];
      }
    }
    words.push_back(word);
  }
  return words;
}

/// Changes of one text, of which the number decides.
class Mutation {
 public:
  /// `own`: the first seeds, which are of the corpus and taken more often.
  Mutation(const std::vector<std::string>& seeds, std::size_t own, const std::vector<std::string>& words, long number)
      : seeds_(seeds), own_(own), words_(words), random_(static_cast<std::uint64_t>(number)) {}

  std::string text() {
    std::string result = seeds_[below(below(2) == 0 ? own_ : seeds_.size())];
    for (std::size_t changes = 1 + below(1 + below(4)); changes > 0; --changes) change(result);
    result.resize(std::min(result.size(), longest_input));
    return result;
  }

 private:
  std::size_t below(std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(random_() % count); }

  std::string part_of(const std::string& text) {
    const std::size_t begin = below(text.size());
    return text.empty() ? "" : text.substr(begin, 1 + below(below(2) == 0 ? 8 : 200));
  }

  std::string number() {
    static const char* const numbers[] = {"0",    "-1",    "1e308", "1e-308",     "nan",
                                          "-inf", "1e400", "0.5",   "2147483648", "9223372036854775807"};
    return numbers[below(std::size(numbers))];
  }

  /// What reads as before is as likely as what does not.
  void change(std::string& text) {
    if (below(2) == 0) return change_bytes(text, below(text.size()));
    if (below(2) == 0) return change_number(text, below(text.size()));
    change_line(text, below(text.size()));
  }

  void change_number(std::string& text, std::size_t at) {
    const std::size_t digit = text.find_first_of("0123456789", at);
    if (digit == std::string::npos) return;
    const std::size_t end = std::min(text.find_first_not_of("0123456789.eE+-", digit), text.size());
    text.replace(digit, end - digit, number());
  }

  /// Deletes the line after `at`, or puts one of another seed there.
  void change_line(std::string& text, std::size_t at) {
    if (text.empty()) return;
    const std::size_t begin = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (below(3) == 0) {
      text.erase(begin, std::min(text.find('\n', begin), text.size() - 1) + 1 - begin);
      return;
    }
    const std::string& other = seeds_[below(below(2) == 0 ? own_ : seeds_.size())];
    const std::size_t from = other.find('\n', below(other.size()));
    if (from == std::string::npos) return;
    text.insert(begin, other, from + 1, other.find('\n', from + 1) - from);
  }

  void change_bytes(std::string& text, std::size_t at) {
    switch (below(6)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ 1 << below(8));
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 2:
        text.erase(at, 1 + below(below(2) == 0 ? 4 : 200));
        break;
      case 3:
        text.insert(at, part_of(text));
        break;
      case 4:
        text.insert(at, part_of(seeds_[below(seeds_.size())]));
        break;
      default:
        if (!words_.empty()) text.insert(at, words_[below(words_.size())]);
    }
  }

  const std::vector<std::string>& seeds_;
  std::size_t own_;
  const std::vector<std::string>& words_;
  std::mt19937_64 random_;
};

// For the handler of signals: what is at work.
const Target* current_target = nullptr;
std::string current_input;
long current_number = 0;

void tell_failure(int signal) {
  const std::string name = std::string("failed-") + current_target->name;
  std::ofstream(name, std::ios::binary) << current_input;
  std::fprintf(stderr, "%s: %s: %s is the input%s\n", current_target->name,
               signal == SIGPROF ? "an input takes longer than 20 s" : "failed", name.c_str(),
               current_number < 0 ? ", of the corpus" : (", mutation " + std::to_string(current_number)).c_str());
  _exit(1);
}

void feed(const Target& target, const std::string& input, long number) {
  current_target = &target;
  current_input = input;
  current_number = number;
  constexpr itimerval limit{{}, {longest_seconds, 0}};
  constexpr itimerval none{};
  setitimer(ITIMER_PROF, &limit, nullptr);
  target.function(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  setitimer(ITIMER_PROF, &none, nullptr);
}

void run(const Target& target, const fs::path& source, long first, long mutations) {
  std::vector<std::string> seeds;
  add_seeds(source / "tests/fuzz/corpus" / target.name, nullptr, seeds);
  const std::size_t own = seeds.size();
  if (target.extension != nullptr) {
    for (const char* folder : {"problems", "docs/examples"}) add_seeds(source / folder, target.extension, seeds);
  }
  const std::vector<std::string> words = words_of(source / "tests/fuzz" / (std::string(target.name) + ".dict"));
  const auto start = std::chrono::steady_clock::now();
  manyfold::fuzz::refused = 0;
  for (const std::string& seed : seeds) feed(target, seed, -1);
  for (long number = first; number < first + mutations; ++number) {
    feed(target, Mutation(seeds, own, words, number).text(), number);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%s: %zu files and %ld mutations, of which %ld are refused with a place, in %.1f s\n", target.name,
              seeds.size(), mutations, manyfold::fuzz::refused, seconds.count());
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  fs::path source;
  long first = 0;
  long mutations = -1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--target" && has_value) {
      only = argv[++i];
    } else if (argument == "--mutations" && has_value) {
      mutations = std::atol(argv[++i]);
    } else if (argument == "--first" && has_value) {
      first = std::atol(argv[++i]);
    } else {
      source = argument;
    }
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) ::signal(signal, tell_failure);
  bool known = false;
  for (const Target& target : targets) {
    if (!only.empty() && only != target.name) continue;
    known = true;
    run(target, source, first, mutations < 0 ? target.mutations : mutations);
  }
  if (known) return 0;
  std::fprintf(stderr, "fuzz_mutations: unknown target '%s'\n", only.c_str());
  return 2;
}
