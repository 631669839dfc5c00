#include "host/modelica/library.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/modelica/parser.hpp"

namespace manyfold::modelica {
namespace {

struct Library {
  std::vector<std::unique_ptr<Class>> files;
  std::map<std::string, const Class*> functions;

  Library() {
    const std::string texts[] = {library_of_math, library_of_units(), library_of_blocks, library_of_fluid};
    for (const std::string& text : texts) {
      const std::string file = "package 'Modelica'\n" + text + "end 'Modelica';\n";
      Diagnostics diagnostics("the library", file);
      files.push_back(parse(file, diagnostics));
      for (const auto& one : files.back()->classes.front()->classes) functions[one->name] = one.get();
    }
  }
};

}  // namespace

const Class* library_function(const std::string& name) {
  static const Library library;
  if (const auto found = library.functions.find(name); found != library.functions.end()) return found->second;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    // Names that begin with a dot are ends of names.
    if (const auto found = library.functions.find(name.substr(dot)); found != library.functions.end()) {
      return found->second;
    }
  }
  return nullptr;
}

}  // namespace manyfold::modelica
