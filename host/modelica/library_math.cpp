// Functions of the library: mathematics and units.
#include <utility>

#include <fmt/format.h>

#include "host/modelica/library.hpp"

namespace manyfold::modelica {

const char* const library_of_math = R"(
function 'Modelica.Math.BooleanVectors.anyTrue'
  input Boolean 'b'[:];
  output Boolean 'result' = false;
algorithm
  for 'i' in 1:size('b', 1) loop
    'result' := 'result' or 'b'['i'];
  end for;
end 'Modelica.Math.BooleanVectors.anyTrue';

function 'Modelica.Math.BooleanVectors.allTrue'
  input Boolean 'b'[:];
  output Boolean 'result' = true;
algorithm
  for 'i' in 1:size('b', 1) loop
    'result' := 'result' and 'b'['i'];
  end for;
end 'Modelica.Math.BooleanVectors.allTrue';

function 'Modelica.Math.BooleanVectors.countTrue'
  input Boolean 'b'[:];
  output Integer 'n' = 0;
algorithm
  for 'i' in 1:size('b', 1) loop
    'n' := if 'b'['i'] then 'n' + 1 else 'n';
  end for;
end 'Modelica.Math.BooleanVectors.countTrue';

function 'Modelica.Math.BooleanVectors.oneTrue'
  input Boolean 'b'[:];
  output Boolean 'result';
algorithm
  'result' := 'Modelica.Math.BooleanVectors.countTrue'('b') == 1;
end 'Modelica.Math.BooleanVectors.oneTrue';

function 'Modelica.Math.BooleanVectors.firstTrueIndex'
  input Boolean 'b'[:];
  output Integer 'index' = 0;
algorithm
  for 'i' in 1:size('b', 1) loop
    'index' := if 'index' == 0 and 'b'['i'] then 'i' else 'index';
  end for;
end 'Modelica.Math.BooleanVectors.firstTrueIndex';

function 'Modelica.Math.Vectors.interpolate'
  input Real 'x'[:];
  input Real 'y'[size('x', 1)];
  input Real 'xi';
  input Integer 'iLast' = 1;
  output Real 'yi';
  output Integer 'iNew' = 1;
protected
  Integer 'n' = size('x', 1);
algorithm
  'yi' := 'y'[1];
  if 'n' > 1 then
    'yi' := 'y'[1] + ('xi' - 'x'[1]) * (('y'[2] - 'y'[1]) / ('x'[2] - 'x'[1]));
  end if;
  for 'i' in 2:'n' - 1 loop
    if 'xi' >= 'x'['i'] then
      'yi' := 'y'['i'] + ('xi' - 'x'['i']) * (('y'['i' + 1] - 'y'['i']) / ('x'['i' + 1] - 'x'['i']));
      'iNew' := 'i';
    end if;
  end for;
end 'Modelica.Math.Vectors.interpolate';

function 'Modelica.Math.wrapAngle'
  input Real 'u';
  input Boolean 'positiveRange' = false;
  output Real 'y';
algorithm
  'y' := mod('u', 6.283185307179586);
  if not 'positiveRange' and 'y' > 3.141592653589793 then
    'y' := 'y' - 6.283185307179586;
  end if;
end 'Modelica.Math.wrapAngle';

function 'Modelica.Math.atan3'
  input Real 'u1';
  input Real 'u2';
  input Real 'y0' = 0.0;
  output Real 'y';
protected
  Real 'w';
algorithm
  'w' := atan2('u1', 'u2');
  if 'u1' == 0.0 and 'u2' == 0.0 then
    'y' := 'y0';
  elseif 'y0' == 0.0 then
    'y' := 'w';
  else
    'y' := 'w' + 6.283185307179586 * floor((3.141592653589793 + 'y0' - 'w') / 6.283185307179586);
  end if;
end 'Modelica.Math.atan3';
function 'Modelica.Math.Vectors.length'
  input Real 'v'[:];
  output Real 'result' = sqrt('v' * 'v');
end 'Modelica.Math.Vectors.length';

function 'Modelica.Math.Vectors.norm'
  input Real 'v'[:];
  input Real 'p' = 2.0;
  output Real 'result';
algorithm
  if 'p' == 2.0 then
    'result' := sqrt('v' * 'v');
  elseif 'p' > 1e60 then
    'result' := max(abs('v'));
  else
    'result' := sum(abs('v'['i']) ^ 'p' for 'i' in 1:size('v', 1)) ^ (1.0 / 'p');
  end if;
end 'Modelica.Math.Vectors.norm';

function 'Modelica.Math.Vectors.normalize'
  input Real 'v'[:];
  input Real 'eps'(min = 0.0) = 2.220446049250313e-14;
  output Real 'result'[size('v', 1)];
protected
  Real 'l' = sqrt('v' * 'v');
algorithm
  'result' := 'v' / smooth(0, if 'l' >= 'eps' then 'l' else 'eps');
end 'Modelica.Math.Vectors.normalize';

function 'Modelica.Math.Vectors.normalizedWithAssert'
  input Real 'v'[:];
  output Real 'result'[size('v', 1)];
algorithm
  assert(sqrt('v' * 'v') > 0.0, "a vector of length 0 cannot be normalized");
  'result' := 'v' / sqrt('v' * 'v');
end 'Modelica.Math.Vectors.normalizedWithAssert';

function 'Modelica.Math.Vectors.reverse'
  input Real 'v'[:];
  output Real 'result'[size('v', 1)];
algorithm
  for 'i' in 1:size('v', 1) loop
    'result'['i'] := 'v'[size('v', 1) + 1 - 'i'];
  end for;
end 'Modelica.Math.Vectors.reverse';

function 'Modelica.Math.Vectors.isEqual'
  input Real 'v1'[:];
  input Real 'v2'[:];
  input Real 'eps'(min = 0.0) = 0.0;
  output Boolean 'result';
algorithm
  'result' := size('v1', 1) == size('v2', 1);
  if 'result' then
    for 'i' in 1:size('v1', 1) loop
      'result' := 'result' and abs('v1'['i'] - 'v2'['i']) <= 'eps';
    end for;
  end if;
end 'Modelica.Math.Vectors.isEqual';

function 'Modelica.Math.isEqual'
  input Real 's1';
  input Real 's2';
  input Real 'eps'(min = 0.0) = 0.0;
  output Boolean 'result' = abs('s1' - 's2') <= 'eps';
end 'Modelica.Math.isEqual';

function 'Modelica.Math.asinh'
  input Real 'u';
  output Real 'y' = log('u' + sqrt('u' * 'u' + 1.0));
end 'Modelica.Math.asinh';

function 'Modelica.Math.acosh'
  input Real 'u';
  output Real 'y' = log('u' + sqrt('u' - 1.0) * sqrt('u' + 1.0));
end 'Modelica.Math.acosh';

function 'Modelica.Math.Matrices.solve'
  input Real 'A'[:, size('A', 1)];
  input Real 'b'[size('A', 1)];
  output Real 'x'[size('b', 1)];
protected
  Real 'L'[size('A', 1), size('A', 1)] = 'A';
  Real 'row'[size('A', 1)];
  Real 'r';
  Integer 'n' = size('A', 1);
algorithm
  'x' := 'b';
  for 'k' in 1:'n' loop
    for 'i' in 'k' + 1:'n' loop
      if abs('L'['i', 'k']) > abs('L'['k', 'k']) then
        'row' := 'L'['k', :];
        'L'['k', :] := 'L'['i', :];
        'L'['i', :] := 'row';
        'r' := 'x'['k'];
        'x'['k'] := 'x'['i'];
        'x'['i'] := 'r';
      end if;
    end for;
    for 'i' in 'k' + 1:'n' loop
      'r' := 'L'['i', 'k'] / 'L'['k', 'k'];
      'L'['i', :] := 'L'['i', :] - 'r' * 'L'['k', :];
      'x'['i'] := 'x'['i'] - 'r' * 'x'['k'];
    end for;
  end for;
  for 'j' in 1:'n' loop
    'r' := 'x'['n' + 1 - 'j'];
    for 'i' in 'n' + 2 - 'j':'n' loop
      'r' := 'r' - 'L'['n' + 1 - 'j', 'i'] * 'x'['i'];
    end for;
    'x'['n' + 1 - 'j'] := 'r' / 'L'['n' + 1 - 'j', 'n' + 1 - 'j'];
  end for;
end 'Modelica.Math.Matrices.solve';
)";

namespace {

/// A unit, and how a number in SI units becomes one in it and back.
struct Conversion {
  const char* unit;
  const char* to;
  const char* from;
};
constexpr Conversion conversions[] = {
    {"degC", "- 273.15", "+ 273.15"},
    {"bar", "/ 1e5", "* 1e5"},
    {"deg", "* 57.29577951308232", "* 0.017453292519943295"},
    {"rpm", "* 9.549296585513721", "* 0.10471975511965977"},
    {"kmh", "* 3.6", "/ 3.6"},
    {"hour", "/ 3600.0", "* 3600.0"},
    {"minute", "/ 60.0", "* 60.0"},
    {"day", "/ 86400.0", "* 86400.0"},
    {"litre", "* 1000.0", "/ 1000.0"},
    {"kWh", "/ 3.6e6", "* 3.6e6"},
    {"gps", "* 1000.0", "/ 1000.0"},
};

}  // namespace

std::string library_of_units() {
  std::string text;
  for (const Conversion& conversion : conversions) {
    for (const auto& [way, change] : {std::pair("to", conversion.to), std::pair("from", conversion.from)}) {
      const std::string name = fmt::format("'Modelica.Units.Conversions.{}_{}'", way, conversion.unit);
      text += fmt::format("function {}\n  input Real 'u';\n  output Real 'y' = 'u' {};\nend {};\n", name, change, name);
    }
  }
  return text;
}

}  // namespace manyfold::modelica
